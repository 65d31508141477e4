//! `cargo xtask schema`: what the files look like that commands write, for programs that read them.

use std::process::ExitCode;

use anyhow::Result;
use mthp_bisect::record;
use mthp_judge::report;
use mthp_ledger::{claim::ledger, corpus::backtest};
use mthp_store::nightly;

use crate::{
    cli::{Schema, SchemaOf},
    ui,
};

/// Prints the JSON schema.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn run(options: &Schema) -> Result<ExitCode> {
    let schema = match options.of {
        SchemaOf::Report => report::json_schema(),
        SchemaOf::Ledger => ledger::json_schema(),
        SchemaOf::Bisect => record::json_schema(),
        SchemaOf::Nightly => nightly::json_schema(),
        SchemaOf::Backtest => backtest::json_schema(),
    };
    ui::answer(&serde_json::to_string_pretty(&schema)?);
    Ok(ExitCode::SUCCESS)
}
