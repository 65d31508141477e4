use std::slice::from_ref;

use mthp_record::{
    boot::{BootOutcome, KernelFailure, Phase},
    result::Outcome,
};

use super::*;
use crate::{
    compare::compare,
    sample::{boots, check, ended, new_rule, test},
};

fn panicked() -> BootOutcome {
    BootOutcome::KernelFailed { failure: KernelFailure::Panic, line: "Kernel panic - not syncing".to_owned() }
}

/// Two boots a side, base 0, patched 0, base 1, patched 1, with these outcomes.
fn judged(outcomes: [BootOutcome; 4]) -> Judgement {
    let mut boots = boots(2, &new_rule(), &new_rule());
    for (boot, outcome) in boots.iter_mut().zip(outcomes) {
        boot.outcome = outcome;
    }
    judge(&boots, &compare(&boots, &[], true))
}

#[test]
fn what_failed_boots_mean() {
    use BootOutcome::{Completed, Interrupted, NotFinished};
    let hang = BootOutcome::SilentHang { phase: Phase::Boot, after_secs: 60 };
    let left = BootOutcome::EndedEarly { phase: Phase::Test("t".to_owned()) };
    let stream = BootOutcome::BadStream { problem: "garbage".to_owned() };
    let qemu = BootOutcome::QemuFailed { message: "exit status 1".to_owned() };
    let cases = [
        ([Completed, Completed, Completed, Completed], Verdict::Unchanged),
        ([Completed, panicked(), Completed, panicked()], Verdict::PatchedKernelFailed),
        ([Completed, Completed, Completed, hang.clone()], Verdict::PatchedKernelFailed),
        ([Completed, left, Completed, Completed], Verdict::PatchedKernelFailed),
        ([panicked(), panicked(), panicked(), panicked()], Verdict::MachineryFailed),
        ([panicked(), Completed, panicked(), Completed], Verdict::Inconclusive),
        ([hang, Completed, Completed, Completed], Verdict::Inconclusive),
        ([panicked(), panicked(), Completed, panicked()], Verdict::Inconclusive),
        ([Completed, stream, Completed, Completed], Verdict::MachineryFailed),
        ([Completed, panicked(), qemu, panicked()], Verdict::MachineryFailed),
        ([Completed, Completed, Completed, NotFinished], Verdict::MachineryFailed),
        ([Completed, Completed, Interrupted, NotFinished], Verdict::MachineryFailed),
    ];
    for (outcomes, expected) in cases {
        let judgement = judged(outcomes.clone());
        assert_eq!(judgement.verdict, expected, "{outcomes:?}: {judgement:?}");
        assert!(!judgement.reasons.is_empty());
    }
}

#[test]
fn the_reason_names_the_boot_and_its_console() {
    let judgement =
        judged([BootOutcome::Completed, panicked(), BootOutcome::Completed, BootOutcome::Completed]);
    assert_eq!(
        judgement.reasons,
        [
            "the patched kernel failed in 1 of 2 boots, the base in none of 2",
            "patched boot 0: kernel panic: Kernel panic - not syncing (patched-0.console)"
        ]
    );
}

#[test]
fn a_verdict_over_nothing_is_impossible() {
    let missing = ended("t", Outcome::NotApplicable { reason: "no THP".to_owned() });
    let empty = test("t", vec![], vec![]);
    let one = test("t", vec![check("a", true)], vec![]);
    let cases = [
        boots(0, &[], &[]),
        boots(2, &[], &[]),
        boots(2, from_ref(&missing), from_ref(&missing)),
        boots(2, from_ref(&empty), from_ref(&empty)),
        boots(1, from_ref(&one), from_ref(&one)),
    ];
    for boots in cases {
        let judgement = judge(&boots, &compare(&boots, &[], true));
        assert_eq!(judgement.verdict, Verdict::Inconclusive, "{judgement:?}");
    }
}

#[test]
fn a_kernel_that_taints_itself_does_not_stand_in_for_a_test() {
    let mut boots = boots(2, &[], &[]);
    boots.iter_mut().for_each(|boot| boot.tainted = Some(1 << 9));
    assert_eq!(judge(&boots, &compare(&boots, &[], true)).verdict, Verdict::Inconclusive);
}

#[test]
fn a_verdict_is_expected_by_its_name() {
    for name in Expectation::names() {
        assert_eq!(name.parse::<Expectation>().unwrap().to_string(), name);
    }
    assert!("machinery-failed".parse::<Expectation>().is_err());
    assert_eq!(
        "better".parse::<Expectation>().unwrap_err(),
        "not a verdict; one of regressed, improved, mixed, unchanged, inconclusive, patched-kernel-failed"
    );
}

#[test]
fn names_match_the_report() {
    for (verdict, name) in Verdict::NAMES {
        assert_eq!(serde_json::to_value(verdict).unwrap(), name);
    }
}
