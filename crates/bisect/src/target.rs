//! The one thing that is followed through a history, and what a revision's boots say of it.
//!
//! A bisection judges nothing else. A revision that fails otherwise (it hangs, another test takes the kernel down,
//! the test cannot do its work) says nothing of the target, so it is skipped with its reason: taken for bad, it would
//! lead to the wrong commit.

use std::fmt;

use mthp_judge::{
    compare::{KERNEL_TEST, complaints_of},
    suite::Gate,
    text,
};
use mthp_record::{
    boot::{BootOutcome, BootRecord},
    result::{GUARD, Outcome, TestResult},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{finding::Finding, signature::Signature};

/// What differs between the good and the bad end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Target {
    /// A check holds at the good end and fails at the bad one.
    Check {
        /// Its test.
        test: String,
        /// Its name.
        check: String,
    },
    /// All checks of a test hold at the good end; at the bad one some fail.
    AllChecks {
        /// The test.
        test: String,
    },
    /// A declared cost is worse at the bad end, by its floor or more.
    Cost {
        /// Its test.
        test: String,
        /// What rules it: the metric (its name, where the suite's gate has a pattern), the direction, the floor.
        gate: Gate,
        /// Its value at the good end.
        good: i64,
    },
    /// What every kernel must give alike has another value at the bad end.
    Agreement {
        /// Its test.
        test: String,
        /// Its name.
        agreement: String,
        /// Its value at the good end.
        good: String,
    },
    /// A test's process dies or never ends at the bad end, in every boot in the same way.
    Crash {
        /// The test.
        test: String,
        /// How it ends.
        how: String,
    },
    /// The kernel finds fault with itself at the bad end (its taint flags), in every boot alike.
    Complaints {
        /// What it finds.
        said: String,
    },
    /// The kernel itself fails at the bad end, in every boot in the same way.
    Kernel {
        /// In what way.
        signature: Signature,
    },
}

impl Target {
    /// The test to run in order to see it; `None` where the whole selection has to run.
    #[must_use]
    pub fn test(&self) -> Option<&str> {
        match self {
            Self::Complaints { .. } => None,
            Self::Check { test, .. }
            | Self::AllChecks { test }
            | Self::Cost { test, .. }
            | Self::Agreement { test, .. }
            | Self::Crash { test, .. } => Some(test),
            Self::Kernel { signature } => signature.test(),
        }
    }

    /// The name of its check, metric or agreement, if it is one.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self {
            Self::Check { check, .. } => Some(check),
            Self::Cost { gate, .. } => Some(&gate.metric),
            Self::Agreement { agreement, .. } => Some(agreement),
            Self::AllChecks { .. } | Self::Crash { .. } | Self::Complaints { .. } | Self::Kernel { .. } => {
                None
            }
        }
    }

    /// What names it among all others: `TEST:NAME`, or the test, or `kernel`.
    #[must_use]
    pub fn label(&self) -> String {
        match (self.test(), self.name()) {
            (Some(test), Some(name)) => format!("{test}:{name}"),
            (Some(test), None) => test.to_owned(),
            (None, _) if matches!(self, Self::Complaints { .. }) => KERNEL_TEST.to_owned(),
            (None, _) => "kernel".to_owned(),
        }
    }

    /// Is it the same thing, whatever the value at the good end was?
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Kernel { signature }, Self::Kernel { signature: its }) => signature == its,
            (Self::Complaints { said }, Self::Complaints { said: its }) => said == its,
            (Self::Crash { test, how }, Self::Crash { test: its, how: its_how }) => {
                (test, how) == (its, its_how)
            }
            _ => {
                std::mem::discriminant(self) == std::mem::discriminant(other)
                    && (self.test(), self.name()) == (other.test(), other.name())
            }
        }
    }

    /// What one boot says of it; `Err` where it says nothing of the kernel.
    ///
    /// # Errors
    /// [`Broken`] when the machinery failed.
    fn in_boot(&self, boot: &BootRecord) -> Result<Finding, Broken> {
        match &boot.outcome {
            BootOutcome::Completed => Ok(self.in_completed(boot)),
            BootOutcome::QemuFailed { .. } | BootOutcome::NotFinished | BootOutcome::Interrupted => {
                Err(Broken { why: text::boot_failure(boot) })
            }
            BootOutcome::KernelFailed { .. }
            | BootOutcome::SilentHang { .. }
            | BootOutcome::EndedEarly { .. }
            | BootOutcome::BadStream { .. } => Ok(match self {
                Self::Kernel { signature } if Signature::of(boot).as_ref() == Some(signature) => Finding::Bad,
                _ => Finding::skipped(text::boot_failure(boot)),
            }),
        }
    }

    fn in_completed(&self, boot: &BootRecord) -> Finding {
        match self {
            Self::Kernel { .. } => Finding::Good,
            Self::Complaints { said } => {
                let found = complaints_of(boot.tainted.unwrap_or(0));
                match found.is_empty() {
                    true => Finding::Good,
                    false if found == *said => Finding::Bad,
                    false => Finding::skipped(format!("the kernel finds another fault with itself: {found}")),
                }
            }
            Self::Check { test, .. }
            | Self::AllChecks { test }
            | Self::Cost { test, .. }
            | Self::Agreement { test, .. }
            | Self::Crash { test, .. } => match boot.tests.iter().find(|result| result.name == *test) {
                Some(result) => self.in_test(result),
                None => Finding::skipped(format!("it has no test {test}")),
            },
        }
    }

    fn in_test(&self, result: &TestResult) -> Finding {
        let crash = match self {
            Self::Crash { how, .. } => Some(how),
            _ => None,
        };
        match &result.outcome {
            Outcome::Completed if crash.is_some() => Finding::Good,
            Outcome::Completed => self.in_values(result),
            outcome if crash.is_some() && crash == ending(outcome).as_ref() => Finding::Bad,
            Outcome::Crashed { how } => Finding::skipped(format!("{} crashed ({how})", result.name)),
            Outcome::TimedOut { after_secs } => {
                Finding::skipped(format!("{} was not done after {after_secs} s", result.name))
            }
            Outcome::NotApplicable { reason } => {
                Finding::skipped(format!("{} is not applicable: {reason}", result.name))
            }
            Outcome::Error { message } => {
                Finding::skipped(format!("{} could not do its work: {message}", result.name))
            }
        }
    }

    fn in_values(&self, result: &TestResult) -> Finding {
        let guard = result.checks.iter().find(|check| check.name.starts_with(GUARD) && !check.passed);
        let missing =
            |what: &str, name: &str| Finding::skipped(format!("{} has no {what} {name} there", result.name));
        match (self, guard) {
            (Self::Check { check, .. }, _) => match result.checks.iter().find(|one| one.name == *check) {
                Some(one) => Finding::of(one.passed),
                None => missing("check", check),
            },
            (Self::AllChecks { .. }, _) if result.checks.is_empty() => {
                Finding::skipped(format!("{} has no check there", result.name))
            }
            (Self::AllChecks { .. }, _) => Finding::of(result.checks.iter().all(|check| check.passed)),
            (Self::Cost { .. } | Self::Agreement { .. }, Some(guard)) => {
                Finding::skipped(format!("the numbers of {} are not valid: {}", result.name, guard.promise))
            }
            (Self::Cost { gate, good, .. }, None) => {
                match result.metrics.iter().find(|metric| metric.name == gate.metric) {
                    Some(metric) => Finding::of(gate.gain(*good, metric.value) > gate.floor.saturating_neg()),
                    None => missing("metric", &gate.metric),
                }
            }
            (Self::Agreement { agreement, good, .. }, None) => {
                match result.agreements.iter().find(|one| one.name == *agreement) {
                    Some(one) => Finding::of(one.value == *good),
                    None => missing("agreement", agreement),
                }
            }
            // Both were answered before.
            (Self::Crash { .. } | Self::Complaints { .. } | Self::Kernel { .. }, _) => Finding::Good,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Check { test, check } => write!(f, "{test}: {check}"),
            Self::AllChecks { test } => write!(f, "{test}: all its checks"),
            Self::Cost { test, gate, good } => {
                write!(f, "{test}: {} worse than {good} by {} or more", gate.metric, gate.floor)
            }
            Self::Agreement { test, agreement, .. } => write!(f, "{test}: {agreement} as at the good end"),
            Self::Crash { test, how } => write!(f, "{test}: comes to its end ({})", text::clean(how)),
            Self::Complaints { said } => {
                write!(f, "the kernel finds no fault with itself ({})", text::clean(said))
            }
            Self::Kernel { signature } => write!(f, "the kernel: no {signature}"),
        }
    }
}

/// How a test's process died, in words that are the same in every boot; `None` if it did not.
pub(crate) fn ending(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Crashed { how } => Some(how.clone()),
        Outcome::TimedOut { .. } => Some("not done in time".to_owned()),
        Outcome::Completed | Outcome::NotApplicable { .. } | Outcome::Error { .. } => None,
    }
}

/// The machinery failed: nothing is said of the revision, and the bisection must stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// What failed.
    pub why: String,
}

impl fmt::Display for Broken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to boot a revision: {}", self.why)
    }
}

impl std::error::Error for Broken {}

/// What all boots of one revision say of the target together. Boots that disagree say nothing.
///
/// # Errors
/// [`Broken`] when the machinery failed in one of them, or there is none.
pub fn judge(target: &Target, boots: &[BootRecord]) -> Result<Finding, Broken> {
    let mut findings = Vec::new();
    for boot in boots {
        findings.push(target.in_boot(boot)?);
    }
    let good = findings.iter().filter(|finding| **finding == Finding::Good).count();
    let bad = findings.iter().filter(|finding| **finding == Finding::Bad).count();
    if good > 0 && bad > 0 {
        return Ok(Finding::skipped(format!("it is flaky there: good in {good} of {} boots", boots.len())));
    }
    match findings.into_iter().find(|finding| matches!(finding, Finding::Skipped { .. })) {
        Some(skipped) => Ok(skipped),
        None if good > 0 => Ok(Finding::Good),
        None if bad > 0 => Ok(Finding::Bad),
        None => Err(Broken { why: "there was no boot".to_owned() }),
    }
}

#[cfg(test)]
mod tests;
