//! The flags of `schema`.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct Schema {
    /// Of which file
    #[arg(value_enum, default_value_t = SchemaOf::Report)]
    pub of: SchemaOf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// report.json of test-kernel
    Report,
    /// backtest.json of backtest
    Backtest,
    /// ledger.json of reproduce
    Ledger,
    /// bisect.json of bisect
    Bisect,
    /// nightly.json of nightly
    Nightly,
}
