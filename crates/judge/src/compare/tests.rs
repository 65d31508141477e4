use std::slice::from_ref;

use mthp_record::{
    boot::BootRecord,
    result::{Metric, Outcome, Polarity, TestResult, Unit},
};
use proptest::prelude::*;

use super::*;
use crate::{
    sample::{
        agreement, boot, boots, check, demonstration, ended, gates, metric, new_rule, old_rule, placement,
        swapped, test,
    },
    suite::Direction,
    verdict::{Verdict, judge},
};

fn gate(test: &str, metric: &str, floor: i64) -> Gate {
    let (test, metric) = (test.to_owned(), metric.to_owned());
    Gate {
        test,
        except: Vec::new(),
        metric,
        except_metrics: Vec::new(),
        polarity: Direction::Lower,
        floor,
        reason: "a cost".to_owned(),
    }
}

fn only(base: &TestResult, patched: &TestResult) -> Comparison {
    compare(&boots(2, from_ref(base), from_ref(patched)), &[gate("t", "cost", 10)], true)
}

fn verdict_of(base: &TestResult, patched: &TestResult) -> String {
    let comparison = only(base, patched);
    assert_eq!(comparison.errors, Vec::<String>::new());
    comparison.tests[0].verdict.to_string()
}

#[test]
fn the_demonstration_is_improved_and_its_reverse_regressed() {
    let there = demonstration();
    assert_eq!(judge(&there, &compare(&there, &gates(), true)).verdict, Verdict::Improved);
    let back = swapped(there);
    assert_eq!(judge(&back, &compare(&back, &gates(), true)).verdict, Verdict::Regressed);
}

#[test]
fn facts_that_differ_are_told_though_they_do_not_decide() {
    let (base, patched) = (placement("3MiB", [0, 1, 1, 1, 1, 48]), placement("3MiB", [0, 1, 1, 1, 2, 48]));
    let boots = boots(2, &[base], &[patched]);
    let judgement = judge(&boots, &compare(&boots, &gates(), true));
    assert_eq!(judgement.verdict, Verdict::Unchanged);
    assert_eq!(
        judgement.reasons,
        ["no check and no declared cost differs in 1 test", "1 test changed in facts that do not decide"]
    );
}

#[test]
fn more_faults_are_a_fact_not_a_verdict() {
    let comparison = compare(&demonstration(), &gates(), true);
    let shards = comparison.tests.iter().find(|test| test.name == "placement/4632KiB").unwrap();
    assert_eq!(shards.verdict, TestVerdict::Fixed);
    let each = shards.metrics.iter().find(|metric| metric.name == "faults-each").unwrap();
    assert_eq!((&each.change, &each.gate), (&MetricChange::Moved, &None));
}

#[test]
fn every_gate_of_the_shipped_suite_that_has_its_test_rules_something() {
    let comparison = compare(&demonstration(), &gates(), true);
    let idle: Vec<_> = comparison.idle_gates.iter().map(|gate| gate.test.as_str()).collect();
    assert_eq!(idle, ["mixed/*"]);
}

#[test]
fn a_test_is_named_after_what_happened_to_it() {
    let with = |checks: &[(&str, bool)], cost| {
        let checks = checks.iter().map(|(name, passed)| check(name, *passed)).collect();
        test("t", checks, vec![metric("cost", cost), metric("fact", cost % 10)])
    };
    let cases = [
        (with(&[("a", true)], 0), with(&[("a", false)], 0), "broken"),
        (with(&[("a", false)], 0), with(&[("a", true)], 0), "fixed"),
        (with(&[("a", false), ("b", true)], 0), with(&[("a", true), ("b", false)], 0), "mixed"),
        (with(&[("a", false)], 0), with(&[("a", true)], 10), "mixed"),
        (with(&[("a", true)], 0), with(&[("a", true)], 10), "worse"),
        (with(&[("a", true)], 10), with(&[("a", true)], 0), "better"),
        (with(&[("a", true)], 0), with(&[("a", true)], 9), "changed"),
        (with(&[("a", true)], 0), with(&[("a", true)], 0), "still passing"),
        (with(&[("a", true), ("b", false)], 0), with(&[("a", true), ("b", false)], 0), "still failing"),
        (with(&[], 0), with(&[], 0), "unchanged"),
    ];
    for (base, patched, expected) in cases {
        assert_eq!(verdict_of(&base, &patched), expected, "{base:?} -> {patched:?}");
    }
}

#[test]
fn a_test_that_does_not_end_well() {
    let ok = test("t", vec![check("a", true)], vec![]);
    let crashed = ended("t", Outcome::Crashed { how: "signal 11".to_owned() });
    let late = ended("t", Outcome::TimedOut { after_secs: 60 });
    let missing = ended("t", Outcome::NotApplicable { reason: "no THP".to_owned() });
    let error = ended("t", Outcome::Error { message: "mmap: ENOMEM".to_owned() });
    assert_eq!(verdict_of(&ok, &crashed), "crashed");
    assert_eq!(verdict_of(&ok, &late), "crashed");
    assert_eq!(verdict_of(&crashed, &ok), "crash fixed");
    assert_eq!(verdict_of(&crashed, &late), "still crashing");
    assert_eq!(verdict_of(&missing, &missing), "not applicable");
    for (base, patched) in
        [(&ok, &missing), (&missing, &ok), (&ok, &error), (&error, &error), (&missing, &crashed)]
    {
        assert_eq!(verdict_of(base, patched), "inconclusive");
    }
    let TestVerdict::Inconclusive { reason } = only(&ok, &missing).tests[0].verdict.clone() else { panic!() };
    assert_eq!(reason, "base completed, patched not applicable (no THP)");
}

#[test]
fn what_is_on_one_side_only_is_an_error() {
    let plain = test("t", vec![check("a", true)], vec![metric("cost", 1)]);
    let extra_check = test("t", vec![check("a", true), check("b", true)], vec![metric("cost", 1)]);
    let extra_metric = test("t", vec![check("a", true)], vec![metric("cost", 1), metric("more", 1)]);
    let cases = [
        (vec![plain.clone()], vec![extra_check], "t: the check b is on one side only"),
        (vec![extra_metric], vec![plain.clone()], "t: the metric more is on one side only"),
        (
            vec![plain.clone()],
            vec![plain.clone(), test("u", vec![], vec![])],
            "u: the test ran on one side only",
        ),
    ];
    for (base, patched, expected) in cases {
        let boots = boots(2, &base, &patched);
        let comparison = compare(&boots, &[], true);
        assert_eq!(comparison.errors, [expected]);
        let judgement = judge(&boots, &comparison);
        assert_eq!(judgement.verdict, Verdict::Inconclusive);
        assert!(judgement.reasons.iter().any(|reason| reason == expected));
    }
}

#[test]
fn what_is_not_in_every_boot_or_twice_is_an_error() {
    let plain = test("t", vec![check("a", true)], vec![metric("cost", 1)]);
    let twice = test("t", vec![check("a", true), check("a", true)], vec![metric("cost", 1)]);
    assert_eq!(only(&twice, &twice).errors, ["t: the check a is there twice"]);
    let mut some = boots(2, from_ref(&plain), from_ref(&plain));
    some[3].tests[0].metrics.clear();
    assert_eq!(compare(&some, &[], true).errors, ["t: the metric cost is not in every boot"]);
    let mut gone = boots(2, from_ref(&plain), from_ref(&plain));
    gone[3].tests.clear();
    assert_eq!(
        compare(&gone, &[], true).errors,
        ["t: not exactly one result in every boot of the patched side", "t: the test ran on one side only"]
    );
}

#[test]
fn a_check_that_boots_disagree_on_decides_nothing() {
    let plain = test("t", vec![check("a", true), check("b", true)], vec![]);
    let mut some = boots(2, from_ref(&plain), from_ref(&plain));
    some[1].tests[0].checks[0].passed = false;
    let flaky = compare(&some, &[], true);
    assert_eq!(flaky.tests[0].checks[0].change, CheckChange::Flaky);
    assert!(flaky.tests[0].verdict.is_inconclusive());
    assert_eq!(judge(&some, &flaky).verdict, Verdict::Inconclusive);
    // Harm that is proven elsewhere stays proven.
    for at in [1, 3] {
        some[at].tests[0].checks[1].passed = false;
    }
    assert_eq!(compare(&some, &[], true).tests[0].verdict, TestVerdict::Broken);
}

#[test]
fn a_test_that_crashes_in_some_boots_is_flaky() {
    let plain = test("t", vec![check("a", true)], vec![]);
    let mut some = boots(2, from_ref(&plain), from_ref(&plain));
    some[3].tests[0] = ended("t", Outcome::Crashed { how: "signal 11".to_owned() });
    let comparison = compare(&some, &[], true);
    let TestVerdict::Inconclusive { reason } = &comparison.tests[0].verdict else { panic!("{comparison:?}") };
    assert_eq!(reason, "base completed, patched boots disagree (completed, crashed (signal 11))");
}

/// Boots whose only metric has these values, base and patched.
fn sampled(base: &[i64], patched: &[i64]) -> Vec<BootRecord> {
    let side = |side, values: &[i64]| -> Vec<BootRecord> {
        let one = |(i, value): (usize, &i64)| {
            boot(side, u32::try_from(i).unwrap(), vec![test("t", vec![], vec![metric("cost", *value)])])
        };
        values.iter().enumerate().map(one).collect()
    };
    [side(Side::Base, base), side(Side::Patched, patched)].concat()
}

fn sampled_change(base: &[i64], patched: &[i64], gates: &[Gate]) -> (MetricChange, String) {
    let comparison = compare(&sampled(base, patched), gates, true);
    (comparison.tests[0].metrics[0].change, comparison.tests[0].verdict.to_string())
}

#[test]
fn a_sampled_metric_needs_eight_boots_to_decide() {
    let gates = [gate("t", "cost", 10)];
    let few = [100, 101, 102];
    assert_eq!(
        sampled_change(&few, &[200, 201, 200], &gates),
        (MetricChange::CannotTell, "inconclusive".to_owned())
    );
    assert_eq!(
        sampled_change(&few, &[103, 104, 105], &gates),
        (MetricChange::SampledAlike, "unchanged".to_owned())
    );
    assert_eq!(
        sampled_change(&few, &[200, 201, 200], &[]),
        (MetricChange::SampledApart, "unchanged".to_owned())
    );

    let many = [100, 101, 102, 103, 104, 105, 106, 107];
    let far = many.map(|value| value + 50);
    let near = many.map(|value| value + 9);
    let mut overlapping = far;
    overlapping[..4].copy_from_slice(&many[..4]);
    assert_eq!(sampled_change(&many, &far, &gates), (MetricChange::Worse, "worse".to_owned()));
    assert_eq!(sampled_change(&far, &many, &gates), (MetricChange::Better, "better".to_owned()));
    assert_eq!(sampled_change(&many, &near, &gates), (MetricChange::SampledAlike, "unchanged".to_owned()));
    assert_eq!(
        sampled_change(&many, &overlapping, &gates),
        (MetricChange::SampledAlike, "unchanged".to_owned())
    );
    // Medians far apart, ranks not: no proof in either direction.
    let (change, _) = sampled_change(&overlapping, &many, &gates);
    assert_eq!(change, MetricChange::SampledAlike);
    // Exact on one side only: still sampled, still the rank test.
    assert_eq!(sampled_change(&many, &[200; 8], &gates), (MetricChange::Worse, "worse".to_owned()));
}

#[test]
fn one_boot_a_side_proves_nothing() {
    let (change, _) = sampled_change(&[1], &[100], &[gate("t", "cost", 10)]);
    assert_eq!(change, MetricChange::CannotTell);
}

#[test]
fn time_does_not_gate_under_emulation() {
    for unit in [Unit::Micros, Unit::PerKilosecond] {
        let slow = |value| {
            let metric = Metric { name: "cost".to_owned(), value, unit, polarity: Polarity::Lower };
            test("t", vec![], vec![metric])
        };
        let boots = boots(2, &[slow(1)], &[slow(1000)]);
        let gates = [gate("t", "cost", 10)];
        assert_eq!(compare(&boots, &gates, true).tests[0].verdict, TestVerdict::Unchanged);
        assert_eq!(compare(&boots, &gates, true).tests[0].metrics[0].change, MetricChange::SampledApart);
        assert_eq!(compare(&boots, &gates, true).idle_gates, gates);
        assert_eq!(compare(&boots, &gates, false).tests[0].verdict, TestVerdict::Worse);
    }
}

#[test]
fn a_kernel_that_warns_is_broken_though_every_test_passes() {
    let mut boots = boots(2, &new_rule(), &new_rule());
    for boot in boots.iter_mut().filter(|boot| boot.side == Side::Patched) {
        boot.tainted = Some(1 << 9 | 1 << 12);
    }
    let comparison = compare(&boots, &gates(), true);
    let complaints = comparison.tests.last().unwrap();
    assert_eq!((complaints.name.as_str(), &complaints.verdict), (KERNEL_TEST, &TestVerdict::Broken));
    assert_eq!(complaints.checks[0].sides.patched.observed, "warning");
    assert_eq!(judge(&boots, &comparison).verdict, Verdict::Regressed);
}

#[test]
fn a_smaller_gap_is_better_though_the_check_still_fails() {
    let base = placement("3MiB", [1024, 8, 1, 1, 1, 64]);
    let patched = placement("3MiB", [512, 8, 1, 1, 1, 64]);
    let boots = boots(2, &[base], &[patched]);
    assert_eq!(compare(&boots, &gates(), true).tests[0].verdict, TestVerdict::Better);
}

#[test]
fn tables_at_the_ends_of_a_run_are_chance() {
    let verdict = |tables| {
        let base = placement("3MiB", [0, 1, 1, 1, 1, 48]);
        let patched = placement("3MiB", [0, 1, 1, 1, 1, tables]);
        compare(&boots(2, &[base], &[patched]), &gates(), true).tests[0].verdict.clone()
    };
    assert_eq!(verdict(60), TestVerdict::Changed);
    assert_eq!(verdict(64), TestVerdict::Worse);
}

fn any_test(name: &'static str) -> impl Strategy<Value = TestResult> {
    let outcome = prop_oneof![
        12 => Just(Outcome::Completed),
        1 => Just(Outcome::Crashed { how: "signal 11".to_owned() }),
        1 => Just(Outcome::NotApplicable { reason: "no THP".to_owned() }),
    ];
    (outcome, prop::collection::vec(any::<bool>(), 2), prop::collection::vec(0_i64..40, 2)).prop_map(
        move |(outcome, checks, values)| match outcome {
            Outcome::Completed => test(
                name,
                checks.iter().zip(["a", "b"]).map(|(passed, name)| check(name, *passed)).collect(),
                values.iter().zip(["cost", "fact"]).map(|(value, name)| metric(name, *value)).collect(),
            ),
            other => ended(name, other),
        },
    )
}

fn any_tests() -> impl Strategy<Value = Vec<TestResult>> {
    (any_test("t"), any_test("u"), any_test("v")).prop_map(|(t, u, v)| vec![t, u, v])
}

/// Boots of both sides, mostly alike within a side, sometimes with one that differs.
fn any_boots() -> impl Strategy<Value = Vec<BootRecord>> {
    let odd = prop::option::weighted(0.3, (0_usize..4, any_tests()));
    (any_tests(), any_tests(), odd).prop_map(|(base, patched, odd)| {
        let mut boots = boots(2, &base, &patched);
        if let Some((at, tests)) = odd {
            boots[at].tests = tests;
        }
        boots
    })
}

fn mirrored(verdict: &TestVerdict) -> TestVerdict {
    match verdict {
        TestVerdict::Broken => TestVerdict::Fixed,
        TestVerdict::Fixed => TestVerdict::Broken,
        TestVerdict::Worse => TestVerdict::Better,
        TestVerdict::Better => TestVerdict::Worse,
        TestVerdict::Crashed => TestVerdict::Recovered,
        TestVerdict::Recovered => TestVerdict::Crashed,
        other => other.clone(),
    }
}

proptest! {
    #[test]
    fn swapping_the_sides_mirrors_everything(boots in any_boots()) {
        let gates = [gate("*", "cost", 10)];
        let there = compare(&boots, &gates, true);
        let other = swapped(boots.clone());
        let back = compare(&other, &gates, true);
        for (a, b) in there.tests.iter().zip(&back.tests) {
            prop_assert_eq!(&a.name, &b.name);
            match (&a.verdict, &b.verdict) {
                // The one asymmetry, on purpose: harm beside something unclear is proven, a gain is not.
                (a, b) if a.is_inconclusive() => prop_assert!(b.is_inconclusive() || b.is_harm()),
                (a, b) if b.is_inconclusive() => prop_assert!(a.is_inconclusive() || a.is_harm()),
                (a, b) => prop_assert_eq!(mirrored(a), b.clone()),
            }
        }
        let unclear = there.tests.iter().chain(&back.tests).any(|test| test.verdict.is_inconclusive());
        let (there, back) = (judge(&boots, &there).verdict, judge(&other, &back).verdict);
        if !unclear {
            prop_assert_eq!(back, match there {
                Verdict::Improved => Verdict::Regressed,
                Verdict::Regressed => Verdict::Improved,
                same => same,
            });
        } else {
            prop_assert!(there != Verdict::Improved && back != Verdict::Improved);
        }
    }

    #[test]
    fn a_kernel_against_itself_is_unchanged(tests in any_tests()) {
        let boots = boots(2, &tests, &tests);
        let comparison = compare(&boots, &[gate("*", "cost", 1)], true);
        let ran = tests.iter().any(|test| test.outcome.is_completed());
        let expected = if ran { Verdict::Unchanged } else { Verdict::Inconclusive };
        prop_assert_eq!(judge(&boots, &comparison).verdict, expected);
        prop_assert!(comparison.tests.iter().all(|test| !test.verdict.is_harm() && !test.verdict.is_gain()));
    }

    #[test]
    fn noise_is_never_called_a_change(base in prop::collection::vec(0_i64..1000, 2..8), patched in prop::collection::vec(0_i64..1000, 2..8)) {
        prop_assume!(base.iter().any(|value| *value != base[0]));
        let boots = sampled(&base, &patched);
        let verdict = judge(&boots, &compare(&boots, &[gate("t", "cost", 1)], true)).verdict;
        prop_assert!(matches!(verdict, Verdict::Unchanged | Verdict::Inconclusive));
    }

    #[test]
    fn the_order_of_boots_is_irrelevant((boots, shuffled) in any_boots().prop_flat_map(|boots| (Just(boots.clone()), Just(boots).prop_shuffle()))) {
        let gates = [gate("*", "cost", 10)];
        let comparison = compare(&boots, &gates, true);
        prop_assert_eq!(&compare(&shuffled, &gates, true), &comparison);
        prop_assert_eq!(judge(&shuffled, &comparison).verdict, judge(&boots, &comparison).verdict);
    }
}

#[test]
fn old_and_new_rule_differ_where_the_table_says() {
    let comparison = compare(&boots(2, &old_rule(), &new_rule()), &gates(), true);
    let fixed: Vec<_> = comparison
        .tests
        .iter()
        .filter(|t| t.verdict == TestVerdict::Fixed)
        .map(|t| t.name.as_str())
        .collect();
    assert_eq!(fixed, ["placement/2052KiB", "placement/3MiB", "placement/4632KiB"]);
}

/// Boots of a test whose agreement has these values, base and patched.
fn agreeing(base: &[&str], patched: &[&str]) -> Vec<BootRecord> {
    let side = |side, values: &[&str]| -> Vec<BootRecord> {
        let one = |(i, value): (usize, &&str)| {
            let mut test = test("t", vec![], vec![]);
            test.agreements = vec![agreement("bits", value)];
            boot(side, u32::try_from(i).unwrap(), vec![test])
        };
        values.iter().enumerate().map(one).collect()
    };
    [side(Side::Base, base), side(Side::Patched, patched)].concat()
}

#[test]
fn what_must_agree_breaks_where_only_the_patched_kernel_disagrees() {
    let cases: [(&[&str], &[&str], CheckChange, &str); 8] = [
        (&["a", "a"], &["a", "a"], CheckChange::StillPassing, "still passing"),
        (&["a", "a"], &["b", "b"], CheckChange::Broken, "broken"),
        (&["a", "a"], &["b", "c"], CheckChange::Broken, "broken"),
        (&["a", "a"], &["a", "b"], CheckChange::Broken, "broken"),
        (&["a", "b"], &["a", "a"], CheckChange::Flaky, "inconclusive"),
        (&["a", "b"], &["c", "c"], CheckChange::Flaky, "inconclusive"),
        (&["a", "b"], &["a", "b"], CheckChange::Flaky, "inconclusive"),
        (&["a", "b"], &["c", "d"], CheckChange::Flaky, "inconclusive"),
    ];
    for (base, patched, change, verdict) in cases {
        let comparison = compare(&agreeing(base, patched), &[], true);
        assert_eq!(comparison.errors, Vec::<String>::new());
        let test = &comparison.tests[0];
        assert_eq!(
            (test.checks[0].change, test.verdict.to_string().as_str()),
            (change, verdict),
            "{base:?} {patched:?}"
        );
    }
}

#[test]
fn an_agreement_shows_the_values_shortened() {
    let (long, other) = ("0123456789abcdef", "fedcba9876543210");
    let comparison = compare(&agreeing(&[long, long], &[other, long]), &[], true);
    let check = &comparison.tests[0].checks[0];
    assert_eq!(check.promise, "bits do not depend on the kernel");
    assert_eq!(check.expected, "the same in every boot of both kernels");
    assert_eq!(check.sides.base.observed, "0123456789ab…");
    assert_eq!(check.sides.patched.observed, "fedcba987654…, 0123456789ab…");
    assert_eq!((check.sides.patched.passed, check.sides.patched.failed), (1, 1));
}

#[test]
fn an_agreement_that_is_not_in_every_boot_is_an_error() {
    let mut some = agreeing(&["a", "a"], &["a", "a"]);
    some[3].tests[0].agreements.clear();
    assert_eq!(compare(&some, &[], true).errors, ["t: the agreement bits is not in every boot"]);
    some[2].tests[0].agreements.clear();
    assert_eq!(compare(&some, &[], true).errors, ["t: the agreement bits is on one side only"]);
    let mut twice = agreeing(&["a", "a"], &["a", "a"]);
    let again = twice[0].tests[0].agreements.clone();
    twice[0].tests[0].agreements.extend(again);
    assert_eq!(compare(&twice, &[], true).errors, ["t: the agreement bits is there twice"]);
}

proptest! {
    #[test]
    fn the_order_of_boots_is_irrelevant_to_agreements(
        (boots, shuffled) in (prop::collection::vec("[ab]", 2..5), prop::collection::vec("[ab]", 2..5))
            .prop_map(|(base, patched)| {
                let borrowed = |values: &[String]| values.iter().map(|value| value.clone().leak() as &str).collect::<Vec<_>>();
                agreeing(&borrowed(&base), &borrowed(&patched))
            })
            .prop_flat_map(|boots| (Just(boots.clone()), Just(boots).prop_shuffle()))
    ) {
        prop_assert_eq!(compare(&shuffled, &[], true), compare(&boots, &[], true));
    }
}

/// A test that works, and the same test where its guard fails and it reports no numbers.
fn guarded() -> (TestResult, TestResult) {
    let mut works =
        test("t", vec![check("valid-detections", true), check("a", true)], vec![metric("cost", 1)]);
    works.agreements = vec![agreement("bits", "a")];
    let fails = test("t", vec![check("valid-detections", false), check("a", true)], vec![]);
    (works, fails)
}

#[test]
fn a_guard_that_fails_on_one_side_is_the_finding_and_not_the_numbers_it_guards() {
    let (works, fails) = guarded();
    assert_eq!(verdict_of(&works, &fails), "broken");
    assert_eq!(verdict_of(&fails, &works), "fixed");
    assert_eq!(verdict_of(&works, &works), "still passing");
    let boots = boots(2, from_ref(&works), from_ref(&fails));
    let comparison = compare(&boots, &[], true);
    assert_eq!(judge(&boots, &comparison).verdict, Verdict::Regressed);
    assert_eq!(comparison.tests[0].metrics, []);
}

#[test]
fn a_guard_that_fails_on_both_sides_lets_nothing_count() {
    let (mut works, mut fails) = guarded();
    assert_eq!(only(&fails, &fails).errors, Vec::<String>::new());
    let expected = "its numbers are not valid: valid-detections is promised, observed something else";
    let inconclusive = TestVerdict::Inconclusive { reason: expected.to_owned() };
    assert_eq!(only(&fails, &fails).tests[0].verdict, inconclusive);
    let boots = boots(2, from_ref(&fails), from_ref(&fails));
    assert_eq!(judge(&boots, &compare(&boots, &[], true)).verdict, Verdict::Inconclusive);
    // Numbers that are reported nevertheless do not count, whatever they say.
    works.checks[0] = fails.checks[0].clone();
    fails = works.clone();
    fails.metrics[0].value = 1000;
    fails.agreements[0].value = "b".to_owned();
    assert_eq!(only(&works, &fails).tests[0].verdict, inconclusive);
    fails.checks[0].observed = "nothing".to_owned();
    let reason = format!("{expected} (base), nothing (patched)");
    assert_eq!(only(&works, &fails).tests[0].verdict, TestVerdict::Inconclusive { reason });
}

#[test]
fn a_guard_that_boots_disagree_on_is_flaky_and_its_numbers_are_not_compared() {
    let (works, fails) = guarded();
    let mut some = boots(2, from_ref(&works), from_ref(&works));
    some[3].tests[0] = fails;
    let comparison = compare(&some, &[], true);
    assert_eq!(comparison.errors, Vec::<String>::new());
    assert_eq!(comparison.tests[0].checks[0].change, CheckChange::Flaky);
    assert!(comparison.tests[0].verdict.is_inconclusive() && comparison.tests[0].metrics.is_empty());
}

#[test]
fn only_a_guard_excuses_missing_numbers() {
    let (works, mut fails) = guarded();
    fails.checks[0].passed = true;
    fails.checks[1].passed = false;
    assert_eq!(
        only(&works, &fails).errors,
        ["t: the agreement bits is on one side only", "t: the metric cost is on one side only"]
    );
    // And it excuses its own side only.
    let (works, fails) = guarded();
    let mut some = boots(2, from_ref(&works), from_ref(&fails));
    some[0].tests[0].metrics.clear();
    assert_eq!(compare(&some, &[], true).errors, ["t: the metric cost is not in every boot"]);
}
