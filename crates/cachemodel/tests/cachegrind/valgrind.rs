//! The program, its trace, and cachegrind's counts of it.

use std::{ffi::OsStr, fmt, io::ErrorKind, path::Path, process::Command};

use mthp_cachemodel::Machine;
use tempfile::TempDir;

use crate::trace::Event;

const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/cachegrind/walk.c");
/// No library and no start-up code: then the program is the same wherever it is built.
const FLAGS: [&str; 7] =
    ["-O1", "-static", "-nostdlib", "-no-pie", "-fno-pie", "-fno-stack-protector", "-fcf-protection=none"];

/// A program with its trace, in a folder of its own.
pub struct Workshop {
    folder: TempDir,
    pub trace: Vec<Event>,
}

/// Why there is none.
pub enum Skip {
    /// A tool is not installed.
    Missing(String),
    /// A tool failed.
    Broken(String),
}

/// The caches of a run.
pub struct Geometry {
    pub l1_kib: u32,
    pub l1_ways: u32,
    pub last_kib: u32,
    pub last_ways: u32,
}

/// What missed. A read and a write are one to the model.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Misses {
    pub l1i: u64,
    pub l1d: u64,
    pub last_instructions: u64,
    pub last_data: u64,
}

impl Workshop {
    pub fn open() -> Result<Self, Skip> {
        if !cfg!(target_arch = "x86_64") {
            return Err(Skip::Missing("the program is written for x86-64".to_owned()));
        }
        let broken = |error: std::io::Error| Skip::Broken(error.to_string());
        let folder = tempfile::tempdir().map_err(broken)?;
        let program = folder.path().join("walk");
        let mut gcc = Command::new("gcc");
        run(gcc.args(FLAGS).arg("-o").arg(&program).arg(PROGRAM), "gcc")?;
        let log = folder.path().join("trace");
        let options = ["--tool=lackey".to_owned(), "--trace-mem=yes".to_owned(), option("log-file", &log)];
        run(Command::new("valgrind").args(options).arg(&program), "valgrind")?;
        let text = std::fs::read_to_string(&log).map_err(broken)?;
        Ok(Self { folder, trace: text.lines().filter_map(Event::parse).collect() })
    }

    /// What cachegrind counts for the same program.
    pub fn cachegrind(&self, geometry: &Geometry) -> Result<Misses, String> {
        let out = self.folder.path().join(format!("out-{geometry}"));
        let l1 = format!("{},{},64", geometry.l1_kib * 1024, geometry.l1_ways);
        let last = format!("{},{},64", geometry.last_kib * 1024, geometry.last_ways);
        let mut command = Command::new("valgrind");
        command.args(["--tool=cachegrind", "--cache-sim=yes", "--log-file=/dev/null"]);
        command.args([format!("--I1={l1}"), format!("--D1={l1}"), format!("--LL={last}")]);
        command.arg(option("cachegrind-out-file", &out)).arg(self.folder.path().join("walk"));
        run(&mut command, "valgrind").map_err(|skip| match skip {
            Skip::Missing(reason) | Skip::Broken(reason) => reason,
        })?;
        let text = std::fs::read_to_string(&out).map_err(|error| error.to_string())?;
        Misses::parse(&text).ok_or_else(|| format!("no counts in {text:.200}"))
    }
}

impl Misses {
    fn parse(text: &str) -> Option<Self> {
        let line = |name| text.lines().find_map(|line| line.strip_prefix(name));
        let events: Vec<&str> = line("events:")?.split_whitespace().collect();
        let counts: Vec<&str> = line("summary:")?.split_whitespace().collect();
        let count = |name| {
            let at = events.iter().position(|event| *event == name)?;
            counts.get(at)?.parse::<u64>().ok()
        };
        Some(Self {
            l1i: count("I1mr")?,
            l1d: count("D1mr")? + count("D1mw")?,
            last_instructions: count("ILmr")?,
            last_data: count("DLmr")? + count("DLmw")?,
        })
    }
}

impl Geometry {
    /// A machine of that shape; of its TLBs nothing is asked.
    pub fn machine(&self) -> Result<Machine, String> {
        let level = |name: &str, kib: u32, ways: u32| {
            let sets = kib * 1024 / 64 / ways;
            format!(
                "[{name}]\nsize-kib = {kib}\nways = {ways}\nsets = {sets}\nindex = \"physical\"\n\
                 replacement = \"lru\"\norigin = {{}}\n"
            )
        };
        let text = format!(
            "name = \"test\"\ntitle = \"test\"\nkind = \"what-if\"\n{}{}\
             [[dtlb]]\npages = [\"4KiB\", \"2MiB\"]\nentries = 64\nways = 64\norigin = {{}}\n\
             [walk]\npml4e = 0\npdpte = 0\npde = 0\norigin = {{}}\n\
             [latency]\nl1 = 1\nl2 = 1\nmemory = 1\nstlb = 1\nwalk-reference = 1\norigin = {{}}\n",
            level("l1d", self.l1_kib, self.l1_ways),
            level("l2", self.last_kib, self.last_ways),
        );
        Machine::parse(&text).map_err(|error| error.to_string())
    }
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { l1_kib, l1_ways, last_kib, last_ways } = self;
        write!(f, "{l1_kib}KiB-{l1_ways}way-{last_kib}KiB-{last_ways}way")
    }
}

fn option(name: &str, path: &Path) -> String {
    format!("--{name}={}", path.display())
}

fn run(command: &mut Command, package: &str) -> Result<(), Skip> {
    let output = command.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => Skip::Missing(format!("{package} is not installed")),
        _ => Skip::Broken(format!("failed to start {package}: {error}")),
    })?;
    if output.status.success() {
        return Ok(());
    }
    let arguments = command.get_args().collect::<Vec<_>>().join(OsStr::new(" "));
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Skip::Broken(format!("{package} {} failed: {said}", arguments.display())))
}
