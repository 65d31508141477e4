use mthp_record::{
    boot::{BootOutcome, Phase},
    message::Snapshot,
    result::{Check, Outcome as TestOutcome},
};
use mthp_store::run::{Run, Series};

use super::*;

fn test(name: &str, passed: bool) -> TestResult {
    let check = Check {
        name: "touch".to_owned(),
        promise: "neighbours touch".to_owned(),
        passed,
        observed: String::new(),
        expected: String::new(),
    };
    TestResult {
        name: name.to_owned(),
        outcome: TestOutcome::Completed,
        checks: vec![check],
        metrics: Vec::new(),
        agreements: Vec::new(),
        evidence: Default::default(),
    }
}

/// Two boots of the head, as a run stores them.
fn boots(tests: &[TestResult]) -> Vec<BootRecord> {
    let boot = |index| BootRecord {
        side: Side::Patched,
        index,
        outcome: BootOutcome::Completed,
        identity: None,
        announced: tests.iter().map(|test| test.name.clone()).collect(),
        tests: tests.to_vec(),
        before: Snapshot::default(),
        after: Snapshot::default(),
        tainted: Some(0),
        console: String::new(),
        qemu_command: Vec::new(),
        boot_millis: None,
        total_millis: 1,
    };
    vec![boot(0), boot(1)]
}

fn baseline(boots: Vec<BootRecord>) -> Baseline {
    let text = String::new;
    let series = Series { tree: text(), branch: text(), host: text(), accelerator: text(), suite: text() };
    let run = Run {
        series,
        created: text(),
        revision: Revision { commit: text(), subject: text(), committed: text(), position: None },
        suite_sha256: text(),
        image_sha256: None,
        tool_version: text(),
        outcome: Outcome::Good,
        report: text(),
        build_millis: None,
        boots_millis: None,
    };
    // Only a store numbers runs.
    let mut run = serde_json::to_value(run).unwrap();
    run["id"] = 1.into();
    let run = serde_json::from_value(run).unwrap();
    Baseline { run, boots }
}

fn judged(before: &[TestResult], head: &[BootRecord]) -> (Outcome, usize, Option<String>) {
    let suite = include_str!("../../../../../configs/suites/alignment.toml");
    let suite = Suite::parse(suite).unwrap();
    let heads = Heads::of(&baseline(boots(before)), head, &suite, "tcg");
    let (outcome, targets) = heads.judged().unwrap();
    (outcome, targets.len(), heads.notes())
}

#[test]
fn what_is_as_before_or_better_is_good() {
    let (holds, fails) = ([test("t/a", true)], [test("t/a", false)]);
    assert_eq!(judged(&holds, &boots(&holds)).0, Outcome::Good);
    assert_eq!(judged(&fails, &boots(&fails)).0, Outcome::Good);
    assert_eq!(judged(&fails, &boots(&holds)).0, Outcome::Good);
}

#[test]
fn what_is_worse_in_every_boot_can_be_bisected() {
    let (outcome, targets, _) = judged(&[test("t/a", true)], &boots(&[test("t/a", false)]));
    assert!(matches!(outcome, Outcome::Regressed { reason } if reason.contains("t/a: touch")));
    assert_eq!(targets, 1);
}

#[test]
fn what_is_worse_now_and_then_is_not_judged() {
    let mut head = boots(&[test("t/a", true)]);
    head[1].tests[0].checks[0].passed = false;
    let (outcome, targets, _) = judged(&[test("t/a", true)], &head);
    assert!(matches!(outcome, Outcome::Unjudged { .. }), "{outcome:?}");
    assert_eq!(targets, 0);
}

#[test]
fn a_test_that_is_new_is_told_and_does_not_keep_a_night_from_being_good() {
    let head = boots(&[test("t/a", true), test("t/new", false)]);
    let (outcome, targets, note) = judged(&[test("t/a", true), test("t/gone", true)], &head);
    assert_eq!((outcome, targets), (Outcome::Good, 0));
    assert!(note.unwrap().ends_with("t/gone, t/new"));
}

#[test]
fn a_check_that_is_new_does_not_keep_a_night_from_being_judged() {
    let mut now = test("t/a", true);
    now.checks.push(Check { name: "new".to_owned(), ..now.checks[0].clone() });
    let (outcome, _, note) = judged(&[test("t/a", true)], &boots(&[now]));
    assert_eq!(outcome, Outcome::Good);
    assert!(note.unwrap().ends_with("t/a:new"));
}

#[test]
fn a_gain_hides_no_flaky_check_and_no_test_in_common_is_no_good_night() {
    let before = [test("t/a", true), test("t/b", false)];
    let mut head = boots(&[test("t/a", true), test("t/b", true)]);
    head[1].tests[0].checks[0].passed = false;
    assert!(matches!(judged(&before, &head).0, Outcome::Unjudged { .. }));
    let (outcome, ..) = judged(&[test("t/a", true)], &boots(&[test("t/b", true)]));
    assert!(matches!(outcome, Outcome::Unjudged { .. }), "{outcome:?}");
}

#[test]
fn a_first_run_whose_boots_disagree_is_told() {
    let mut first = boots(&[test("t/a", true)]);
    assert_eq!(disagreement(&first), None);
    first[1].tests[0].checks[0].passed = false;
    assert!(disagreement(&first).is_some_and(|what| what.contains("t/a:touch")));
}

#[test]
fn a_head_that_fails_in_some_boots_has_failed_and_one_that_always_does_can_be_bisected() {
    let hang = BootOutcome::SilentHang { phase: Phase::Test("t/a".to_owned()), after_secs: 60 };
    let mut head = boots(&[test("t/a", true)]);
    head[0].outcome = hang.clone();
    assert!(matches!(judged(&[test("t/a", true)], &head), (Outcome::Failed { .. }, 0, _)));
    head[1].outcome = hang;
    assert!(matches!(judged(&[test("t/a", true)], &head), (Outcome::Regressed { .. }, 1, _)));
}
