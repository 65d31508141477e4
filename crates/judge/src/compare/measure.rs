//! The checks and metrics of one test that completed in every boot of both sides.

use std::collections::BTreeSet;

use mthp_record::result::{Check, Metric, TestResult};

use super::{
    collect::{self, Runs},
    types::{CheckComparison, CheckState, MetricChange, MetricComparison, Pair, Values},
};
use crate::suite::Gate;

pub(super) fn checks(test: &str, runs: &Pair<Runs<'_>>, errors: &mut Vec<String>) -> Vec<CheckComparison> {
    let found = runs.map(|side| side.results(test));
    let all = |result: &TestResult| result.checks.iter().map(|check| check.name.clone()).collect::<Vec<_>>();
    let mut comparisons = Vec::new();
    for name in names(&found, all) {
        let of = |results: &Vec<&TestResult>| -> Vec<Check> {
            results.iter().flat_map(|r| &r.checks).filter(|c| c.name == name).cloned().collect()
        };
        let sides = found.map(of);
        if let Some(problem) = uneven(&found, all, &name) {
            errors.push(format!("{test}: the check {name} {problem}"));
            continue;
        }
        let Some(first) = sides.patched.first() else { continue };
        let (promise, expected) = (first.promise.clone(), first.expected.clone());
        let sides = sides.map(|checks| state(checks));
        comparisons.push(CheckComparison { name, promise, expected, change: collect::change(&sides), sides });
    }
    comparisons
}

fn state(checks: &[Check]) -> CheckState {
    let failed = checks.iter().filter(|check| !check.passed).count();
    let telling = checks.iter().find(|check| !check.passed).or(checks.first());
    CheckState {
        passed: checks.len() - failed,
        failed,
        observed: telling.map(|check| check.observed.clone()).unwrap_or_default(),
    }
}

pub(super) fn metrics(
    test: &str,
    runs: &Pair<Runs<'_>>,
    gates: &[Gate],
    emulated: bool,
    ruled: &mut BTreeSet<usize>,
    errors: &mut Vec<String>,
) -> Vec<MetricComparison> {
    let found = runs.map(|side| side.valid(test));
    let guarded = runs.any(|side| side.is_guarded(test));
    let all =
        |result: &TestResult| result.metrics.iter().map(|metric| metric.name.clone()).collect::<Vec<_>>();
    let mut comparisons = Vec::new();
    for name in names(&found, all) {
        if let Some(problem) = uneven(&found, all, &name) {
            errors.push(format!("{test}: the metric {name} {problem}"));
            continue;
        }
        if guarded {
            continue;
        }
        let of = |results: &Vec<&TestResult>| -> Vec<Metric> {
            results.iter().flat_map(|r| &r.metrics).filter(|m| m.name == name).cloned().collect()
        };
        let sides = found.map(of);
        let Some(Metric { unit, polarity, .. }) = sides.patched.first().cloned() else { continue };
        if sides.any(|metrics| metrics.iter().any(|m| m.unit != unit || m.polarity != polarity)) {
            errors.push(format!("{test}: the metric {name} does not mean the same in every boot"));
            continue;
        }
        let gate = gates.iter().enumerate().find(|(_, gate)| gate.rules(test, &name));
        // Emulation distorts time by more than any patch does.
        let gate = gate.filter(|_| !(emulated && unit.is_time())).map(|(at, gate)| {
            ruled.insert(at);
            gate.clone()
        });
        let sides = sides.map(|metrics| values(metrics));
        let change = match change(&sides, gate.as_ref()) {
            // Boots that took equally long did so by chance.
            MetricChange::Moved if emulated && unit.is_time() => MetricChange::SampledApart,
            change => change,
        };
        comparisons.push(MetricComparison { name, unit, polarity, sides, change, gate, p: None });
    }
    comparisons
}

fn values(metrics: &[Metric]) -> Values {
    let mut values: Vec<i64> = metrics.iter().map(|metric| metric.value).collect();
    values.sort_unstable();
    match (values.first(), values.last()) {
        (Some(first), Some(last)) if first == last && values.len() >= 2 => Values::Exact { value: *first },
        _ => Values::Sampled { values },
    }
}

/// What became of a metric, as far as it can be said without the others. A sampled one that gates waits for
/// [`super::settle::sampled_gates`].
fn change(sides: &Pair<Values>, gate: Option<&Gate>) -> MetricChange {
    let (Values::Exact { value: base }, Values::Exact { value: patched }) = (&sides.base, &sides.patched)
    else {
        return match gate {
            None if sides.base.distance(&sides.patched) > 0 => MetricChange::SampledApart,
            _ => MetricChange::SampledAlike,
        };
    };
    if base == patched {
        return MetricChange::Same;
    }
    match gate.map(|gate| (gate.gain(*base, *patched), gate.floor)) {
        Some((gain, floor)) if gain >= floor => MetricChange::Better,
        Some((gain, floor)) if gain <= floor.saturating_neg() => MetricChange::Worse,
        _ => MetricChange::Moved,
    }
}

impl Values {
    /// All values, ascending. An exact one stands for `boots` of them.
    pub(super) fn spread(&self, boots: usize) -> Vec<i64> {
        match self {
            Self::Exact { value } => vec![*value; boots],
            Self::Sampled { values } => values.clone(),
        }
    }

    /// The least and the greatest value.
    #[must_use]
    pub fn range(&self) -> (i64, i64) {
        match self {
            Self::Exact { value } => (*value, *value),
            Self::Sampled { values } => {
                (values.first().copied().unwrap_or(0), values.last().copied().unwrap_or(0))
            }
        }
    }

    /// How far the two ranges lie apart; 0 where they touch or overlap.
    #[must_use]
    pub fn distance(&self, other: &Self) -> i64 {
        let ((low, high), (other_low, other_high)) = (self.range(), other.range());
        other_low.saturating_sub(high).max(low.saturating_sub(other_high)).max(0)
    }
}

/// Every name that occurs, in order of first occurrence, the base's first.
pub(super) fn names(found: &Pair<Vec<&TestResult>>, all: impl Fn(&TestResult) -> Vec<String>) -> Vec<String> {
    let mut names = Vec::new();
    for result in found.base.iter().chain(&found.patched) {
        for name in all(result) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
    }
    names
}

/// Why a name that is not there exactly once in every boot of both sides cannot be compared. A side without a
/// boot lacks nothing.
pub(super) fn uneven(
    found: &Pair<Vec<&TestResult>>,
    all: impl Fn(&TestResult) -> Vec<String>,
    name: &str,
) -> Option<&'static str> {
    let times = |result: &&TestResult| all(result).iter().filter(|other| *other == name).count();
    let counts = found.map(|results| results.iter().map(times).collect::<Vec<_>>());
    if counts.any(|counts| counts.iter().any(|count| *count > 1)) {
        return Some("is there twice");
    }
    let both = !counts.any(Vec::is_empty);
    if both && counts.one_side(|counts| counts.contains(&1)) {
        return Some("is on one side only");
    }
    counts.any(|counts| counts.contains(&0)).then_some("is not in every boot")
}
