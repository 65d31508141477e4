//! The flags of `test-kernel`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use mthp_judge::{
    exit,
    suite::{MAX_BOOTS, MIN_BOOTS},
    verdict::Expectation,
};
use mthp_lab::Shard;
use mthp_vm::accel::AccelChoice;

use super::Common;

#[derive(Debug, Args)]
#[command(after_help = exit::SUMMARY)]
pub struct TestKernel {
    /// A patch: unified diff, git format-patch, an mbox with a series, or a quilt folder; may be repeated.
    /// Without one, the shipped demonstration runs
    #[arg(long, value_name = "PATH")]
    pub patch: Vec<PathBuf>,
    /// Take the patches out of the tree instead of putting them in
    #[arg(long, requires = "patch")]
    pub revert: bool,
    /// The base kernel: a name from kernels/ [default: stock-6.12, or demo-base for the demonstration]
    #[arg(long, value_name = "NAME", conflicts_with = "tree")]
    pub kernel: Option<String>,
    /// Your own kernel tree as the base, read and never written; a git revision may follow an @
    #[arg(long, value_name = "DIR[@REV]", requires = "patch")]
    pub tree: Option<String>,
    /// Take a tree with uncommitted changes as it is
    #[arg(long, requires = "tree")]
    pub dirty: bool,
    /// The suite: a name from configs/suites/
    #[arg(long, value_name = "NAME", default_value = "alignment")]
    pub suite: String,
    /// Your own workload in place of the suite's: a model, an image and scenarios in a TOML file
    #[arg(long, value_name = "FILE")]
    pub workload: Option<PathBuf>,
    /// Only these tests of the suite: a name, or a prefix that ends in *; may be repeated
    #[arg(long, value_name = "PATTERN")]
    pub test: Vec<String>,
    /// Only the I-th of N parts of these tests, for a CI with many machines; a part without a test exits with 0
    #[arg(long, value_name = "I/N")]
    pub shard: Option<Shard>,
    /// Boots of each kernel, 2 to 64 [default: as the suite says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(i64::from(MIN_BOOTS)..=i64::from(MAX_BOOTS)))]
    pub boots: Option<u32>,
    /// The accelerator; auto takes KVM where a trial boot proves that it works
    #[arg(long, value_name = "auto|kvm|tcg", default_value = "auto")]
    pub accel: AccelChoice,
    /// What the terminal shows; report.json, junit.xml and results.ktap are written in any case
    #[arg(long, value_enum, default_value_t = ReportFormat::Text)]
    pub format: ReportFormat,
    /// The report's folder [default: report/DATE-SUITE]
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    /// Turns the run into an assertion: exit 0 if this is the verdict, 1 if it is another
    #[arg(long, value_name = "VERDICT")]
    pub expect: Option<Expectation>,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// A table for people
    Text,
    /// The same in a fence, for a bug tracker or a job summary
    Markdown,
    /// The whole report
    Json,
    /// JUnit's XML, for other CI systems
    Junit,
    /// KTAP version 1, as the kernel's tests print it
    Ktap,
}
