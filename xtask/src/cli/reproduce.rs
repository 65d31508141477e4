//! The flags of `reproduce`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mthp_judge::suite::{MAX_BOOTS, MIN_BOOTS};
use mthp_vm::accel::AccelChoice;

use super::Common;

#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 every claim asked for was decided, at least in parts (confirmed or refuted); 3 one\n\
cannot be decided here; 2 a name that is not known or a malformed claim; 69 the machinery failed.")]
#[command(group = clap::ArgGroup::new("which").required(true).args(["only", "all", "list"]))]
pub struct Reproduce {
    /// The claims (configs/claims/): a name, or a prefix that ends in *
    #[arg(value_name = "CLAIM")]
    pub only: Vec<String>,
    /// Every claim
    #[arg(long)]
    pub all: bool,
    /// List the claims and measure nothing
    #[arg(long)]
    pub list: bool,
    /// Write what was found to configs/claims/LEDGER.md, which README shows; needs --all
    #[arg(long, conflicts_with_all = ["only", "list"])]
    pub record: bool,
    /// Boots of each kernel, 2 to 64 [default: as the claim says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(i64::from(MIN_BOOTS)..=i64::from(MAX_BOOTS)))]
    pub boots: Option<u32>,
    /// The accelerator; auto takes KVM where a trial boot proves that it works
    #[arg(long, value_name = "auto|kvm|tcg", default_value = "auto")]
    pub accel: AccelChoice,
    /// What the terminal shows; ledger.json and a reply for each claim are written in any case
    #[arg(long, value_enum, default_value_t = ClaimFormat::Text)]
    pub format: ClaimFormat,
    /// The report's folder [default: report/DATE-claims]
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClaimFormat {
    /// For people at a terminal; of several claims a line each
    Text,
    /// Plain text of at most 72 columns, to paste into a reply on a mailing list
    Lkml,
    /// For a bug tracker
    Markdown,
    /// Everything
    Json,
}
