//! What all boots of one side say of a test.

use mthp_record::{
    boot::{BootRecord, Side},
    result::{Check, GUARD, Outcome, TestResult},
};

use super::types::{
    CheckChange, CheckComparison, CheckState, Pair, SideOutcome, TestComparison, TestVerdict,
};

/// The completed boots of a side, by index.
pub(super) struct Runs<'a> {
    side: Side,
    boots: Vec<&'a BootRecord>,
}

impl<'a> Runs<'a> {
    pub(super) fn of(boots: &'a [BootRecord], side: Side) -> Self {
        let mut boots: Vec<_> =
            boots.iter().filter(|boot| boot.side == side && boot.outcome.is_completed()).collect();
        boots.sort_by_key(|boot| boot.index);
        Self { side, boots }
    }

    pub(super) fn len(&self) -> usize {
        self.boots.len()
    }

    /// Every test that a boot announced or ran, in the order of the boots.
    pub(super) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for boot in &self.boots {
            for name in boot.announced.iter().chain(boot.tests.iter().map(|test| &test.name)) {
                if !names.contains(name) {
                    names.push(name.clone());
                }
            }
        }
        names
    }

    /// The test's result in each boot that has one.
    pub(super) fn results(&self, name: &str) -> Vec<&'a TestResult> {
        self.boots.iter().flat_map(|boot| &boot.tests).filter(|test| test.name == name).collect()
    }

    /// Those of them whose numbers count: all checks named [`GUARD`]… hold.
    pub(super) fn valid(&self, name: &str) -> Vec<&'a TestResult> {
        let broken = |check: &Check| check.name.starts_with(GUARD) && !check.passed;
        self.results(name).into_iter().filter(|result| !result.checks.iter().any(broken)).collect()
    }

    /// Are there results of it whose numbers do not count?
    pub(super) fn is_guarded(&self, name: &str) -> bool {
        self.valid(name).len() < self.results(name).len()
    }

    /// How the test ended on this side.
    pub(super) fn outcome(&self, name: &str, errors: &mut Vec<String>) -> SideOutcome {
        let results = self.results(name);
        let Some(first) = results.first() else {
            if self.boots.iter().any(|boot| boot.announced.iter().any(|announced| announced == name)) {
                errors.push(format!("{name}: announced but without a result on the {} side", self.side));
            }
            return SideOutcome::Absent;
        };
        if self.boots.iter().any(|boot| boot.tests.iter().filter(|test| test.name == name).count() != 1) {
            errors.push(format!("{name}: not exactly one result in every boot of the {} side", self.side));
            return SideOutcome::Absent;
        }
        let first = ended(&first.outcome);
        if results.iter().any(|result| !same_kind(&ended(&result.outcome), &first)) {
            let outcomes = results.iter().map(|result| ended(&result.outcome).to_string()).collect();
            return SideOutcome::Flaky { outcomes };
        }
        first
    }
}

fn ended(outcome: &Outcome) -> SideOutcome {
    match outcome {
        Outcome::Completed => SideOutcome::Completed,
        Outcome::NotApplicable { reason } => SideOutcome::NotApplicable { reason: reason.clone() },
        Outcome::Crashed { how } => SideOutcome::Crashed { how: how.clone() },
        Outcome::TimedOut { after_secs } => {
            SideOutcome::Crashed { how: format!("not done after {after_secs} s") }
        }
        Outcome::Error { message } => SideOutcome::Error { message: message.clone() },
    }
}

fn same_kind(a: &SideOutcome, b: &SideOutcome) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

/// Taint flags by which the kernel says that something went wrong inside it (kernel.org: "Tainted kernels").
const COMPLAINTS: [(u32, &str); 5] =
    [(4, "machine check"), (5, "bad page"), (7, "oops"), (9, "warning"), (14, "soft lockup")];

/// A kernel that warns (`WARN_ON`, "BUG: Bad page state") boots on and passes every test. Its taint flags
/// tell, so they are a check of their own, made up only where some boot complains.
pub(super) fn complaints(runs: &Pair<Runs<'_>>) -> Option<TestComparison> {
    let sides = runs.map(|side| {
        let complaints: Vec<String> = side.boots.iter().map(|boot| said(boot.tainted.unwrap_or(0))).collect();
        let failed = complaints.iter().filter(|said| !said.is_empty()).count();
        CheckState {
            passed: complaints.len() - failed,
            failed,
            observed: complaints
                .into_iter()
                .find(|said| !said.is_empty())
                .unwrap_or_else(|| "nothing".to_owned()),
        }
    });
    (sides.base.failed + sides.patched.failed > 0).then(|| TestComparison {
        name: super::KERNEL_TEST.to_owned(),
        verdict: TestVerdict::Unchanged,
        faulty: false,
        outcomes: Pair { base: SideOutcome::Completed, patched: SideOutcome::Completed },
        checks: vec![CheckComparison {
            name: "no-complaints".to_owned(),
            promise: "the kernel finds no fault with itself (taint flags; the console has its words)"
                .to_owned(),
            expected: "nothing".to_owned(),
            change: change(&sides),
            sides,
        }],
        metrics: Vec::new(),
    })
}

/// What taint flags say the kernel found wrong with itself; empty where it found nothing.
#[must_use]
pub fn said(tainted: u64) -> String {
    let said: Vec<_> =
        COMPLAINTS.iter().filter(|(bit, _)| tainted >> bit & 1 == 1).map(|(_, name)| *name).collect();
    said.join(", ")
}

/// What became of a check that stands so on the two sides.
pub(super) fn change(sides: &Pair<CheckState>) -> CheckChange {
    match (sides.base.held(), sides.patched.held()) {
        (Some(true), Some(false)) => CheckChange::Broken,
        (Some(false), Some(true)) => CheckChange::Fixed,
        (Some(true), Some(true)) => CheckChange::StillPassing,
        (Some(false), Some(false)) => CheckChange::StillFailing,
        _ => CheckChange::Flaky,
    }
}
