use mthp_record::{
    boot::{BootOutcome, BootRecord, KernelFailure, Side},
    result::{Check, Outcome, TestResult},
};
use proptest::prelude::*;

use super::*;
use crate::{
    report::{SuiteRecord, Unjudged},
    sample,
};

fn patched(boots: &mut [BootRecord]) -> impl Iterator<Item = &mut BootRecord> {
    boots.iter_mut().filter(|boot| boot.side == Side::Patched)
}

fn report(boots: &[BootRecord]) -> Report {
    sample::report(boots, &sample::gates())
}

/// Every way in which a test can end.
pub(crate) fn every_ending() -> Report {
    let mut boots = sample::demonstration();
    for (at, boot) in boots.iter_mut().enumerate() {
        let (odd, with_patch) = (at / 2 == 1, boot.side == Side::Patched);
        let crash = Outcome::TimedOut { after_secs: 60 };
        let crashed = |when: bool| if when { crash.clone() } else { Outcome::Completed };
        let guard = |passed| vec![sample::check("valid-numbers", passed), sample::check("holds", true)];
        let more = [
            sample::test("t/flaky", vec![sample::check("holds", odd)], vec![]),
            sample::test("t/broken", vec![sample::check("holds", !with_patch)], vec![]),
            sample::test("t/guarded", guard(false), vec![]),
            sample::ended("t/crashes", crashed(with_patch)),
            sample::ended("t/recovers", crashed(!with_patch)),
            sample::ended("t/still-crashes", crash),
            sample::ended("t/errs", Outcome::Error { message: "mmap: # SKIP ENOMEM".to_owned() }),
        ];
        boot.tests.extend(more);
        if with_patch {
            boot.tests.push(sample::test("t/one-side", vec![], vec![]));
        }
        boot.announced = boot.tests.iter().map(|test| test.name.clone()).collect();
    }
    report(&boots)
}

pub(crate) fn a_panic() -> Report {
    let mut boots = sample::demonstration();
    for boot in patched(&mut boots) {
        let line = "Kernel panic - not syncing: <init> & \x1b[31mco. #1 SMP".to_owned();
        boot.outcome = BootOutcome::KernelFailed { failure: KernelFailure::Panic, line };
        boot.tests.clear();
    }
    report(&boots)
}

pub(crate) fn unfinished() -> Report {
    let suite = SuiteRecord { name: "alignment".to_owned(), sha256: "00".to_owned() };
    Report::unfinished("0.1.0", "2025-01-01T00:00:00Z", suite)
}

pub(crate) fn empty() -> Report {
    let mut report = unfinished();
    report.give_up(Unjudged::Empty, "nothing to do in shard 9/9: the suite has 3 tests");
    report
}

fn ending<'a>(groups: &'a [Group], group: &str, case: &str) -> &'a Ending {
    let cases = &groups.iter().find(|it| it.name == group).unwrap().cases;
    &cases.iter().find(|it| it.name == case).unwrap().ending
}

fn word(ending: &Ending) -> &'static str {
    match ending {
        Ending::Passed => "passed",
        Ending::Failed(_) => "failed",
        Ending::Undecided(_) => "undecided",
        Ending::Skipped(_) => "skipped",
    }
}

#[test]
fn each_kind_of_test_ends_as_the_table_says() {
    let groups = of(&every_ending());
    let expected = [
        ("placement/2052KiB", "neighbours-merge", "passed"),
        ("placement/2052KiB", "cost:gap-kib", "passed"),
        ("shared/3MiB", "gapped", "skipped"),
        ("mthp/32kB", "completes", "skipped"),
        ("t/flaky", "holds", "undecided"),
        ("t/broken", "completes", "passed"),
        ("t/broken", "holds", "failed"),
        ("t/guarded", "completes", "passed"),
        ("t/guarded", "valid-numbers", "undecided"),
        ("t/guarded", "holds", "skipped"),
        ("t/crashes", "completes", "failed"),
        ("t/recovers", "completes", "passed"),
        ("t/still-crashes", "completes", "skipped"),
        ("t/errs", "completes", "undecided"),
        ("t/one-side", "completes", "undecided"),
        ("verdict", "alignment", "undecided"),
    ];
    for (group, case, how) in expected {
        assert_eq!(word(ending(&groups, group, case)), how, "{group} {case}");
    }
}

#[test]
fn a_cost_that_got_worse_is_a_failure_with_both_values() {
    let groups = of(&report(&sample::swapped(sample::demonstration())));
    let test = groups.iter().find(|group| group.name == "placement/2052KiB").unwrap();
    let cost = test.cases.iter().find(|case| case.name == "cost:gap-kib").unwrap();
    assert_eq!(word(&cost.ending), "failed");
    assert!(cost.details.contains(&"base: 0".to_owned()), "{cost:?}");
    assert!(cost.details.contains(&"patched: 2044".to_owned()), "{cost:?}");
}

#[test]
fn the_verdict_never_looks_green_without_a_result() {
    let verdict = |report: &Report| word(&of(report)[0].cases[0].ending);
    let alike = sample::boots(2, &sample::new_rule(), &sample::new_rule());
    assert_eq!(verdict(&report(&alike)), "passed");
    assert_eq!(verdict(&report(&sample::demonstration())), "passed");
    assert_eq!(verdict(&report(&sample::swapped(sample::demonstration()))), "failed");
    assert_eq!(verdict(&a_panic()), "failed");
    assert_eq!(verdict(&report(&[])), "undecided");
    assert_eq!(verdict(&unfinished()), "undecided");
    assert_eq!(verdict(&empty()), "skipped");
    for why in [Unjudged::Interrupted, Unjudged::Refused, Unjudged::Failed] {
        let mut report = unfinished();
        report.give_up(why, "the reason");
        // Whatever verdict such a report may hold.
        report.verdict = Verdict::Improved;
        assert_eq!(verdict(&report), "undecided", "{why:?}");
    }
}

/// What a guest may say to confuse whoever reads it.
fn hostile() -> impl Strategy<Value = String> {
    let nasty = [
        "",
        " ",
        "-",
        "- x",
        "# SKIP no",
        "x # SKIP no",
        " # TODO",
        "\nok 1 x",
        "\n  KTAP version 1\n  1..1\n",
        "KTAP version 1",
        "1..0 # SKIP",
        "Bail out!",
        "not ok 1 x",
        "]]>",
        "<![CDATA[",
        "<a b='\">&amp;",
        "&#0;",
        "\u{0}",
        "\x1b[31mred\x1b]0;t\x07",
        "\u{fffe}\u{ffff}",
        "\u{2028}",
        "\u{85}",
        "\r\n",
        "\u{202e}",
        "# Subtest: x",
        "\u{9b}31m",
        "\\# x",
        "7 x",
    ];
    let nasty = proptest::sample::select(nasty.to_vec()).prop_map(str::to_owned);
    let piece = prop_oneof![nasty, any::<String>()];
    proptest::collection::vec(piece, 0..4).prop_map(|pieces| pieces.concat())
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        4 => Just(Outcome::Completed),
        1 => hostile().prop_map(|reason| Outcome::NotApplicable { reason }),
        1 => hostile().prop_map(|how| Outcome::Crashed { how }),
        1 => hostile().prop_map(|message| Outcome::Error { message }),
    ]
}

fn check() -> impl Strategy<Value = Check> {
    let name = prop_oneof![hostile(), hostile().prop_map(|name| format!("valid-{name}"))];
    (name, hostile(), any::<bool>(), hostile(), hostile()).prop_map(
        |(name, promise, passed, observed, expected)| Check { name, promise, passed, observed, expected },
    )
}

fn results() -> impl Strategy<Value = Vec<TestResult>> {
    let test = (hostile(), outcome(), proptest::collection::vec(check(), 0..3), 0..3_i64).prop_map(
        |(name, outcome, checks, value)| TestResult {
            outcome,
            ..sample::test(&name, checks, vec![sample::metric("gap-kib", value * 1000)])
        },
    );
    proptest::collection::vec(test, 0..5)
}

/// Reports of guests that say anything: mostly the same tests on both sides, with ends and checks of their own.
pub(crate) fn reports() -> impl Strategy<Value = Report> {
    (results(), results(), any::<Vec<bool>>(), hostile(), any::<bool>()).prop_map(
        |(tests, other, turns, said, differ)| {
            let mut turned = if differ { other } else { tests.clone() };
            for (check, turn) in turned.iter_mut().flat_map(|test| &mut test.checks).zip(turns) {
                check.passed ^= turn;
            }
            let gate = Gate { test: "*".to_owned(), except: Vec::new(), ..sample::gates().remove(0) };
            let gate = Gate { metric: "gap-kib".to_owned(), ..gate };
            let mut report = sample::report(&sample::boots(2, &tests, &turned), &[gate]);
            report.suite.name.clone_from(&said);
            report.notes.push(said);
            report
        },
    )
}

proptest! {
    #[test]
    fn a_test_fails_where_its_verdict_is_harm_and_errs_where_it_cannot_be_told(report in reports()) {
        let groups = of(&report);
        let tests = &report.comparison.as_ref().unwrap().tests;
        prop_assert_eq!(groups.len(), tests.len() + 1);
        for (group, test) in groups.iter().skip(1).zip(tests) {
            let any = |how| group.cases.iter().any(|case| word(&case.ending) == how);
            prop_assert_eq!(any("failed"), test.verdict.is_harm(), "{:?} {:?}", group, test);
            prop_assert!(!test.verdict.is_inconclusive() || any("undecided"), "{:?} {:?}", group, test);
        }
    }

    #[test]
    fn texts_are_lines_that_are_not_empty(report in reports()) {
        for group in of(&report) {
            for case in &group.cases {
                for text in case.details.iter().chain([&group.name, &case.name]) {
                    prop_assert!(!text.trim().is_empty());
                    let bad = |c: char| c.is_control() || "\u{2028}\u{2029}\u{fffe}\u{ffff}".contains(c);
                    prop_assert!(!text.contains(bad), "{text:?}");
                }
            }
        }
    }
}
