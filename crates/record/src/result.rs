//! What one test found: checks, metrics, and how it ended.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One test's result in one boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestResult {
    /// `group/case`, for example `placement/4632KiB`.
    pub name: String,
    /// How the test ended.
    pub outcome: Outcome,
    /// The contracts it looked at; empty unless `outcome` is `completed`.
    pub checks: Vec<Check>,
    /// The values it measured.
    pub metrics: Vec<Metric>,
    /// What both kernels must agree on.
    pub agreements: Vec<Agreement>,
    /// Raw text worth keeping: the maps of the test's areas, smaps, buddyinfo. Name → text.
    pub evidence: BTreeMap<String, String>,
}

/// How a test ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Outcome {
    /// It ran to its end; its checks say what it found.
    Completed,
    /// The guest lacks what the test needs. Never a pass.
    NotApplicable {
        /// What is missing.
        reason: String,
    },
    /// The test's process died.
    Crashed {
        /// The signal's number, or the exit status in words.
        how: String,
    },
    /// The test did not end by its deadline and was killed.
    TimedOut {
        /// The deadline in seconds.
        after_secs: u32,
    },
    /// The test could not do its work (a system call it relies on failed).
    Error {
        /// What failed.
        message: String,
    },
}

/// A check whose name begins so guards the test's numbers: where it fails, the test reports no metrics and no
/// agreements, and any that it reports do not count. Where it fails on both sides nothing is said of the test.
pub const GUARD: &str = "valid-";

/// A contract that holds or does not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Check {
    /// A name in kebab-case, unique in its test, for example `neighbours-touch`.
    pub name: String,
    /// The promise in a sentence, for example "neighbouring maps of a non-multiple length touch".
    pub promise: String,
    /// Did it hold?
    pub passed: bool,
    /// What was seen.
    pub observed: String,
    /// What the promise asks for.
    pub expected: String,
}

/// A value that the kernel has no business to change: it must be the same on both, in every boot. What it is
/// does not matter.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Agreement {
    /// A name in kebab-case, unique in its test among agreements and checks, for example `output-bits`.
    pub name: String,
    /// The promise in a sentence, for example "the output's bits do not depend on the kernel".
    pub promise: String,
    /// The value, for example a hash.
    pub value: String,
}

/// A measured whole number. Ratios are given in thousandths so that equality means equality.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Metric {
    /// A name in kebab-case, unique in its test, for example `faults-after`.
    pub name: String,
    /// The value.
    pub value: i64,
    /// The unit.
    pub unit: Unit,
    /// Which way is better, as the test's author sees it. It gates only where the suite's file says so.
    pub polarity: Polarity,
}

/// Units of metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Kibibytes.
    Kib,
    /// A count of things.
    Count,
    /// Thousandths of one.
    Thousandths,
    /// Microseconds; never gates under emulation.
    Micros,
    /// Events in a thousand seconds; never gates under emulation.
    PerKilosecond,
}

impl Unit {
    /// Does it measure time? Emulation distorts that by more than any patch does.
    #[must_use]
    pub fn is_time(self) -> bool {
        matches!(self, Self::Micros | Self::PerKilosecond)
    }
}

/// Which way a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Polarity {
    /// Less is better.
    Lower,
    /// More is better.
    Higher,
    /// A fact without a good direction.
    Neutral,
}

impl Outcome {
    /// Did the test run to its end?
    #[must_use]
    pub fn is_completed(&self) -> bool {
        matches!(self, Self::Completed)
    }
}
