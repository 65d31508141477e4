//! One verdict over everything.
//!
//! The order of the questions matters; the first that has an answer gives the verdict:
//!
//! 1. *Did the machinery work?* QEMU, the result stream or the user ended a boot: [`Verdict::MachineryFailed`].
//!    Nothing is said about the patch.
//! 2. *Does the base kernel work?* Without it there is nothing to compare with.
//!    - No base boot completed and some patched boot failed too: the cause is what both share (the config, the
//!      source, the machine), so it is the machinery that failed, exit code 69.
//!    - Otherwise the patched kernel works where the base does not, or the base works sometimes. That may well be what
//!      the patch is for, but no value of the base is there to prove that nothing else got worse:
//!      [`Verdict::Inconclusive`], exit code 3.
//! 3. *Does the patched kernel work?* A boot of it failed by the kernel's own fault while all base boots
//!    completed: [`Verdict::PatchedKernelFailed`].
//! 4. *Is there enough to compare?* Fewer than two completed boots a side, not one test that ran to its end on either
//!    side, or nothing in those tests to compare: [`Verdict::Inconclusive`].
//! 5. *Do both sides speak of the same things?* Any of [`Comparison::errors`]: [`Verdict::Inconclusive`].
//! 6. *What do the tests say?* Harm and gain: [`Verdict::Mixed`]; harm: [`Verdict::Regressed`], whatever else
//!    could not be told. Any test that could not be told: [`Verdict::Inconclusive`]. Gain:
//!    [`Verdict::Improved`]. Otherwise [`Verdict::Unchanged`].

use mthp_record::boot::{BootOutcome, BootRecord, Side};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    compare::{Comparison, KERNEL_TEST, SideOutcome, TestComparison, TestVerdict},
    suite::MIN_BOOTS,
    text,
};

/// What a run says of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Something declared got worse and nothing got better.
    Regressed,
    /// Something declared got better and nothing got worse.
    Improved,
    /// Both.
    Mixed,
    /// Nothing that is declared differs.
    Unchanged,
    /// The run cannot tell.
    Inconclusive,
    /// The patched kernel crashed or hung; the base did not.
    PatchedKernelFailed,
    /// The run did not test the patch.
    MachineryFailed,
}

impl Verdict {
    const NAMES: [(Self, &'static str); 7] = [
        (Self::Regressed, "regressed"),
        (Self::Improved, "improved"),
        (Self::Mixed, "mixed"),
        (Self::Unchanged, "unchanged"),
        (Self::Inconclusive, "inconclusive"),
        (Self::PatchedKernelFailed, "patched-kernel-failed"),
        (Self::MachineryFailed, "machinery-failed"),
    ];
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = Self::NAMES.iter().find(|(verdict, _)| verdict == self).map_or("", |(_, name)| name);
        f.pad(name)
    }
}

/// The verdict that `--expect` asserts. [`Verdict::MachineryFailed`] cannot be expected: such a run is no test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expectation(Verdict);

impl Expectation {
    /// The names that `--expect` takes.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Verdict::NAMES
            .iter()
            .filter(|(verdict, _)| *verdict != Verdict::MachineryFailed)
            .map(|(_, name)| *name)
    }

    /// Is `verdict` the expected one?
    #[must_use]
    pub fn met_by(self, verdict: Verdict) -> bool {
        self.0 == verdict
    }
}

impl std::fmt::Display for Expectation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl std::str::FromStr for Expectation {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        Verdict::NAMES
            .iter()
            .find(|(verdict, known)| *known == name && *verdict != Verdict::MachineryFailed)
            .map(|(verdict, _)| Self(*verdict))
            .ok_or_else(|| format!("not a verdict; one of {}", Self::names().collect::<Vec<_>>().join(", ")))
    }
}

/// A verdict and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judgement {
    /// The verdict.
    pub verdict: Verdict,
    /// Why, the most important first; never empty.
    pub reasons: Vec<String>,
}

/// Judges a run from its boots and their comparison. See the module for the order of the questions.
#[must_use]
pub fn judge(boots: &[BootRecord], comparison: &Comparison) -> Judgement {
    from_boots(boots).or_else(|| too_little(comparison)).unwrap_or_else(|| from_tests(comparison))
}

fn from_boots(boots: &[BootRecord]) -> Option<Judgement> {
    let machinery =
        boots.iter().find(|boot| !boot.outcome.is_completed() && !boot.outcome.is_kernels_fault());
    if let Some(boot) = machinery {
        return judgement(Verdict::MachineryFailed, [text::boot_failure(boot)]);
    }
    let failed = |side: Side| -> Vec<&BootRecord> {
        boots.iter().filter(|boot| boot.side == side && boot.outcome.is_kernels_fault()).collect()
    };
    let completed = |side: Side| {
        boots.iter().filter(|boot| boot.side == side && boot.outcome == BootOutcome::Completed).count()
    };
    let (base, patched) = (failed(Side::Base), failed(Side::Patched));
    let told = |boots: &[&BootRecord]| boots.iter().map(|boot| text::boot_failure(boot)).collect::<Vec<_>>();
    if !base.is_empty() {
        let nothing_boots = completed(Side::Base) == 0 && !patched.is_empty();
        let (verdict, reason) = if nothing_boots {
            (
                Verdict::MachineryFailed,
                "neither kernel gets through a boot: the cause is what both share, not the patch",
            )
        } else if completed(Side::Base) > 0 {
            (Verdict::Inconclusive, "the base kernel fails in some boots: nothing can be laid to the patch")
        } else {
            (
                Verdict::Inconclusive,
                "the base kernel fails and the patched one does not: there is nothing to compare with",
            )
        };
        return judgement(verdict, [vec![reason.to_owned()], told(&base), told(&patched)].concat());
    }
    if !patched.is_empty() {
        let all = boots.iter().filter(|boot| boot.side == Side::Patched).count();
        let reason = format!(
            "the patched kernel failed in {} of {all} boots, the base in none of {}",
            patched.len(),
            completed(Side::Base)
        );
        return judgement(Verdict::PatchedKernelFailed, [vec![reason], told(&patched)].concat());
    }
    None
}

/// A verdict over nothing must be impossible.
fn too_little(comparison: &Comparison) -> Option<Judgement> {
    let n = comparison.completed;
    let least = usize::try_from(MIN_BOOTS).unwrap_or(usize::MAX);
    if n.base.min(n.patched) < least {
        let reason = format!(
            "{} base and {} patched boots completed; it takes {least} a side to know what repeats",
            n.base, n.patched
        );
        return judgement(Verdict::Inconclusive, [reason]);
    }
    if !comparison.errors.is_empty() {
        let reason = format!("{} cannot be compared", text::count(comparison.errors.len(), "result"));
        return judgement(Verdict::Inconclusive, [vec![reason], comparison.errors.clone()].concat());
    }
    let ran = |test: &&TestComparison| {
        test.name != KERNEL_TEST && test.outcomes.any(|outcome| *outcome == SideOutcome::Completed)
    };
    let Some(_) = comparison.tests.iter().find(ran) else {
        return judgement(
            Verdict::Inconclusive,
            ["no test ran to its end: there is nothing to judge".to_owned()],
        );
    };
    let facts = |test: &&TestComparison| {
        !test.checks.is_empty()
            || !test.metrics.is_empty()
            || test.verdict.is_harm()
            || test.verdict.is_gain()
    };
    if !comparison.tests.iter().filter(ran).any(|test| facts(&test)) {
        return judgement(
            Verdict::Inconclusive,
            ["the tests that ran yielded no check and no metric".to_owned()],
        );
    }
    None
}

fn from_tests(comparison: &Comparison) -> Judgement {
    let tests = &comparison.tests;
    let harm = tests.iter().any(|test| test.verdict.is_harm());
    let gain = tests.iter().any(|test| test.verdict.is_gain());
    let unclear = tests.iter().any(|test| test.verdict.is_inconclusive());
    let verdict = match (harm, gain, unclear) {
        (true, true, _) => Verdict::Mixed,
        (true, false, _) => Verdict::Regressed,
        (false, _, true) => Verdict::Inconclusive,
        (false, true, false) => Verdict::Improved,
        (false, false, false) => Verdict::Unchanged,
    };
    let mut reasons = vec![text::tally(comparison)];
    let changed = tests.iter().filter(|test| test.verdict == TestVerdict::Changed).count();
    if changed > 0 {
        reasons.push(format!("{} changed in facts that do not decide", text::count(changed, "test")));
    }
    for test in tests {
        if let TestVerdict::Inconclusive { reason } = &test.verdict {
            reasons.push(format!("{}: {reason}", test.name));
        }
    }
    Judgement { verdict, reasons }
}

#[expect(clippy::unnecessary_wraps, reason = "each question answers with an option")]
fn judgement(verdict: Verdict, reasons: impl IntoIterator<Item = String>) -> Option<Judgement> {
    Some(Judgement { verdict, reasons: reasons.into_iter().collect() })
}

#[cfg(test)]
mod tests;
