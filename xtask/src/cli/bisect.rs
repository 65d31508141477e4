//! The flags of `bisect`.

use std::path::PathBuf;

use clap::Args;
use mthp_judge::suite::{MAX_BOOTS, MIN_BOOTS};
use mthp_lab::bisect;
use mthp_vm::accel::AccelChoice;

use super::{Common, Format};

#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes: 0 one commit was found and proven against its parents; 3 no commit can be named (only\n\
skipped ones are left, or what is followed is flaky, or comes and goes); 2 what was given cannot be\n\
used (the ends do not differ, are swapped or do not work, a revision that is not known); 69 the\n\
machinery failed. Killed, the same command goes on where it was.")]
#[command(group = clap::ArgGroup::new("history").required(true).args(["tree", "patches"]))]
pub struct Bisect {
    /// The git repository of the kernel, read and never written; or its URL
    #[arg(long, value_name = "GIT", requires_all = ["good", "bad"])]
    pub tree: Option<String>,
    /// A revision that works
    #[arg(long, value_name = "REV", conflicts_with = "patches")]
    pub good: Option<String>,
    /// A later one that does not
    #[arg(long, value_name = "REV", conflicts_with = "patches")]
    pub bad: Option<String>,
    /// A series instead of a history: an mbox or a quilt folder; the kernel without it is good, with all of it bad
    #[arg(long, value_name = "PATH")]
    pub patches: Option<PathBuf>,
    /// What the series goes on: a name from kernels/ [default: stock-6.12]
    #[arg(long, value_name = "NAME", requires = "patches", conflicts_with_all = ["on_tree", "tree"])]
    pub kernel: Option<String>,
    /// What the series goes on: your own kernel tree; a git revision may follow an @
    #[arg(long, value_name = "DIR[@REV]", requires = "patches", conflicts_with = "tree")]
    pub on_tree: Option<String>,
    /// A patch that every revision gets, where it is not in already: what it takes to build or boot the old ones; may be repeated
    #[arg(long, value_name = "PATH")]
    pub with_patch: Vec<PathBuf>,
    /// The suite: a name from configs/suites/
    #[arg(long, value_name = "NAME", default_value = "alignment")]
    pub suite: String,
    /// Only these tests of the suite: a name, or a prefix that ends in *; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub test: Vec<String>,
    /// The check (or declared cost) to follow, as NAME or TEST:NAME, where several differ between the ends [default: the first]
    #[arg(long, value_name = "NAME")]
    pub check: Option<String>,
    /// Boots of each revision on the way
    #[arg(long, value_name = "N", default_value_t = bisect::STEP_BOOTS, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_BOOTS)))]
    pub boots: u32,
    /// Boots of each end, and of the commit that is found and its parents
    #[arg(long, value_name = "N", default_value_t = bisect::FULL_BOOTS, value_parser = clap::value_parser!(u32).range(i64::from(MIN_BOOTS)..=i64::from(MAX_BOOTS)))]
    pub full_boots: u32,
    /// Begin anew, even if the same bisection was killed earlier
    #[arg(long)]
    pub fresh: bool,
    /// The accelerator; auto takes KVM where a trial boot proves that it works
    #[arg(long, value_name = "auto|kvm|tcg", default_value = "auto")]
    pub accel: AccelChoice,
    /// What the terminal shows; bisect.json and summary.md are written in any case
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// The report's folder [default: report/DATE-bisect]
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    #[command(flatten)]
    pub common: Common,
}
