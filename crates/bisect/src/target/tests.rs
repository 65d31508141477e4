use mthp_judge::suite::Direction;
use mthp_record::boot::{BootOutcome, Side};

use super::*;
use crate::sample::{boot, ended, hung, panicked, test};

fn check() -> Target {
    Target::Check { test: "t/a".to_owned(), check: "touch".to_owned() }
}

fn cost(good: i64) -> Target {
    let gate = Gate {
        test: "t/*".to_owned(),
        except: Vec::new(),
        except_metrics: Vec::new(),
        metric: "gap-kib".to_owned(),
        polarity: Direction::Lower,
        floor: 4,
        reason: "a hole".to_owned(),
    };
    Target::Cost { test: "t/a".to_owned(), gate, good }
}

fn say(target: &Target, boots: &[BootRecord]) -> String {
    judge(target, boots).unwrap().to_string()
}

fn one(result: TestResult) -> Vec<BootRecord> {
    vec![boot(Side::Patched, vec![test("t/other", false, 9), result])]
}

#[test]
fn a_check_is_good_or_bad_and_everything_else_is_skipped() {
    let crashed = Outcome::Crashed { how: "signal 9".to_owned() };
    let missing = Outcome::NotApplicable { reason: "no swap".to_owned() };
    for (boots, expected) in [
        (one(test("t/a", true, 0)), "good"),
        (one(test("t/a", false, 0)), "bad"),
        (one(ended("t/a", crashed)), "skipped: t/a crashed (signal 9)"),
        (one(ended("t/a", missing)), "skipped: t/a is not applicable: no swap"),
        (one(ended("t/a", Outcome::TimedOut { after_secs: 9 })), "skipped: t/a was not done after 9 s"),
        (one(test("t/b", true, 0)), "skipped: it has no test t/a"),
        (one(ended("t/a", Outcome::Completed)), "skipped: t/a has no check touch there"),
    ] {
        assert_eq!(say(&check(), &boots), expected);
    }
}

#[test]
fn a_hang_and_a_foreign_crash_are_never_bad() {
    let hang = say(&check(), &[hung(Side::Patched, "t/a")]);
    assert!(hang.starts_with("skipped: patched boot 0: silent hang in t/a"), "{hang}");
    let panic = say(&check(), &[panicked(Side::Patched, &["t/other"], "Kernel panic - not syncing: x")]);
    assert!(panic.starts_with("skipped: patched boot 0: kernel panic"), "{panic}");
    let ended = BootOutcome::EndedEarly { phase: mthp_record::boot::Phase::Boot };
    let left = BootRecord { outcome: ended, ..boot(Side::Patched, Vec::new()) };
    assert!(say(&check(), &[left]).starts_with("skipped: patched boot 0: the guest left"));
}

#[test]
fn where_the_machinery_fails_nothing_is_said() {
    let failed = BootOutcome::QemuFailed { message: "no memory".to_owned() };
    let boots = [BootRecord { outcome: failed, ..boot(Side::Patched, Vec::new()) }];
    assert!(judge(&check(), &boots).unwrap_err().to_string().contains("no memory"));
    assert!(judge(&check(), &[]).is_err());
}

#[test]
fn boots_that_disagree_say_nothing() {
    let boots = [one(test("t/a", true, 0)), one(test("t/a", false, 0))].concat();
    assert_eq!(say(&check(), &boots), "skipped: it is flaky there: good in 1 of 2 boots");
    let hang = [one(test("t/a", true, 0)), vec![hung(Side::Patched, "t/b")]].concat();
    assert!(say(&check(), &hang).starts_with("skipped: "), "a boot that hung takes the other's word away");
}

#[test]
fn a_cost_is_bad_from_its_floor_on() {
    for (value, expected) in [(100, "good"), (103, "good"), (104, "bad"), (50, "good"), (i64::MAX, "bad")] {
        assert_eq!(say(&cost(100), &one(test("t/a", true, value))), expected, "{value}");
    }
    let mut guarded = test("t/a", true, 500);
    guarded.checks[0].name = "valid-place".to_owned();
    guarded.checks[0].passed = false;
    assert!(say(&cost(100), &one(guarded)).starts_with("skipped: the numbers of t/a are not valid"));
}

#[test]
fn an_agreement_is_bad_with_any_other_value() {
    let target =
        Target::Agreement { test: "t/a".to_owned(), agreement: "bits".to_owned(), good: "ab".to_owned() };
    assert_eq!(say(&target, &one(test("t/a", true, 0))), "good");
    let mut other = test("t/a", true, 0);
    other.agreements[0].value = "cd".to_owned();
    assert_eq!(say(&target, &one(other)), "bad");
}

#[test]
fn a_crash_that_is_followed_is_bad_and_an_error_is_not() {
    let target = Target::Crash { test: "t/a".to_owned(), how: "x".to_owned() };
    assert_eq!(say(&target, &one(ended("t/a", Outcome::Crashed { how: "x".to_owned() }))), "bad");
    let foreign = say(&target, &one(ended("t/a", Outcome::TimedOut { after_secs: 1 })));
    assert!(foreign.starts_with("skipped"), "another way to end: {foreign}");
    assert_eq!(say(&target, &one(test("t/a", false, 0))), "good");
    assert!(
        say(&target, &one(ended("t/a", Outcome::Error { message: "x".to_owned() }))).starts_with("skipped")
    );
}

#[test]
fn a_kernels_failure_is_bad_only_in_its_own_way() {
    let bug = "kernel BUG at mm/mremap.c:100!";
    let at_good = panicked(Side::Patched, &["t/a"], bug);
    let target = Target::Kernel { signature: Signature::of(&at_good).unwrap() };
    let moved = panicked(Side::Patched, &["t/a"], "kernel BUG at mm/mremap.c:123!");
    assert_eq!(say(&target, &[moved]), "bad", "line numbers move with every revision");
    let elsewhere = panicked(Side::Patched, &["t/b"], bug);
    assert!(say(&target, &[elsewhere]).starts_with("skipped"));
    let other = panicked(Side::Patched, &["t/a"], "kernel BUG at mm/mmap.c:100!");
    assert!(say(&target, &[other]).starts_with("skipped"));
    assert_eq!(say(&target, &one(test("t/a", false, 0))), "good");
}

#[test]
fn the_kernels_complaints_are_followed_by_their_taint() {
    let target = Target::Complaints { said: "warning".to_owned() };
    assert_eq!(target.test(), None, "no test alone shows it");
    let mut warned = one(test("t/a", true, 0));
    assert_eq!(say(&target, &warned), "good");
    warned[0].tainted = Some(1 << 9);
    assert_eq!(say(&target, &warned), "bad");
    warned[0].tainted = Some(1 << 5);
    assert!(say(&target, &warned).starts_with("skipped"), "another fault");
}
