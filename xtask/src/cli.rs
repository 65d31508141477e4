//! Every flag of every command, documented once, here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use mthp_judge::{
    exit,
    suite::{MAX_BOOTS, MIN_BOOTS},
    verdict::Expectation,
};
use mthp_lab::{MAX_SHARDS, Shard};
use mthp_vm::accel::AccelChoice;

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
    /// Format, lints with warnings denied, all tests, and the demonstration
    Ci(Ci),
    /// Measures what the suite itself costs, as ratios
    Bench(Bench),
    /// Prints the work as a list of jobs for many machines: kernels × suites × shards
    Plan(Plan),
    /// Prints the JSON schema of report.json, or of another file that a command writes
    Schema(Schema),
}

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

/// Exit codes: 0 every bug was caught by the checks that name it and there was no false alarm; 1 not so; 2 a name that is
/// not known or a malformed entry; 69 the machinery failed, or something could not be tried.
#[derive(Debug, Args)]
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

#[derive(Debug, Args)]
pub struct Schema {
    /// Of which file
    #[arg(value_enum, default_value_t = SchemaOf::Report)]
    pub of: SchemaOf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// report.json of test-kernel
    Report,
    /// backtest.json of backtest
    Backtest,
    /// ledger.json of reproduce
    Ledger,
}

/// Exit codes: 0 every claim asked for was decided, at least in parts (confirmed or refuted); 3 one cannot be decided here; 2
/// a name that is not known or a malformed claim; 69 the machinery failed.
#[derive(Debug, Args)]
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

#[derive(Debug, Args)]
pub struct Ci {
    /// Also what takes long: many boots, kills, and the older kernel
    #[arg(long)]
    pub full: bool,
    #[command(flatten)]
    pub common: Common,
}

#[derive(Debug, Args)]
pub struct Bench {
    /// Measure a cold build too, in a cache of its own (minutes)
    #[arg(long)]
    pub cold: bool,
    /// Measure the YOLOv5 workload too (minutes without KVM); its parts must have been fetched
    #[arg(long)]
    pub workload: bool,
    #[command(flatten)]
    pub common: Common,
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

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people
    Text,
    /// The same in a fence, for a bug tracker or a job summary
    Markdown,
    /// The whole report
    Json,
}
