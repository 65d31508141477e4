//! An account's regions as metrics of the tests they belong to.

use mthp_record::{
    cost::{Account, Latencies, RegionAccount, is_modelled},
    result::{Check, GUARD, Metric, Polarity, TestResult, Unit},
};

use crate::cycles;

/// Gives each completed test that is made for the model what was counted in its regions, and a guard that says whether the
/// account covers it. The region of the test's own name gives `l2.misses[MACHINE]` and so on, a part `TEST/part` gives
/// `part.l2.misses[MACHINE]`. `None` is a boot whose account was never written.
pub fn attach(
    account: Option<&Account>,
    latencies: impl Fn(&str) -> Option<Latencies>,
    tests: &mut [TestResult],
) {
    let fault = match account {
        None => Some("the emulator left no account".to_owned()),
        Some(account) => account.faults.first().cloned(),
    };
    let regions = account.map(|account| account.regions.as_slice()).unwrap_or_default();
    for test in tests.iter_mut().filter(|test| is_modelled(&test.name) && test.outcome.is_completed()) {
        let its: Vec<(&str, &RegionAccount)> = regions
            .iter()
            .filter_map(|region| part(&test.name, &region.name).map(|part| (part, region)))
            .collect();
        let observed = match &fault {
            Some(fault) => fault.clone(),
            None if its.is_empty() => "no region of the test".to_owned(),
            None => "all of them".to_owned(),
        };
        let passed = fault.is_none() && !its.is_empty();
        test.checks.push(Check {
            name: format!("{GUARD}account"),
            promise: "the emulator's account covers the test's regions".to_owned(),
            passed,
            observed,
            expected: "all of them".to_owned(),
        });
        if passed {
            for (part, region) in its {
                test.metrics.extend(metrics(part, region, &latencies));
            }
        }
    }
}

/// Which part of the test a region is: `""` for the one of its own name.
fn part<'a>(test: &str, region: &'a str) -> Option<&'a str> {
    let rest = region.strip_prefix(test)?;
    if rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
}

fn metrics(
    part: &str,
    region: &RegionAccount,
    latencies: &impl Fn(&str) -> Option<Latencies>,
) -> Vec<Metric> {
    let prefix = if part.is_empty() { String::new() } else { format!("{part}.") };
    let metric = |name: String, value: u64, polarity: Polarity| Metric {
        name: format!("{prefix}{name}"),
        value: i64::try_from(value).unwrap_or(i64::MAX),
        unit: Unit::Count,
        polarity,
    };
    let mut metrics: Vec<Metric> =
        [("loads", region.loads), ("stores", region.stores), ("crossings", region.crossings)]
            .into_iter()
            .map(|(name, value)| metric(name.to_owned(), value, Polarity::Neutral))
            .collect();
    for (machine, counts) in &region.machines {
        let latencies = latencies(machine);
        let mut add =
            |name: &str, value| metrics.push(metric(format!("{name}[{machine}]"), value, Polarity::Lower));
        add("l1.misses", counts.l1_misses);
        add("l2.misses", counts.l2_misses);
        if latencies.is_none_or(|latencies| latencies.l3.is_some()) {
            add("l3.misses", counts.l3_misses);
        }
        add("dtlb.misses", counts.dtlb_misses);
        add("walks", counts.walks);
        add("walk-refs", counts.walk_references);
        if let Some(latencies) = latencies {
            add("model-cycles", cycles(counts, &latencies));
        }
    }
    metrics
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use mthp_record::{cost::Counts, result::Outcome};

    use super::*;

    fn test(name: &str, outcome: Outcome) -> TestResult {
        TestResult {
            name: name.to_owned(),
            outcome,
            checks: Vec::new(),
            metrics: Vec::new(),
            agreements: Vec::new(),
            evidence: BTreeMap::new(),
        }
    }

    fn region(name: &str, loads: u64) -> RegionAccount {
        let counts = Counts {
            l1_accesses: loads,
            l1_misses: 9,
            l2_misses: 7,
            l3_misses: 7,
            walks: 2,
            ..Counts::default()
        };
        let machines = [("zen3", counts), ("small", counts)].map(|(name, counts)| (name.to_owned(), counts));
        RegionAccount { name: name.to_owned(), loads, machines: machines.into(), ..RegionAccount::default() }
    }

    fn latencies(machine: &str) -> Option<Latencies> {
        let l3 = (machine == "zen3").then_some(40);
        Some(Latencies { l1: 4, l2: 12, l3, memory: 200, stlb: 7, walk_reference: 10 })
    }

    fn attached(account: Option<&Account>) -> Vec<TestResult> {
        let crashed = Outcome::Crashed { how: "11".to_owned() };
        let mut tests = [
            test("cost/a", Outcome::Completed),
            test("cost/a-2", Outcome::Completed),
            test("cost/crashed", crashed),
            test("placement/3MiB", Outcome::Completed),
        ];
        attach(account, latencies, &mut tests);
        tests.into()
    }

    fn value(test: &TestResult, name: &str) -> Option<i64> {
        test.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value)
    }

    #[test]
    fn a_region_belongs_to_the_test_whose_name_it_has() {
        let regions = vec![region("cost/a", 10), region("cost/a/b", 20), region("cost/a-2/b", 30)];
        let tests = attached(Some(&Account { regions, ..Account::default() }));
        assert_eq!(value(&tests[0], "loads"), Some(10));
        assert_eq!(value(&tests[0], "b.loads"), Some(20));
        assert_eq!(value(&tests[0], "l2.misses[zen3]"), Some(7));
        assert_eq!(value(&tests[0], "b.walks[small]"), Some(2));
        assert_eq!(value(&tests[0], "l3.misses[small]"), None, "it has no third level");
        assert_eq!(value(&tests[1], "loads"), None);
        assert_eq!(value(&tests[1], "b.loads"), Some(30));
        assert!(tests[0].checks[0].passed && tests[1].checks[0].passed);
        assert!(tests[2].checks.is_empty() && tests[3].checks.is_empty());
    }

    #[test]
    fn without_a_whole_account_nothing_is_said_of_the_test() {
        let regions = vec![region("cost/a", 10)];
        let faulty =
            Account { regions: regions.clone(), faults: vec!["odd".to_owned()], ..Account::default() };
        let partial = Account { regions, ..Account::default() };
        for (account, which, observed) in [
            (None, 0, "the emulator left no account"),
            (Some(&faulty), 0, "odd"),
            (Some(&partial), 1, "no region of the test"),
        ] {
            let tests = attached(account);
            assert!(tests[which].metrics.is_empty());
            let guard = &tests[which].checks[0];
            assert_eq!((guard.passed, guard.observed.as_str()), (false, observed));
            assert!(guard.name.starts_with(GUARD));
        }
    }
}
