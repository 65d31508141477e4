//! The flags of `nightly`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mthp_judge::suite::{MAX_BOOTS, MIN_BOOTS};
use mthp_vm::accel::AccelChoice;

use super::{Common, Format};

#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 nothing is worse than in the last good run, or this is the first; 1 something is; 2 what\n\
was given cannot be used (a tree, a branch, a suite, a store); 3 it cannot be told; 69 the machinery\n\
failed, and nothing is stored; 70 the head does not build or does not work.")]
pub struct Nightly {
    /// The git repository of the kernel, read and never written; or its URL
    #[arg(long, value_name = "GIT")]
    pub tree: String,
    /// The branch whose head is tested
    #[arg(long, value_name = "NAME")]
    pub branch: String,
    /// The suite: a name from configs/suites/
    #[arg(long, value_name = "NAME", default_value = "memory")]
    pub suite: String,
    /// Where runs are stored [default: history.sqlite in mthp-regress in the XDG data folder]
    #[arg(long, value_name = "FILE", env = "MTHP_STORE")]
    pub store: Option<PathBuf>,
    /// The machine's name in the store: only runs of one machine are compared [default: its host name]
    #[arg(long, value_name = "NAME")]
    pub host: Option<String>,
    /// When what is worse is bisected: now, or later by who reads nightly.json
    #[arg(long, value_enum, default_value_t = BisectWhen::Now)]
    pub bisect: BisectWhen,
    /// Take this run for good whatever is worse in it: later runs are compared with it. For what is meant, and after a change of
    /// compiler, QEMU or tests
    #[arg(long)]
    pub accept: bool,
    /// Boots of the head, 2 to 64 [default: as the suite says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(i64::from(MIN_BOOTS)..=i64::from(MAX_BOOTS)))]
    pub boots: Option<u32>,
    /// The accelerator; auto takes KVM where a trial boot proves that it works
    #[arg(long, value_name = "auto|kvm|tcg", default_value = "auto")]
    pub accel: AccelChoice,
    /// What the terminal shows; nightly.json and summary.md are written in any case
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// The report's folder [default: report/DATE-nightly]
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
}

/// When a nightly run bisects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum BisectWhen {
    /// At once
    Now,
    /// Not in this run
    Later,
}
