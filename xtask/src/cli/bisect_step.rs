//! The flags of `bisect-step`.

use std::path::PathBuf;

use clap::Args;
use mthp_judge::suite::MAX_BOOTS;
use mthp_lab::bisect;
use mthp_vm::accel::AccelChoice;

use super::Common;

#[derive(Debug, Args)]
#[command(after_help = "\
Exit codes, as `git bisect run` takes them: 0 the check holds, 1 it fails, 125 nothing can be said;\n\
never another, so that no accident is taken for a bad revision. stderr says what was seen.")]
pub struct BisectStep {
    /// The kernel's git repository, read and never written; a revision may follow an @ [default: what is checked out]
    #[arg(long, value_name = "DIR[@REV]")]
    pub tree: String,
    /// The test
    #[arg(long, value_name = "NAME")]
    pub test: String,
    /// The check of it that decides [default: all of them must hold]
    #[arg(long, value_name = "NAME")]
    pub check: Option<String>,
    /// The suite that has the test: a name from configs/suites/
    #[arg(long, value_name = "NAME", default_value = "memory")]
    pub suite: String,
    /// A patch that the revision gets, where it is not in already; may be repeated
    #[arg(long, value_name = "PATH")]
    pub with_patch: Vec<PathBuf>,
    /// Boots; where they disagree nothing can be said
    #[arg(long, value_name = "N", default_value_t = bisect::STEP_BOOTS, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_BOOTS)))]
    pub boots: u32,
    /// The accelerator; auto takes KVM where a trial boot proves that it works
    #[arg(long, value_name = "auto|kvm|tcg", default_value = "auto")]
    pub accel: AccelChoice,
    #[command(flatten)]
    pub common: Common,
}
