//! The suite's file, `configs/suites/*.toml`: which tests, in what guest, and which metrics may decide.

mod check;

use std::ops::Range;

use mthp_record::job::selects;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

use crate::file::{self, FileError};
use check::{
    cmdline_problem, deadlines_problem, gate_problem, guest_problem, machine_problem, pattern_problem,
};

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
    /// The workload (`configs/workloads/<name>.toml`) whose scenarios are tests of the suite too: those that are modelled
    /// where there are `machines`, all others where there are none.
    pub workload: Option<String>,
    /// The list (`configs/selftests/<name>.toml`) of the kernel's own selftests that are tests of the suite too.
    pub selftests: Option<String>,
    /// The machine.
    pub guest: Guest,
    /// More words for the command line of the guest's kernel, parted by spaces, for example `movablecore=512M`; may be
    /// empty.
    pub cmdline: String,
    /// The machines (`configs/machines/<name>.toml`) for which the regions of the suite's tests are modelled; none where
    /// nothing is.
    pub machines: Vec<String>,
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

/// Metrics that may decide a verdict, each by itself: a declared cost with a direction and a size that matters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gate {
    /// A pattern of test names.
    pub test: String,
    /// Patterns of test names that it does not rule all the same; a comment says why.
    #[serde(default)]
    pub except: Vec<String>,
    /// A pattern of names of metrics in those tests: `gap-kib`, or `l2.misses[*` for all that begin so.
    pub metric: String,
    /// Patterns of names of metrics that it does not rule all the same; a comment says why.
    #[serde(default)]
    pub except_metrics: Vec<String>,
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

fn no_words() -> Spanned<String> {
    Spanned::new(0..0, String::new())
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
    #[serde(default = "no_words")]
    cmdline: Spanned<String>,
    #[serde(default)]
    machines: Vec<Spanned<String>>,
    deadlines: Spanned<Deadlines>,
    boots: Spanned<u32>,
    fragments: Spanned<Vec<String>>,
    #[serde(default)]
    gates_of: Vec<String>,
    #[serde(default, rename = "gate")]
    gates: Vec<Spanned<Gate>>,
}

impl Gate {
    /// Does this gate rule `metric`, a name, of `test`?
    #[must_use]
    pub fn rules(&self, test: &str, metric: &str) -> bool {
        let any = |patterns: &[String], name| patterns.iter().any(|pattern| selects(pattern, name));
        selects(&self.metric, metric)
            && selects(&self.test, test)
            && !any(&self.except, test)
            && !any(&self.except_metrics, metric)
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
        if let Some(problem) = cmdline_problem(raw.cmdline.get_ref()) {
            return fault(raw.cmdline.span(), problem);
        }
        for (at, machine) in raw.machines.iter().enumerate() {
            let earlier = raw.machines.iter().take(at).map(|machine| machine.get_ref().as_str());
            if let Some(problem) = machine_problem(machine.get_ref(), earlier) {
                return fault(machine.span(), problem);
            }
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
            cmdline: raw.cmdline.into_inner(),
            machines: raw.machines.into_iter().map(Spanned::into_inner).collect(),
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

#[cfg(test)]
mod tests;
