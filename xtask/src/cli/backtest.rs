//! The flags of `backtest`.

use std::path::PathBuf;

use clap::Args;
use mthp_vm::accel::AccelChoice;

use super::{Common, Format};

#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 every bug was caught by the checks that name it and there was no false alarm; 1 not\n\
so; 2 a name that is not known or a malformed entry; 69 the machinery failed, or something could not\n\
be tried.")]
pub struct Backtest {
    /// Only these bugs (kernels/corpus/) and harmless patches (kernels/patches/harmless/): a name, or a prefix that ends
    /// in * [default: all, and the kernel against itself]
    #[arg(value_name = "PATTERN")]
    pub only: Vec<String>,
    /// Runs of each bug and each harmless patch
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub runs: u32,
    /// Runs of the kernel against itself
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(0..=100))]
    pub itself: u32,
    /// Write the matrix to kernels/corpus/MATRIX.md, which README shows; needs the whole corpus
    #[arg(long, conflicts_with = "only")]
    pub record: bool,
    /// The accelerator; auto takes KVM where a trial boot proves that it works
    #[arg(long, value_name = "auto|kvm|tcg", default_value = "auto")]
    pub accel: AccelChoice,
    /// What the terminal shows; backtest.json and matrix.md are written in any case
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// The report's folder [default: report/DATE-backtest]
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
}
