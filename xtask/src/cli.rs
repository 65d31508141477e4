//! Every flag of every command, documented once, here; a file a command.

mod announce;
mod backtest;
mod bench;
mod bisect;
mod bisect_step;
mod ci;
mod history;
mod nightly;
mod plan;
mod reproduce;
mod schema;
mod test_kernel;

use std::path::PathBuf;

pub use self::{
    announce::Announce,
    backtest::Backtest,
    bench::Bench,
    bisect::Bisect,
    bisect_step::BisectStep,
    ci::Ci,
    history::{History, TableFormat},
    nightly::{BisectWhen, Nightly},
    plan::{Plan, PlanFormat},
    reproduce::{ClaimFormat, Reproduce},
    schema::{Schema, SchemaOf},
    test_kernel::{ReportFormat, TestKernel},
};
use clap::{Args, Parser, Subcommand, ValueEnum};
use mthp_judge::exit;

/// A kernel regression suite for memory management: a patch goes in, two kernels are built and booted, a
/// verdict comes out.
#[derive(Debug, Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, after_help = exit::SUMMARY)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Debug, Subcommand)]
pub enum Command {
    /// Builds the kernel without and with a patch, boots both, runs a suite, and says what changed
    TestKernel(Box<TestKernel>),
    /// Tries the suite on every known bug and on harmless patches: does it see the ones and leave the others alone?
    Backtest(Box<Backtest>),
    /// Measures what decides a claim made in public, and says whether it holds
    Reproduce(Box<Reproduce>),
    /// Finds the commit, or the patch of a series, that brought what differs between a good and a bad kernel
    Bisect(Box<Bisect>),
    /// Tests the head of a branch against its last good run, stores it, and bisects what became worse
    Nightly(Box<Nightly>),
    /// Judges the revision that a kernel tree is at, for `git bisect run`
    BisectStep(Box<BisectStep>),
    /// Format, lints with warnings denied, all tests, and the demonstration
    Ci(Ci),
    /// Measures what the suite itself costs, as ratios
    Bench(Bench),
    /// Prints the work as a list of jobs for many machines: kernels × suites × shards
    Plan(Plan),
    /// Shows the stored nightly runs, or one check or metric over revisions
    History(History),
    /// Opens an issue for what a bisection found, or adds to the one there is; calls `gh`
    Announce(Announce),
    /// Prints the JSON schema of report.json, or of another file that a command writes
    Schema(Schema),
}

#[derive(Clone, Debug, Args)]
pub struct Common {
    /// Install what is missing (Debian packages, by apt-get) and fetch a workload's parts (Python packages, by pip)
    #[arg(long)]
    pub setup: bool,
    /// Where sources and built kernels are kept [default: mthp-regress in the XDG cache folder]
    #[arg(long, value_name = "DIR", env = "MTHP_CACHE_DIR")]
    pub cache_dir: Option<PathBuf>,
    /// The QEMU to use [default: qemu-system-x86_64 in PATH]
    #[arg(long, value_name = "PATH", env = "MTHP_QEMU")]
    pub qemu: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people
    Text,
    /// The same in a fence, for a bug tracker or a job summary
    Markdown,
    /// The whole report
    Json,
}
