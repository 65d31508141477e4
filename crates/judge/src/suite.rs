//! The suite's file, `configs/suites/*.toml`: which tests, in what guest, and which metrics may decide.

use std::ops::Range;

use mthp_record::job::selects;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::file::{self, FileError};

/// The fewest boots a side from which "the same in every boot" means anything.
pub const MIN_BOOTS: u32 = 2;
/// The most boots a side; the exact test of sampled metrics is computed up to here.
pub const MAX_BOOTS: u32 = 64;

/// One suite, as its file declares it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Suite {
    /// A short name, for example `alignment`.
    pub name: String,
    /// What it is for, in a sentence.
    pub description: String,
    /// Patterns of test names (see [`mthp_record::job::selects`]); at least one, unless there is a workload or
    /// there are selftests.
    pub tests: Vec<String>,
    /// Patterns of test names that are left out all the same; a comment says why.
    pub except: Vec<String>,
    /// The workload (`configs/workloads/<name>.toml`) all of whose scenarios are tests of the suite too.
    pub workload: Option<String>,
    /// The list (`configs/selftests/<name>.toml`) of the kernel's own selftests that are tests of the suite too.
    pub selftests: Option<String>,
    /// The machine.
    pub guest: Guest,
    /// The deadlines under KVM; slower accelerators scale them.
    pub deadlines: Deadlines,
    /// Boots per side, [`MIN_BOOTS`] to [`MAX_BOOTS`].
    pub boots: u32,
    /// Kconfig fragments (`configs/kconfig/<name>.config`), in the order in which they apply.
    pub fragments: Vec<String>,
    /// Suites whose gates hold here too, behind its own; whoever reads the file adds them.
    pub gates_of: Vec<String>,
    /// The metrics that may decide. The first that selects a test's metric rules it.
    pub gates: Vec<Gate>,
}

/// The machine a suite needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Guest {
    /// Memory in MiB. Below 512 MiB of usable memory the kernel switches THP off.
    pub memory_mib: u32,
    /// Virtual CPUs.
    pub cpus: u32,
    /// NUMA nodes to split the memory into (`numa=fake=`); 1 leaves it whole.
    #[serde(default = "one")]
    pub fake_nodes: u32,
}

/// Deadlines in seconds, unscaled: as KVM needs them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Deadlines {
    /// From QEMU's start to the guest's hello.
    pub boot_secs: u32,
    /// Each test.
    pub test_secs: u32,
    /// A whole boot, from QEMU's start to its end.
    pub run_secs: u32,
}

/// A metric that may decide a verdict: a declared cost with a direction and a size that matters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// A pattern of test names.
    pub test: String,
    /// Patterns of test names that it does not rule all the same; a comment says why.
    #[serde(default)]
    pub except: Vec<String>,
    /// The metric's name in those tests.
    pub metric: String,
    /// Which way is better.
    pub polarity: Direction,
    /// How much it must move, in the metric's own unit, before it decides; at least 1.
    pub floor: i64,
    /// Why it is a declared cost. Shown to whoever wonders why the verdict fell.
    pub reason: String,
}

/// Which way a gate's metric is better. There is no "neutral": a fact without a good direction cannot gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
}

const fn one() -> u32 {
    1
}

/// The file as it lies there, with the places of what is checked after parsing.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    name: Spanned<String>,
    description: String,
    tests: Spanned<Vec<Spanned<String>>>,
    #[serde(default)]
    except: Vec<Spanned<String>>,
    workload: Option<String>,
    selftests: Option<String>,
    guest: Spanned<Guest>,
    deadlines: Spanned<Deadlines>,
    boots: Spanned<u32>,
    fragments: Spanned<Vec<String>>,
    #[serde(default)]
    gates_of: Vec<String>,
    #[serde(default, rename = "gate")]
    gates: Vec<Spanned<Gate>>,
}

impl Gate {
    /// Does this gate rule `metric` of `test`?
    #[must_use]
    pub fn rules(&self, test: &str, metric: &str) -> bool {
        let excepted = self.except.iter().any(|pattern| selects(pattern, test));
        self.metric == metric && selects(&self.test, test) && !excepted
    }

    /// How far the patched value is on the good side of the base's: positive is better, negative is worse.
    #[must_use]
    pub fn gain(&self, base: i64, patched: i64) -> i64 {
        match self.polarity {
            Direction::Lower => base.saturating_sub(patched),
            Direction::Higher => patched.saturating_sub(base),
        }
    }
}

impl Suite {
    /// Reads a suite's file.
    ///
    /// # Errors
    /// When the text is not TOML, has a field too many or too few, or declares something that cannot be
    /// meant (one boot a side, a gate without a floor or a reason). The error names the line.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let raw: Raw = file::parse(text)?;
        let fault = |span: Range<usize>, message: String| Err(FileError::at(text, &span, message));

        if raw.name.get_ref().trim().is_empty() {
            return fault(raw.name.span(), "the suite has no name".to_owned());
        }
        if raw.tests.get_ref().is_empty() && raw.workload.is_none() && raw.selftests.is_none() {
            return fault(raw.tests.span(), "a suite without tests proves nothing".to_owned());
        }
        for pattern in raw.tests.get_ref().iter().chain(&raw.except) {
            if let Some(problem) = pattern_problem(pattern.get_ref()) {
                return fault(pattern.span(), problem);
            }
        }
        if let Some(problem) = guest_problem(raw.guest.get_ref()) {
            return fault(raw.guest.span(), problem);
        }
        if let Some(problem) = deadlines_problem(raw.deadlines.get_ref()) {
            return fault(raw.deadlines.span(), problem);
        }
        if !(MIN_BOOTS..=MAX_BOOTS).contains(raw.boots.get_ref()) {
            let problem = format!(
                "boots must be {MIN_BOOTS} to {MAX_BOOTS}: one boot cannot show that a value repeats"
            );
            return fault(raw.boots.span(), problem);
        }
        if raw.fragments.get_ref().is_empty() {
            return fault(raw.fragments.span(), "no kconfig fragment: there is nothing to build".to_owned());
        }
        for (at, gate) in raw.gates.iter().enumerate() {
            let earlier = raw.gates.iter().take(at).map(Spanned::get_ref);
            if let Some(problem) = gate_problem(gate.get_ref(), earlier) {
                return fault(gate.span(), problem);
            }
        }

        Ok(Self {
            name: raw.name.into_inner(),
            description: raw.description,
            tests: raw.tests.into_inner().into_iter().map(Spanned::into_inner).collect(),
            except: raw.except.into_iter().map(Spanned::into_inner).collect(),
            workload: raw.workload,
            selftests: raw.selftests,
            guest: raw.guest.into_inner(),
            deadlines: raw.deadlines.into_inner(),
            boots: raw.boots.into_inner(),
            fragments: raw.fragments.into_inner(),
            gates_of: raw.gates_of,
            gates: raw.gates.into_iter().map(Spanned::into_inner).collect(),
        })
    }

    /// Is the test part of the suite?
    #[must_use]
    pub fn selects(&self, test: &str) -> bool {
        let any = |patterns: &[String]| patterns.iter().any(|pattern| selects(pattern, test));
        any(&self.tests) && !any(&self.except)
    }
}

fn pattern_problem(pattern: &str) -> Option<String> {
    if pattern.trim().is_empty() {
        return Some("an empty pattern selects no test".to_owned());
    }
    let stem = pattern.strip_suffix('*').unwrap_or(pattern);
    stem.contains('*').then(|| format!("`{pattern}`: a `*` is understood at the end only"))
}

fn guest_problem(guest: &Guest) -> Option<String> {
    if !(256..=65536).contains(&guest.memory_mib) {
        return Some(format!("memory_mib is {}, not within 256 to 65536", guest.memory_mib));
    }
    if !(1..=64).contains(&guest.cpus) {
        return Some(format!("cpus is {}, not within 1 to 64", guest.cpus));
    }
    (!(1..=8).contains(&guest.fake_nodes))
        .then(|| format!("fake_nodes is {}, not within 1 to 8", guest.fake_nodes))
}

fn deadlines_problem(deadlines: &Deadlines) -> Option<String> {
    let Deadlines { boot_secs, test_secs, run_secs } = *deadlines;
    if boot_secs == 0 || test_secs == 0 {
        return Some("a deadline of no seconds is always missed".to_owned());
    }
    (run_secs < boot_secs.saturating_add(test_secs))
        .then(|| format!("run_secs is {run_secs}: too short for a boot and one test"))
}

fn gate_problem<'a>(gate: &Gate, mut earlier: impl Iterator<Item = &'a Gate>) -> Option<String> {
    if let Some(problem) = gate.except.iter().chain([&gate.test]).find_map(|it| pattern_problem(it)) {
        return Some(problem);
    }
    if gate.metric.trim().is_empty() {
        return Some("a gate names one metric".to_owned());
    }
    if gate.floor < 1 {
        return Some(format!("the floor is {}: a gate says how much matters, at least 1", gate.floor));
    }
    if gate.reason.trim().is_empty() {
        return Some("a gate says why the metric is a declared cost".to_owned());
    }
    earlier
        .any(|other| other.test == gate.test && other.metric == gate.metric)
        .then(|| format!("a second gate on `{}` of `{}`", gate.metric, gate.test))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALIGNMENT: &str = include_str!("../../../configs/suites/alignment.toml");

    /// The list of tests as the file has it.
    fn tests() -> String {
        let from = ALIGNMENT.find("tests = [").unwrap();
        let to = ALIGNMENT[from..].find(']').unwrap();
        ALIGNMENT[from..=from + to].to_owned()
    }

    fn error(from: &str, to: &str) -> String {
        assert!(ALIGNMENT.contains(from), "the shipped suite no longer has {from}");
        Suite::parse(&ALIGNMENT.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn the_shipped_suite_parses_and_gates_no_mechanism_counter() {
        let suite = Suite::parse(ALIGNMENT).unwrap();
        assert_eq!(suite.name, "alignment");
        assert!(suite.selects("placement/4632KiB"));
        for gate in &suite.gates {
            assert!(!gate.metric.contains("fault"), "{gate:?}");
            assert!(!gate.metric.contains("huge"), "{gate:?}");
        }
    }

    #[test]
    fn a_problem_is_told_with_its_line() {
        let boots = ALIGNMENT.lines().position(|line| line.starts_with("boots")).unwrap() + 1;
        assert_eq!(
            error("boots = 2", "boots = 1"),
            format!("line {boots}: boots must be 2 to 64: one boot cannot show that a value repeats")
        );
        assert_eq!(
            error("boots = 2", "boots = \"two\""),
            format!("line {boots}: invalid type: string \"two\", expected u32")
        );
        let unknown = error("boots = 2", "boots = 2\nretries = 3");
        assert!(unknown.starts_with(&format!("line {}: unknown field `retries`", boots + 1)), "{unknown}");
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert!(error(&tests(), "tests = []").contains("proves nothing"));
        assert!(error("\"mixed/*\"", "\"*/3MiB\"").contains("at the end only"));
        assert!(error("fragments = [\"base\"]", "fragments = []").contains("nothing to build"));
        assert!(error("memory_mib = 1536", "memory_mib = 1").contains("memory_mib is 1,"));
        assert!(error("run_secs = 60", "run_secs = 5").contains("too short"));
        assert!(error("polarity = \"lower\"", "polarity = \"neutral\"").contains("neutral"));
        assert!(error("floor = 4", "floor = 0").contains("at least 1"));
        let twice = format!("{ALIGNMENT}\n{}", &ALIGNMENT[ALIGNMENT.find("[[gate]]").unwrap()..]);
        assert!(Suite::parse(&twice).unwrap_err().message.contains("a second gate"));
    }

    #[test]
    fn an_exception_is_not_selected() {
        let text = ALIGNMENT.replacen("boots =", "except = [\"placement/3*\"]\nboots =", 1);
        let suite = Suite::parse(&text).unwrap();
        assert!(suite.selects("placement/4MiB") && !suite.selects("placement/3MiB"));
        assert!(error("boots =", "except = [\"*x\"]\nboots =").contains("at the end only"));
    }

    #[test]
    fn an_exception_is_not_ruled() {
        let mut gate = Suite::parse(ALIGNMENT).unwrap().gates.remove(0);
        assert!(gate.rules("placement/3MiB", &gate.metric));
        gate.except = vec!["placement/3*".to_owned()];
        assert!(!gate.rules("placement/3MiB", &gate.metric));
        assert!(gate.rules("placement/4MiB", &gate.metric));
    }

    #[test]
    fn a_gain_follows_the_polarity() {
        let mut gate = Suite::parse(ALIGNMENT).unwrap().gates.remove(0);
        gate.polarity = Direction::Lower;
        assert_eq!(gate.gain(10, 4), 6);
        gate.polarity = Direction::Higher;
        assert_eq!(gate.gain(10, 4), -6);
        assert_eq!(gate.gain(i64::MAX, i64::MIN), i64::MIN);
    }
}
