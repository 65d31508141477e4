//! The flags of `plan`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mthp_lab::MAX_SHARDS;

/// What [`Plan`] prints, and what a workflow does with it.
const PLAN_HELP: &str = "\
Each job has a name (safe for an artifact), a tree with its branch or a kernel of kernels/, a suite, and \
a shard I/N for test-kernel --shard. Its partition count:I/N splits this project's own tests alike: \
cargo nextest run --workspace --partition count:I/N. Nothing is built.\n\n\
Exit codes: 0 the jobs were printed, 2 a kernel or a suite is not known, configs/nightly.toml is \
malformed, or there are more jobs than GitHub takes.";

#[derive(Debug, Args)]
#[command(after_help = PLAN_HELP)]
pub struct Plan {
    /// Only this kernel: a target of configs/nightly.toml or a name from kernels/; may be repeated [default: every target]
    #[arg(long, value_name = "NAME")]
    pub kernel: Vec<String>,
    /// This suite in place of each target's own; may be repeated
    #[arg(long, value_name = "NAME")]
    pub suite: Vec<String>,
    /// Into how many parts each suite is split, 1 to 256
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_SHARDS)))]
    pub shards: u32,
    /// This git repository in place of the targets of configs/nightly.toml
    #[arg(long, value_name = "URL", requires = "branch", conflicts_with = "kernel")]
    pub tree: Option<String>,
    /// The branch of it
    #[arg(long, value_name = "NAME", requires = "tree")]
    pub branch: Option<String>,
    /// The bisections that the nightly.json files in a folder and below it ask for, in place of all that
    #[arg(long, value_name = "DIR", conflicts_with_all = ["kernel", "suite", "shards", "tree"])]
    pub regressions: Option<PathBuf>,
    /// In which form
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    pub format: PlanFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    /// A line a job, for people
    Text,
    /// One line for strategy.matrix: ${{ fromJSON(…) }}; at most 256 jobs
    Github,
    /// The jobs as a JSON list
    Json,
}
