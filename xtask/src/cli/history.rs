//! The flags of `history`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 shown, or nothing is stored yet; 2 a --store that is none, a name, branch, suite, host or\n\
accelerator that no stored run has, a plot of another ending; 69 the machinery failed.")]
pub struct History {
    /// A check or metric, as TEST:NAME, for example placement/4632KiB:gap-kib [default: list the runs]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
    /// The store [default: $MTHP_STORE, or mthp-regress/history.sqlite in the XDG data folder]
    #[arg(long, value_name = "FILE")]
    pub store: Option<PathBuf>,
    /// Only runs of this branch
    #[arg(long, value_name = "BRANCH")]
    pub branch: Option<String>,
    /// Only runs of this suite
    #[arg(long, value_name = "NAME")]
    pub suite: Option<String>,
    /// Only runs on this host
    #[arg(long, value_name = "HOST")]
    pub host: Option<String>,
    /// Only runs under this accelerator
    #[arg(long, value_name = "kvm|tcg")]
    pub accel: Option<String>,
    /// The newest N runs, of a check or metric those of each series [default: 30, and all in a plot]
    #[arg(long, value_name = "N", value_parser = positive)]
    pub limit: Option<usize>,
    /// Draw the check or metric over the revisions into this file too, an .svg or a .png
    #[arg(long, value_name = "FILE", requires = "name")]
    pub plot: Option<PathBuf>,
    /// What the terminal shows
    #[arg(long, value_enum, default_value_t = TableFormat::Text)]
    pub format: TableFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// Tables for people
    Text,
    /// Tables for a job summary or a bug tracker
    Markdown,
    /// Everything
    Json,
}

fn positive(number: &str) -> Result<usize, String> {
    number.parse().ok().filter(|number| *number > 0).ok_or_else(|| "not a number of at least 1".to_owned())
}
