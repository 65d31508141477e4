//! Every flag of every command, documented once, here.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use mthp_judge::{
    exit,
    suite::{MAX_BOOTS, MIN_BOOTS},
    verdict::Expectation,
};
use mthp_lab::{MAX_SHARDS, bisect};
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
    /// Opens an issue for what a bisection found, or adds to the one there is; calls `gh`
    Announce(Announce),
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
    /// Boots of each kernel, 2 to 64 [default: as the suite says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(i64::from(MIN_BOOTS)..=i64::from(MAX_BOOTS)))]
    pub boots: Option<u32>,
    /// The accelerator; auto takes KVM where a trial boot proves that it works
    #[arg(long, value_name = "auto|kvm|tcg", default_value = "auto")]
    pub accel: AccelChoice,
    /// What the terminal shows; report.json is written in any case
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// The report's folder [default: report/DATE-SUITE]
    #[arg(long, value_name = "DIR")]
    pub report: Option<PathBuf>,
    /// Turns the run into an assertion: exit 0 if this is the verdict, 1 if it is another
    #[arg(long, value_name = "VERDICT")]
    pub expect: Option<Expectation>,
    #[command(flatten)]
    pub common: Common,
}

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
    /// bisect.json of bisect
    Bisect,
    /// nightly.json of nightly
    Nightly,
}

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

/// What [`Plan`] prints, and what a workflow does with it.
const PLAN_HELP: &str = "\
Each job has a name (safe for an artifact), a tree with its branch or a kernel of kernels/, a suite, and\n\
a shard I/N for test-kernel --shard. Its partition count:I/N splits this project's own tests alike:\n\
cargo nextest run --workspace --partition count:I/N. Nothing is built.\n\n\
Exit codes: 0 the jobs were printed, 2 a kernel or a suite is not known, configs/nightly.toml is\n\
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

/// There is one open issue for each culprit. Where no commit could be named, the issue says so and blames none.
///
/// Exit codes: 0 all that was found is announced; 2 a report that cannot be used (the others are announced); 69 gh is missing or
/// failed.
#[derive(Debug, Args)]
pub struct Announce {
    /// The folder with the report (bisect.json), or with several in folders below it
    #[arg(long, value_name = "DIR")]
    pub report: PathBuf,
    /// Where all files of the run are
    #[arg(long, value_name = "URL", value_parser = link)]
    pub link: Option<String>,
    /// Print what would be announced, and call nothing
    #[arg(long)]
    pub dry_run: bool,
}

/// It becomes a link in Markdown.
fn link(text: &str) -> Result<String, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?#@!$&'*+,;=%".contains(&byte);
    if text.starts_with("https://") && text.bytes().all(plain) {
        Ok(text.to_owned())
    } else {
        Err("not a URL that begins with https://".to_owned())
    }
}

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
    /// The check (or declared cost) to follow, where several differ between the ends [default: the first that does]
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
pub enum Format {
    /// A table for people
    Text,
    /// The same in a fence, for a bug tracker or a job summary
    Markdown,
    /// The whole report
    Json,
}
