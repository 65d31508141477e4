//! A report as cases that pass, fail, cannot tell or are skipped: what JUnit and KTAP have in common.
//!
//! | in the report | case | JUnit | KTAP |
//! |---|---|---|---|
//! | verdict regressed, mixed, patched-kernel-failed | `verdict`/SUITE | failure | `not ok` |
//! | verdict inconclusive, machinery-failed; a run that is not complete | `verdict`/SUITE | error | `not ok # ERROR` |
//! | verdict improved, unchanged | `verdict`/SUITE | passed | `ok` |
//! | a shard without a test | `verdict`/SUITE | skipped | `ok # SKIP` |
//! | a test that crashed or ran out of time with the patch only | TEST/`completes` | failure | `not ok` |
//! | that was not applicable on both sides, or crashed without the patch too | TEST/`completes` | skipped | `ok # SKIP` |
//! | that ended in another way, or whose results cannot be compared | TEST/`completes` | error | `not ok # ERROR` |
//! | a check (or agreement) that broke | TEST/CHECK | failure | `not ok` |
//! | that is flaky, or a `valid-` guard that fails on both sides | TEST/CHECK | error | `not ok # ERROR` |
//! | that failed without the patch too | TEST/CHECK | skipped | `ok # SKIP` |
//! | what else a guard that fails on both sides makes worthless | TEST/… | skipped | `ok # SKIP` |
//! | that holds with the patch in every boot | TEST/CHECK | passed | `ok` |
//! | a gated metric that got worse | TEST/`cost:`METRIC | failure | `not ok` |
//! | of which too few boots tell | TEST/`cost:`METRIC | error | `not ok # ERROR` |
//! | that is better, the same, or moved by less than its floor | TEST/`cost:`METRIC | passed | `ok` |
//!
//! A check that fails on both sides is skipped, not passed and not failed: it is not the patch's fault, and it is not
//! well. Metrics without a gate decide nothing and are no cases. The verdict is a case of its own, so that no run
//! without a result looks green, whatever its tests say; and a failure (an error) of a test is harm (doubt) in its
//! [`TestVerdict`] too.

use mthp_record::result::GUARD;

use crate::{
    compare::{
        CheckChange, CheckComparison, Comparison, MetricChange, MetricComparison, SideOutcome,
        TestComparison, TestVerdict,
    },
    report::{Report, Status},
    suite::Gate,
    terminal,
    text::{clean, values},
    verdict::Verdict,
};

/// Cases of one test, or the verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// The test's name. One line that is not empty, as every text here.
    pub name: String,
    /// Never empty.
    pub cases: Vec<Case>,
}

/// One thing that passes or does not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Case {
    /// Unique in its group for a guest that keeps to the rules.
    pub name: String,
    pub ending: Ending,
    /// What was promised and seen. Each begins with a word of ours, never with a guest's.
    pub details: Vec<String>,
}

/// How a case ended; where it did not pass, why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    Passed,
    /// Harm.
    Failed(String),
    /// It cannot be told.
    Undecided(String),
    /// Not applicable, or not the patch's fault.
    Skipped(String),
}

/// The whole report, the verdict first.
pub(crate) fn of(report: &Report) -> Vec<Group> {
    let mut groups = vec![Group { name: "verdict".to_owned(), cases: vec![verdict(report)] }];
    if let Some(comparison) = &report.comparison {
        groups.extend(comparison.tests.iter().map(|test| of_test(test, comparison)));
    }
    groups
}

fn verdict(report: &Report) -> Case {
    let first = report.reasons.first().map(String::as_str).unwrap_or_default();
    let why = line(&format!("{}: {first}", report.verdict));
    let ending = match (report.status, report.verdict) {
        (Status::Empty, _) => Ending::Skipped(line(first)),
        (Status::Complete, Verdict::Improved | Verdict::Unchanged) => Ending::Passed,
        (Status::Complete, Verdict::Regressed | Verdict::Mixed | Verdict::PatchedKernelFailed) => {
            Ending::Failed(why)
        }
        _ => Ending::Undecided(why),
    };
    let reasons = report.reasons.iter().map(|reason| detail("reason", reason));
    let notes = report.notes.iter().map(|note| detail("note", note));
    let kernels = [("base", &report.base), ("patched", &report.patched)].into_iter();
    let kernels = kernels.filter_map(|(side, kernel)| Some(detail(side, &terminal::short(kernel.as_ref()?))));
    let guests = report.accelerator.iter().map(|it| detail("guests", &format!("{} ({})", it.kind, it.why)));
    let details = reasons.chain(notes).chain(kernels).chain(guests).collect();
    Case { name: line(&report.suite.name), ending, details }
}

fn of_test(test: &TestComparison, comparison: &Comparison) -> Group {
    let is_guard =
        |check: &CheckComparison| check.name.starts_with(GUARD) && check.change == CheckChange::StillFailing;
    let worthless = test.checks.iter().any(is_guard);
    let mut cases = vec![completes(test, comparison)];
    cases.extend(test.checks.iter().map(|check| of_check(check, is_guard(check))));
    cases.extend(test.metrics.iter().filter_map(|metric| Some(of_metric(metric, metric.gate.as_ref()?))));
    if worthless {
        for case in cases.iter_mut().skip(1).filter(|case| !matches!(case.ending, Ending::Undecided(_))) {
            case.ending = Ending::Skipped("the numbers of this test are not valid".to_owned());
        }
    }
    Group { name: line(&test.name), cases }
}

fn completes(test: &TestComparison, comparison: &Comparison) -> Case {
    let errors: Vec<&String> = comparison
        .errors
        .iter()
        .filter(|error| error.strip_prefix(&test.name).is_some_and(|rest| rest.starts_with(": ")))
        .collect();
    let completed = !test.outcomes.any(|outcome| *outcome != SideOutcome::Completed);
    let ending = match &test.verdict {
        TestVerdict::Crashed => Ending::Failed("it crashes with the patch, and not without it".to_owned()),
        TestVerdict::StillCrashing => Ending::Skipped("it crashes without the patch too".to_owned()),
        TestVerdict::NotApplicable { reason } => Ending::Skipped(line(&format!("not applicable: {reason}"))),
        _ if test.faulty => Ending::Undecided("its results cannot be compared".to_owned()),
        TestVerdict::Inconclusive { reason } if !completed => Ending::Undecided(line(reason)),
        _ => Ending::Passed,
    };
    let mut details: Vec<String> = errors.iter().map(|error| detail("error", error)).collect();
    if !completed {
        details.push(detail("base", &test.outcomes.base.to_string()));
        details.push(detail("patched", &test.outcomes.patched.to_string()));
    }
    Case { name: "completes".to_owned(), ending, details }
}

fn of_check(check: &CheckComparison, is_failing_guard: bool) -> Case {
    let boots = check.sides.map(|side| format!("{} of {}", side.passed, side.passed + side.failed));
    let ending = match check.change {
        CheckChange::Broken => Ending::Failed("it holds without the patch and fails with it".to_owned()),
        CheckChange::Flaky => Ending::Undecided(format!(
            "flaky: it held in {} base and {} patched boots",
            boots.base, boots.patched
        )),
        CheckChange::StillFailing if is_failing_guard => {
            Ending::Undecided("it fails on both kernels: the numbers of this test are not valid".to_owned())
        }
        CheckChange::StillFailing => Ending::Skipped("it fails without the patch too".to_owned()),
        CheckChange::Fixed | CheckChange::StillPassing => Ending::Passed,
    };
    let details = if check.change == CheckChange::StillPassing {
        Vec::new()
    } else {
        vec![
            detail("promise", &check.promise),
            detail("expected", &check.expected),
            detail("base", &check.sides.base.observed),
            detail("patched", &check.sides.patched.observed),
        ]
    };
    Case { name: line(&check.name), ending, details }
}

fn of_metric(metric: &MetricComparison, gate: &Gate) -> Case {
    let ending = match metric.change {
        MetricChange::Worse => Ending::Failed("a declared cost got worse".to_owned()),
        MetricChange::CannotTell => {
            Ending::Undecided("it varies between boots, and there are too few to tell".to_owned())
        }
        MetricChange::Same
        | MetricChange::Moved
        | MetricChange::Better
        | MetricChange::SampledAlike
        | MetricChange::SampledApart => Ending::Passed,
    };
    let same = matches!(metric.change, MetricChange::Same | MetricChange::SampledAlike);
    let details = if same {
        Vec::new()
    } else {
        vec![
            detail("cost", &gate.reason),
            detail("base", &values(&metric.sides.base)),
            detail("patched", &values(&metric.sides.patched)),
        ]
    };
    Case { name: format!("cost:{}", line(&metric.name)), ending, details }
}

fn detail(what: &str, said: &str) -> String {
    format!("{what}: {}", line(said))
}

/// One line of characters that every format allows; never empty.
pub(crate) fn line(text: &str) -> String {
    // XML 1.0 forbids these two, and no control character is left.
    let text = clean(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}");
    let text = text.trim();
    if text.is_empty() { "(empty)".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
pub(crate) mod tests;
