//! What a comparison is made of.

use mthp_record::result::{Polarity, Unit};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::suite::Gate;

/// Something of each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pair<T> {
    /// Of the kernel without the patch.
    pub base: T,
    /// Of the kernel with it.
    pub patched: T,
}

impl<T> Pair<T> {
    /// The same done to both.
    pub fn map<U>(&self, mut f: impl FnMut(&T) -> U) -> Pair<U> {
        Pair { base: f(&self.base), patched: f(&self.patched) }
    }

    /// Does it hold on exactly one side?
    pub fn one_side(&self, holds: impl Fn(&T) -> bool) -> bool {
        holds(&self.base) != holds(&self.patched)
    }

    /// Does it hold on any side?
    pub fn any(&self, holds: impl Fn(&T) -> bool) -> bool {
        holds(&self.base) || holds(&self.patched)
    }
}

/// Both sides, test by test.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Comparison {
    /// Completed boots a side: the n behind every statement.
    pub completed: Pair<usize>,
    /// Every test of either side, in the order in which the base ran them.
    pub tests: Vec<TestComparison>,
    /// What cannot be compared at all: a test, check or metric on one side only, or not in every boot.
    pub errors: Vec<String>,
    /// Declared gates that ruled no metric of this run: not an error, but nothing they guard was looked at.
    pub idle_gates: Vec<Gate>,
}

/// One test on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestComparison {
    /// Its name.
    pub name: String,
    /// What came of it.
    pub verdict: TestVerdict,
    /// One of [`Comparison::errors`] is about this test.
    pub faulty: bool,
    /// How it ended on each side.
    pub outcomes: Pair<SideOutcome>,
    /// Its checks; empty unless it completed on both sides.
    pub checks: Vec<CheckComparison>,
    /// Its metrics; empty unless it completed on both sides.
    pub metrics: Vec<MetricComparison>,
}

/// What a patch did to one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum TestVerdict {
    /// A check that held in the base fails in the patched kernel.
    Broken,
    /// A check that failed in the base holds in the patched kernel.
    Fixed,
    /// Something got worse and something got better.
    Mixed,
    /// A gated metric got worse by its floor or more.
    Worse,
    /// A gated metric got better by its floor or more.
    Better,
    /// It crashed or ran out of time in the patched kernel only.
    Crashed,
    /// It crashed or ran out of time in the base only.
    Recovered,
    /// It crashed or ran out of time in both.
    StillCrashing,
    /// All checks hold as before; some exact value that does not gate differs.
    Changed,
    /// All checks hold as before, at least one failing; no exact value differs.
    StillFailing,
    /// All checks hold as before, all passing; no exact value differs.
    StillPassing,
    /// It has no checks, and no exact value differs.
    Unchanged,
    /// Neither kernel has what it needs.
    NotApplicable {
        /// What is missing.
        reason: String,
    },
    /// It cannot be told.
    Inconclusive {
        /// Why.
        reason: String,
    },
}

impl TestVerdict {
    /// Does it count against the patch?
    #[must_use]
    pub fn is_harm(&self) -> bool {
        matches!(self, Self::Broken | Self::Worse | Self::Crashed | Self::Mixed)
    }

    /// Does it count for the patch?
    #[must_use]
    pub fn is_gain(&self) -> bool {
        matches!(self, Self::Fixed | Self::Better | Self::Recovered | Self::Mixed)
    }

    /// Could it not be told?
    #[must_use]
    pub fn is_inconclusive(&self) -> bool {
        matches!(self, Self::Inconclusive { .. })
    }
}

impl std::fmt::Display for TestVerdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Broken => "broken",
            Self::Fixed => "fixed",
            Self::Mixed => "mixed",
            Self::Worse => "worse",
            Self::Better => "better",
            Self::Crashed => "crashed",
            Self::Recovered => "crash fixed",
            Self::StillCrashing => "still crashing",
            Self::Changed => "changed",
            Self::StillFailing => "still failing",
            Self::StillPassing => "still passing",
            Self::Unchanged => "unchanged",
            Self::NotApplicable { .. } => "not applicable",
            Self::Inconclusive { .. } => "inconclusive",
        })
    }
}

/// How a test ended in all boots of a side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum SideOutcome {
    /// It ran to its end.
    Completed,
    /// The guest lacks what it needs.
    NotApplicable {
        /// What is missing.
        reason: String,
    },
    /// Its process died or was killed at the deadline.
    Crashed {
        /// How, in the first boot.
        how: String,
    },
    /// It could not do its work.
    Error {
        /// What failed, in the first boot.
        message: String,
    },
    /// Boots of the same kernel disagree.
    Flaky {
        /// How it ended in each boot.
        outcomes: Vec<String>,
    },
    /// The side has no usable result of it.
    Absent,
}

impl std::fmt::Display for SideOutcome {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Completed => f.write_str("completed"),
            Self::NotApplicable { reason } => write!(f, "not applicable ({reason})"),
            Self::Crashed { how } => write!(f, "crashed ({how})"),
            Self::Error { message } => write!(f, "could not do its work ({message})"),
            Self::Flaky { outcomes } => write!(f, "boots disagree ({})", outcomes.join(", ")),
            Self::Absent => f.write_str("no result"),
        }
    }
}

impl SideOutcome {
    /// In a word or two, without the details that its `Display` gives.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::NotApplicable { .. } => "not applicable",
            Self::Crashed { .. } => "crashed",
            Self::Error { .. } => "error",
            Self::Flaky { .. } => "disagree",
            Self::Absent => "no result",
        }
    }
}

/// One check on both sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckComparison {
    /// Its name.
    pub name: String,
    /// What it promises.
    pub promise: String,
    /// What it asks for.
    pub expected: String,
    /// What became of it.
    pub change: CheckChange,
    /// How it stands on each side.
    pub sides: Pair<CheckState>,
}

/// A check in the boots of one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckState {
    /// Boots in which it held.
    pub passed: usize,
    /// Boots in which it did not.
    pub failed: usize,
    /// What was seen in the first boot in which it failed, or else in the first.
    pub observed: String,
}

impl CheckState {
    /// Did it hold in every boot? `None` where boots disagree.
    #[must_use]
    pub fn held(&self) -> Option<bool> {
        match (self.passed, self.failed) {
            (_, 0) => Some(true),
            (0, _) => Some(false),
            _ => None,
        }
    }
}

/// What became of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CheckChange {
    /// It held and fails now.
    Broken,
    /// It failed and holds now.
    Fixed,
    /// It holds on both sides.
    StillPassing,
    /// It fails on both sides.
    StillFailing,
    /// Boots of one kernel disagree, so it says nothing about the patch.
    Flaky,
}

/// One metric on both sides.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricComparison {
    /// Its name.
    pub name: String,
    /// Its unit.
    pub unit: Unit,
    /// Which way is better, as the test's author sees it.
    pub polarity: Polarity,
    /// Its values.
    pub sides: Pair<Values>,
    /// What became of it.
    pub change: MetricChange,
    /// The gate that rules it, if any.
    pub gate: Option<Gate>,
    /// The p of the rank test, where one was made.
    pub p: Option<f64>,
}

/// A metric's values in the boots of one side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Values {
    /// The same in all of at least two boots.
    Exact {
        /// The value.
        value: i64,
    },
    /// It varies, or there is one boot only.
    Sampled {
        /// The values, ascending.
        values: Vec<i64>,
    },
}

/// What became of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MetricChange {
    /// Exact and the same.
    Same,
    /// Exact and different; it does not gate, or moved less than its gate's floor.
    Moved,
    /// Its gate decides: better.
    Better,
    /// Its gate decides: worse.
    Worse,
    /// Sampled; nothing that counts as a difference.
    SampledAlike,
    /// Sampled (or time under emulation), not gated, and the ranges do not overlap. Worth a look, decides
    /// nothing.
    SampledApart,
    /// Sampled and gated, the ranges lie apart by the floor or more, but there are too few boots (or too many
    /// for the exact test) to tell.
    CannotTell,
}
