//! The boots of both sides, set against each other test by test.
//!
//! Only boots that completed are compared; what the others mean is [`crate::verdict`]'s business. The order
//! in which boots are given has no influence: within a side they are taken by their index.

mod agree;
mod collect;
mod measure;
mod settle;
mod types;

use std::collections::BTreeSet;

use mthp_record::boot::{BootRecord, Side};

use collect::Runs;
pub use collect::said as complaints_of;
pub use types::{
    CheckChange, CheckComparison, CheckState, Comparison, MetricChange, MetricComparison, Pair, SideOutcome,
    TestComparison, TestVerdict, Values,
};

use crate::suite::Gate;

/// The fewest boots a side with which a sampled metric may gate: fewer cannot reach p < .01 after Holm's
/// correction for more than a handful of metrics.
pub const MIN_BOOTS_SAMPLED: usize = 8;

/// The name of the made-up test that holds the kernel's own complaints (its taint flags).
pub const KERNEL_TEST: &str = "kernel/complaints";

/// Compares both sides' completed boots. `gates` are the suite's; `emulated` says that there was no KVM, so
/// that times decide nothing.
#[must_use]
pub fn compare(boots: &[BootRecord], gates: &[Gate], emulated: bool) -> Comparison {
    let runs = Pair { base: Runs::of(boots, Side::Base), patched: Runs::of(boots, Side::Patched) };
    let mut comparison = Comparison { completed: runs.map(Runs::len), ..Comparison::default() };
    // Nothing to set against: every test would be an error, and the one cause is named by the verdict.
    if runs.base.len() == 0 || runs.patched.len() == 0 {
        return comparison;
    }
    let mut ruled = BTreeSet::new();

    for name in runs.base.names().into_iter().chain(runs.patched.names()) {
        if comparison.tests.iter().any(|test| test.name == name) {
            continue;
        }
        let errors_before = comparison.errors.len();
        let outcomes = runs.map(|side| side.outcome(&name, &mut comparison.errors));
        let (mut checks, mut metrics) = (Vec::new(), Vec::new());
        if outcomes.base == SideOutcome::Completed && outcomes.patched == SideOutcome::Completed {
            checks = measure::checks(&name, &runs, &mut comparison.errors);
            checks.extend(agree::agreements(&name, &runs, &mut comparison.errors));
            metrics = measure::metrics(&name, &runs, gates, emulated, &mut ruled, &mut comparison.errors);
        } else if outcomes.one_side(|side| *side == SideOutcome::Absent) {
            comparison.errors.push(format!("{name}: the test ran on one side only"));
        }
        comparison.tests.push(TestComparison {
            // Settled below, once all sampled metrics are known together.
            verdict: TestVerdict::Unchanged,
            faulty: comparison.errors.len() > errors_before,
            name,
            outcomes,
            checks,
            metrics,
        });
    }
    comparison.tests.extend(collect::complaints(&runs));
    comparison.idle_gates = gates
        .iter()
        .enumerate()
        .filter(|(at, _)| !ruled.contains(at))
        .map(|(_, gate)| gate.clone())
        .collect();

    settle::sampled_gates(&mut comparison);
    for test in &mut comparison.tests {
        test.verdict = settle::verdict(test);
    }
    comparison
}

#[cfg(test)]
mod tests;
