//! One run of a patch against its base: did the suite see what it should?

use std::collections::BTreeMap;

use mthp_judge::{
    compare::{Comparison, Pair, TestComparison, TestVerdict},
    verdict::{Judgement, Verdict},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::entry::Turn;

/// What one run saw.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// The verdict, as `test-kernel` would have given it.
    pub verdict: Verdict,
    /// Its reasons.
    pub reasons: Vec<String>,
    /// Whether it is what it should be.
    pub seen: Seen,
    /// What each test did, by name. A test that did nothing is not listed.
    pub cells: BTreeMap<String, Cell>,
}

/// Whether a run saw what it should.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Seen {
    /// A bug: every check that names it turned, in every boot that was planned.
    Caught,
    /// A bug: something turned, but not every check that names it.
    ByOthers {
        /// The named checks that did not turn.
        missing: Vec<String>,
    },
    /// A bug: nothing turned.
    Missed,
    /// Nothing can be said: the machinery failed, the base kernel did, or boots of one kernel disagree.
    Unclear {
        /// Why.
        why: String,
    },
    /// A harmless patch: the verdict is "unchanged".
    Quiet,
    /// A harmless patch: the verdict is another.
    FalseAlarm,
}

/// What one test did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Cell {
    /// A check of it that names the bug turned.
    Named,
    /// Something in it that decides turned, but no check that names the bug.
    Turned,
    /// Only facts that do not decide differ.
    Facts,
    /// It could not be told.
    Unclear,
}

impl Seen {
    /// Is it as it should be?
    #[must_use]
    pub fn is_right(&self) -> bool {
        matches!(self, Self::Caught | Self::Quiet)
    }
}

/// Looks at a run of a bug, whose checks `turns` names, of so many boots of each kernel.
#[must_use]
pub fn at_bug(turns: &[Turn], boots: usize, comparison: &Comparison, judgement: Judgement) -> Run {
    let missing: Vec<String> = turns
        .iter()
        .filter(|turn| !turned(comparison, turn))
        .map(|turn| format!("{}: {}", turn.test, turn.check))
        .collect();
    let whole = comparison.completed == Pair { base: boots, patched: boots };
    let seen = match judgement.verdict {
        Verdict::Inconclusive | Verdict::MachineryFailed => unclear(&judgement),
        Verdict::Unchanged => Seen::Missed,
        _ if missing.is_empty() && whole => Seen::Caught,
        _ => Seen::ByOthers { missing },
    };
    run(turns, comparison, judgement, seen)
}

/// Looks at a run of a patch that changes nothing.
#[must_use]
pub fn at_harmless(comparison: &Comparison, judgement: Judgement) -> Run {
    let seen = match judgement.verdict {
        Verdict::Unchanged => Seen::Quiet,
        Verdict::Inconclusive | Verdict::MachineryFailed => unclear(&judgement),
        _ => Seen::FalseAlarm,
    };
    run(&[], comparison, judgement, seen)
}

fn unclear(judgement: &Judgement) -> Seen {
    Seen::Unclear { why: format!("{}: {}", judgement.verdict, judgement.reasons.join("; ")) }
}

fn run(turns: &[Turn], comparison: &Comparison, judgement: Judgement, seen: Seen) -> Run {
    let cells = comparison
        .tests
        .iter()
        .filter_map(|test| Some((test.name.clone(), cell(turns, comparison, test)?)))
        .collect();
    Run { verdict: judgement.verdict, reasons: judgement.reasons, seen, cells }
}

fn cell(turns: &[Turn], comparison: &Comparison, test: &TestComparison) -> Option<Cell> {
    if turns.iter().any(|turn| turn.test == test.name && turned(comparison, turn)) {
        return Some(Cell::Named);
    }
    match &test.verdict {
        verdict if verdict.is_harm() || verdict.is_gain() => Some(Cell::Turned),
        verdict if verdict.is_inconclusive() => Some(Cell::Unclear),
        TestVerdict::Changed => Some(Cell::Facts),
        _ => None,
    }
}

fn turned(comparison: &Comparison, turn: &Turn) -> bool {
    comparison
        .tests
        .iter()
        .filter(|test| test.name == turn.test)
        .flat_map(|test| &test.checks)
        .any(|check| check.name == turn.check && check.change == turn.to.change())
}

#[cfg(test)]
mod tests {
    use mthp_judge::{compare::compare, verdict::judge};
    use mthp_record::{
        boot::{BootOutcome, BootRecord, Phase, Side},
        result::{Check, Metric, Outcome, Polarity, TestResult, Unit},
    };

    use super::*;
    use crate::{corpus::entry::To, sample::boot};

    fn boots(base: &[TestResult], patched: &[TestResult]) -> Vec<BootRecord> {
        (0..2)
            .flat_map(|index| {
                [boot(Side::Base, index, base.to_vec()), boot(Side::Patched, index, patched.to_vec())]
            })
            .collect()
    }

    fn test(name: &str, passed: bool, value: i64) -> TestResult {
        TestResult {
            name: name.to_owned(),
            outcome: Outcome::Completed,
            checks: vec![Check {
                name: "promise".to_owned(),
                promise: "it holds".to_owned(),
                passed,
                observed: passed.to_string(),
                expected: "true".to_owned(),
            }],
            metrics: vec![Metric {
                name: "count".to_owned(),
                value,
                unit: Unit::Count,
                polarity: Polarity::Neutral,
            }],
            agreements: Vec::new(),
            evidence: BTreeMap::new(),
        }
    }

    fn turn(test: &str) -> Turn {
        Turn { test: test.to_owned(), check: "promise".to_owned(), to: To::Fails }
    }

    fn look(turns: &[Turn], base: &[TestResult], patched: &[TestResult]) -> Run {
        let boots = boots(base, patched);
        let comparison = compare(&boots, &[], true);
        let judgement = judge(&boots, &comparison);
        if turns.is_empty() {
            at_harmless(&comparison, judgement)
        } else {
            at_bug(turns, 2, &comparison, judgement)
        }
    }

    #[test]
    fn a_bug_is_caught_by_its_own_check_or_by_others_or_missed() {
        let good = [test("a/1", true, 1), test("b/1", true, 1)];
        let run = look(&[turn("a/1")], &good, &[test("a/1", false, 1), test("b/1", true, 2)]);
        assert_eq!(run.seen, Seen::Caught);
        assert_eq!(run.cells.get("a/1"), Some(&Cell::Named));
        assert_eq!(run.cells.get("b/1"), Some(&Cell::Facts));
        let run = look(&[turn("a/1")], &good, &[test("a/1", true, 1), test("b/1", false, 1)]);
        assert_eq!(run.seen, Seen::ByOthers { missing: vec!["a/1: promise".to_owned()] });
        assert_eq!(run.cells.get("b/1"), Some(&Cell::Turned));
        let run = look(&[turn("a/1")], &good, &good);
        assert_eq!(run.seen, Seen::Missed);
        assert!(run.cells.is_empty());
    }

    #[test]
    fn a_bug_in_the_base_is_caught_when_its_check_holds_with_the_patch() {
        let cured = Turn { to: To::Holds, ..turn("a/1") };
        let run = look(std::slice::from_ref(&cured), &[test("a/1", false, 1)], &[test("a/1", true, 1)]);
        assert_eq!(run.seen, Seen::Caught);
        let run = look(&[cured], &[test("a/1", true, 1)], &[test("a/1", false, 1)]);
        assert!(matches!(run.seen, Seen::ByOthers { .. }));
    }

    #[test]
    fn a_harmless_patch_is_quiet_only_when_nothing_that_decides_differs() {
        let good = [test("a/1", true, 1)];
        assert_eq!(look(&[], &good, &good).seen, Seen::Quiet);
        assert_eq!(look(&[], &good, &[test("a/1", true, 2)]).seen, Seen::Quiet);
        assert_eq!(look(&[], &good, &[test("a/1", false, 1)]).seen, Seen::FalseAlarm);
    }

    #[test]
    fn a_run_that_tells_nothing_is_no_pass_for_either() {
        let good = [test("a/1", true, 1)];
        let mut failed = boots(&good, &[test("a/1", false, 1)]);
        for boot in &mut failed {
            boot.outcome = BootOutcome::QemuFailed { message: "gone".to_owned() };
        }
        let comparison = compare(&failed, &[], true);
        let run = at_bug(&[turn("a/1")], 2, &comparison, judge(&failed, &comparison));
        assert!(matches!(run.seen, Seen::Unclear { .. }) && !run.seen.is_right());
        let run = at_harmless(&comparison, judge(&failed, &comparison));
        assert!(matches!(run.seen, Seen::Unclear { .. }) && !run.seen.is_right());
    }

    #[test]
    fn a_bug_that_keeps_a_boot_from_its_end_is_not_caught_by_its_check() {
        let mut boots = boots(&[test("a/1", true, 1)], &[test("a/1", false, 1)]);
        boots[3].outcome = BootOutcome::SilentHang { phase: Phase::Boot, after_secs: 60 };
        let comparison = compare(&boots, &[], true);
        let run = at_bug(&[turn("a/1")], 2, &comparison, judge(&boots, &comparison));
        assert_eq!(run.seen, Seen::ByOthers { missing: Vec::new() });
    }
}
