//! From the boots of a run to what is kept of them for ever.

use std::collections::BTreeMap;

use mthp_judge::compare::{KERNEL_TEST, complaints_of};
use mthp_record::{
    boot::BootRecord,
    result::{GUARD, TestResult},
};

use crate::history::{Kind, Measured, Name};

/// The check of the made-up test that holds the kernel's own complaints, as `mthp-judge` calls it.
const NO_COMPLAINTS: &str = "no-complaints";

/// One check or metric of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Summed {
    /// What it is called.
    pub name: Name,
    /// What is measured.
    pub kind: Kind,
    /// What all boots say together.
    pub measured: Measured,
}

/// Every check and metric of the boots of one kernel, by name. Boots that did not complete say nothing, nor do tests
/// that did not, nor metrics that a failed check guards ([`GUARD`]).
#[must_use]
pub fn summarise(boots: &[BootRecord]) -> Vec<Summed> {
    let mut checks: BTreeMap<Name, [u32; 2]> = BTreeMap::new();
    let mut metrics: BTreeMap<Name, (Kind, Vec<i64>)> = BTreeMap::new();
    let named = |test: &str, name: &str| Name { test: test.to_owned(), name: name.to_owned() };
    for boot in boots.iter().filter(|boot| boot.outcome.is_completed()) {
        let is_calm = complaints_of(boot.tainted.unwrap_or(0)).is_empty();
        checks.entry(named(KERNEL_TEST, NO_COMPLAINTS)).or_default()[usize::from(!is_calm)] += 1;
        for test in boot.tests.iter().filter(|test| test.outcome.is_completed()) {
            for check in &test.checks {
                checks.entry(named(&test.name, &check.name)).or_default()[usize::from(!check.passed)] += 1;
            }
            for metric in test.metrics.iter().filter(|_| counts(test)) {
                let kind = Kind::Metric { unit: metric.unit, polarity: metric.polarity };
                let of_it = metrics.entry(named(&test.name, &metric.name));
                of_it.or_insert_with(|| (kind, Vec::new())).1.push(metric.value);
            }
        }
    }
    let checks = checks.into_iter().map(|(name, [passed, failed])| Summed {
        name,
        kind: Kind::Check,
        measured: Measured::Check { passed, failed },
    });
    let metrics = metrics.into_iter().filter_map(|(name, (kind, values))| {
        let (low, high) = (*values.iter().min()?, *values.iter().max()?);
        let boots = u32::try_from(values.len()).unwrap_or(u32::MAX);
        Some(Summed { name, kind, measured: Measured::Metric { low, high, boots } })
    });
    checks.chain(metrics).collect()
}

/// Do the test's numbers count?
fn counts(test: &TestResult) -> bool {
    !test.checks.iter().any(|check| check.name.starts_with(GUARD) && !check.passed)
}

#[cfg(test)]
mod tests {
    use mthp_record::{boot::BootOutcome, result::Outcome};

    use super::*;
    use crate::sample;

    fn of(boots: &[BootRecord], name: &str) -> Option<Measured> {
        let all = summarise(boots);
        all.into_iter().find(|summed| summed.name.to_string() == name).map(|summed| summed.measured)
    }

    fn three() -> Vec<BootRecord> {
        [7, 5, 9].into_iter().zip(0..).map(|(gap, index)| sample::boot(index, gap, index != 1)).collect()
    }

    #[test]
    fn values_become_a_range_and_checks_a_count() {
        let boots = three();
        assert_eq!(of(&boots, sample::METRIC), Some(Measured::Metric { low: 5, high: 9, boots: 3 }));
        assert_eq!(of(&boots, sample::CHECK), Some(Measured::Check { passed: 2, failed: 1 }));
        let calm = of(&boots, "kernel/complaints:no-complaints");
        assert_eq!(calm, Some(Measured::Check { passed: 3, failed: 0 }));
    }

    #[test]
    fn a_boot_or_a_test_that_did_not_complete_says_nothing() {
        let mut boots = three();
        boots[0].outcome = BootOutcome::NotFinished;
        boots[2].tests[0].outcome = Outcome::TimedOut { after_secs: 1 };
        assert_eq!(of(&boots, sample::METRIC), Some(Measured::Metric { low: 5, high: 5, boots: 1 }));
        boots[1].outcome = BootOutcome::Interrupted;
        assert_eq!(of(&boots, sample::METRIC), None);
    }

    #[test]
    fn numbers_behind_a_failed_guard_do_not_count() {
        let mut boots = three();
        boots[1].tests[0].checks[0].name = "valid-areas".to_owned();
        assert_eq!(of(&boots, sample::METRIC), Some(Measured::Metric { low: 7, high: 9, boots: 2 }));
        let guard = of(&boots, "placement/4632KiB:valid-areas");
        assert_eq!(guard, Some(Measured::Check { passed: 0, failed: 1 }));
    }

    #[test]
    fn a_kernel_that_complains_is_counted() {
        let mut boots = three();
        boots[0].tainted = Some(1 << 9);
        let calm = of(&boots, "kernel/complaints:no-complaints");
        assert_eq!(calm, Some(Measured::Check { passed: 2, failed: 1 }));
    }
}
