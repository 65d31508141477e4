//! The two ends, before anything else: do they work, do they differ, and in what?
//!
//! A bisection between ends that do not differ, or differ only now and then, or the other way round, would end at
//! some commit all the same. So it is refused, with what was seen.

use std::fmt;

use mthp_judge::{
    compare::{
        CheckChange, CheckComparison, Comparison, KERNEL_TEST, MetricChange, Pair, TestComparison,
        TestVerdict, Values, compare, complaints_of,
    },
    suite::Gate,
    text,
};
use mthp_record::{
    boot::{BootRecord, Side},
    result::GUARD,
};

use crate::{
    signature::Signature,
    target::{Broken, Target, ending},
};

/// Why two ends cannot be bisected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Nothing that decides differs.
    Alike {
        /// What does not differ.
        what: String,
    },
    /// What differs is better at the bad end.
    Swapped {
        /// What is.
        what: Vec<String>,
    },
    /// It differs in some boots only.
    Flaky {
        /// What does, and how often.
        what: Vec<String>,
    },
    /// An end does not work, so nothing can be seen there.
    Unusable {
        /// Why.
        why: String,
    },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list = |names: &[String]| text::list(names.iter().map(String::as_str), 5);
        match self {
            Self::Alike { what } => {
                write!(f, "failed to find a difference between the good and the bad end: {what}")
            }
            Self::Swapped { what } => write!(
                f,
                "failed to use the ends: what differs is better at the bad end ({}); are --good and --bad swapped?",
                list(what)
            ),
            Self::Flaky { what } => write!(
                f,
                "failed to find a difference that every boot shows, so a bisection would end anywhere: {}",
                list(what)
            ),
            Self::Unusable { why } => write!(f, "failed to use the ends: {why}"),
        }
    }
}

impl std::error::Error for Refusal {}

/// What came of looking at the ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ends {
    /// What holds in every boot of the good end and fails in every boot of the bad one: checks, then costs, then
    /// crashes; at least one.
    Differ(Vec<Target>),
    /// They cannot be bisected.
    Refused(Refusal),
}

/// Looks at the boots of the good end ([`Side::Base`]) and of the bad one ([`Side::Patched`]).
///
/// # Errors
/// [`Broken`] when the machinery failed in one of the boots.
pub fn look(boots: &[BootRecord], gates: &[Gate], emulated: bool) -> Result<Ends, Broken> {
    let machinery =
        boots.iter().find(|boot| !boot.outcome.is_completed() && !boot.outcome.is_kernels_fault());
    if let Some(boot) = machinery {
        return Err(Broken { why: text::boot_failure(boot) });
    }
    let sides = Pair { base: Side::Base, patched: Side::Patched }
        .map(|side| boots.iter().filter(|boot| boot.side == *side).collect::<Vec<_>>());
    let failed = |boots: &[&BootRecord]| -> Vec<String> {
        boots
            .iter()
            .filter(|boot| !boot.outcome.is_completed())
            .map(|boot| text::boot_failure(boot))
            .collect()
    };
    let (good, bad) = (failed(&sides.base), failed(&sides.patched));
    if let Some(first) = good.first() {
        let why = format!("the good end fails in {} of {} boots: {first}", good.len(), sides.base.len());
        return Ok(Ends::Refused(match bad.is_empty() {
            true => Refusal::Swapped { what: vec![why] },
            false => Refusal::Unusable { why },
        }));
    }
    if let Some(first) = bad.first() {
        let signatures: Vec<Option<Signature>> =
            sides.patched.iter().map(|boot| Signature::of(boot)).collect();
        let alike = signatures.windows(2).all(|pair| pair.first() == pair.last());
        return Ok(match signatures.into_iter().next().flatten() {
            Some(signature) if alike => Ends::Differ(vec![Target::Kernel { signature }]),
            _ => Ends::Refused(Refusal::Flaky {
                what: vec![format!(
                    "the bad end fails in {} of {} boots, or not always so: {first}",
                    bad.len(),
                    sides.patched.len()
                )],
            }),
        });
    }
    Ok(of_comparison(boots, &compare(boots, gates, emulated)))
}

fn of_comparison(boots: &[BootRecord], comparison: &Comparison) -> Ends {
    let targets = targets(boots, comparison);
    if !targets.is_empty() {
        return Ends::Differ(targets);
    }
    let flaky: Vec<String> = comparison.tests.iter().flat_map(flaky).collect();
    let gains: Vec<String> = comparison
        .tests
        .iter()
        .filter(|test| test.verdict.is_gain())
        .map(|test| format!("{} is {}", test.name, test.verdict))
        .collect();
    // What got better says nothing of what cannot be told.
    Ends::Refused(if !flaky.is_empty() {
        Refusal::Flaky { what: flaky }
    } else if let Some(error) = comparison.errors.first() {
        Refusal::Unusable { why: error.clone() }
    } else if !gains.is_empty() {
        Refusal::Swapped { what: gains }
    } else {
        Refusal::Alike {
            what: format!(
                "no check and no declared cost differs in {}",
                text::count(comparison.tests.len(), "test")
            ),
        }
    })
}

/// Everything that got worse from the base to the patched kernel, in every boot, and can be followed: checks, then costs,
/// then crashes. `boots` are those that were compared.
#[must_use]
pub fn targets(boots: &[BootRecord], comparison: &Comparison) -> Vec<Target> {
    let tests = &comparison.tests;
    let checks = tests.iter().flat_map(|test| {
        let broken = test
            .checks
            .iter()
            .filter(|check| check.change == CheckChange::Broken && check.sides.patched.held() == Some(false));
        broken.filter_map(|check| of_check(boots, test, check))
    });
    let costs = tests.iter().flat_map(|test| {
        test.metrics.iter().filter_map(|metric| match (&metric.sides.base, &metric.gate) {
            // A cost that varies takes many boots at each revision.
            (Values::Exact { value }, Some(gate)) if metric.change == MetricChange::Worse => {
                matches!(metric.sides.patched, Values::Exact { .. }).then(|| Target::Cost {
                    test: test.name.clone(),
                    gate: Gate { metric: metric.name.clone(), ..gate.clone() },
                    good: *value,
                })
            }
            _ => None,
        })
    });
    let crashes = tests.iter().filter(|test| test.verdict == TestVerdict::Crashed).filter_map(|test| {
        let how =
            alike(bad(boots).flat_map(|boot| &boot.tests).filter(|one| one.name == test.name), |one| {
                ending(&one.outcome)
            })?;
        Some(Target::Crash { test: test.name.clone(), how })
    });
    let (guards, checks): (Vec<Target>, Vec<Target>) =
        checks.partition(|target| matches!(target, Target::Check { check, .. } if check.starts_with(GUARD)));
    checks.into_iter().chain(costs).chain(crashes).chain(guards).collect()
}

/// The bad end's boots.
fn bad(boots: &[BootRecord]) -> impl Iterator<Item = &BootRecord> {
    boots.iter().filter(|boot| boot.side == Side::Patched)
}

/// What all say alike; `None` where they do not, or one says nothing.
fn alike<T>(all: impl Iterator<Item = T>, say: impl Fn(T) -> Option<String>) -> Option<String> {
    let mut said = all.map(say);
    let first = said.next()??;
    said.all(|other| other.as_ref() == Some(&first)).then_some(first)
}

fn of_check(boots: &[BootRecord], test: &TestComparison, check: &CheckComparison) -> Option<Target> {
    if test.name == KERNEL_TEST {
        let said = alike(bad(boots), |boot| {
            Some(complaints_of(boot.tainted.unwrap_or(0))).filter(|said| !said.is_empty())
        })?;
        return Some(Target::Complaints { said });
    }
    let agreement = boots
        .iter()
        .filter(|boot| boot.side == Side::Base)
        .flat_map(|boot| &boot.tests)
        .filter(|result| result.name == test.name)
        .flat_map(|result| &result.agreements)
        .find(|agreement| agreement.name == check.name);
    let (test, check) = (test.name.clone(), check.name.clone());
    Some(match agreement {
        Some(agreement) => Target::Agreement { test, agreement: check, good: agreement.value.clone() },
        None => Target::Check { test, check },
    })
}

fn flaky(test: &TestComparison) -> Vec<String> {
    test.checks
        .iter()
        .filter(|check| check.change == CheckChange::Flaky)
        .map(|check| {
            let sides = check.sides.map(|side| format!("{} of {}", side.passed, side.passed + side.failed));
            format!(
                "{}: {} held in {} good and {} bad boots",
                test.name, check.name, sides.base, sides.patched
            )
        })
        .chain(match &test.verdict {
            TestVerdict::Inconclusive { reason } => Some(format!("{}: {reason}", test.name)),
            // Worse, but in no form that each boot of a revision would show.
            verdict if verdict.is_harm() => {
                Some(format!("{} is {verdict}, but not alike in every boot", test.name))
            }
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use mthp_record::result::Outcome;

    use super::*;
    use crate::sample::{ended, ends, hung, panicked, test};

    fn gate() -> Gate {
        Gate {
            test: "t/*".to_owned(),
            except: Vec::new(),
            except_metrics: Vec::new(),
            metric: "gap-kib".to_owned(),
            polarity: mthp_judge::suite::Direction::Lower,
            floor: 4,
            reason: "a hole".to_owned(),
        }
    }

    fn refused(boots: &[BootRecord]) -> Refusal {
        match look(boots, &[gate()], true).unwrap() {
            Ends::Refused(refusal) => refusal,
            Ends::Differ(targets) => panic!("{targets:?}"),
        }
    }

    fn names(boots: &[BootRecord]) -> Vec<String> {
        match look(boots, &[gate()], true).unwrap() {
            Ends::Differ(targets) => targets.iter().map(ToString::to_string).collect(),
            Ends::Refused(refusal) => panic!("{refusal}"),
        }
    }

    #[test]
    fn what_got_worse_can_be_followed_checks_first() {
        let crashed = Outcome::Crashed { how: "signal 11".to_owned() };
        let boots = ends(
            2,
            &[test("t/c", true, 0), test("t/b", true, 0), test("t/a", true, 0)],
            &[ended("t/c", crashed), test("t/b", true, 9), test("t/a", false, 0)],
        );
        assert_eq!(
            names(&boots),
            ["t/a: touch", "t/b: gap-kib worse than 0 by 4 or more", "t/c: comes to its end (signal 11)"]
        );
    }

    #[test]
    fn a_cost_is_followed_by_its_name_where_its_gate_has_a_pattern() {
        let boots = ends(2, &[test("t/b", true, 0)], &[test("t/b", true, 9)]);
        let gate = Gate { metric: "gap*".to_owned(), ..gate() };
        let Ends::Differ(targets) = look(&boots, &[gate], true).unwrap() else { panic!("{boots:?}") };
        let names: Vec<_> = targets.iter().map(Target::label).collect();
        assert_eq!(names, ["t/b:gap-kib"]);
    }

    #[test]
    fn a_kernel_that_always_fails_alike_can_be_followed() {
        let mut boots = ends(2, &[test("t/a", true, 0)], &[]);
        for (boot, line) in boots.iter_mut().skip(2).zip(["BUG: at 17", "BUG: at 18"]) {
            let index = boot.index;
            *boot = BootRecord { index, ..panicked(Side::Patched, &["t/a"], line) };
        }
        assert_eq!(names(&boots), ["the kernel: no \"BUG: at #\" in t/a"]);
        boots[3] = hung(Side::Patched, "t/a");
        assert!(matches!(refused(&boots), Refusal::Flaky { .. }));
    }

    #[test]
    fn ends_that_do_not_differ_are_refused() {
        let alike = ends(2, &[test("t/a", false, 7)], &[test("t/a", false, 7)]);
        assert!(
            matches!(refused(&alike), Refusal::Alike { .. }),
            "a failure of both is none of the bad end's"
        );
        let less = ends(2, &[test("t/a", true, 7)], &[test("t/a", true, 9)]);
        assert!(matches!(refused(&less), Refusal::Alike { .. }), "less than the floor");
    }

    #[test]
    fn swapped_ends_are_told() {
        let swapped = ends(2, &[test("t/a", false, 7)], &[test("t/a", true, 0)]);
        let told = refused(&swapped).to_string();
        assert!(told.contains("are --good and --bad swapped?") && told.contains("t/a"), "{told}");
        let mut panics = ends(2, &[], &[test("t/a", true, 0)]);
        for boot in panics.iter_mut().take(2) {
            *boot = panicked(Side::Base, &["t/a"], "Kernel panic");
        }
        assert!(matches!(refused(&panics), Refusal::Swapped { .. }));
    }

    #[test]
    fn what_differs_now_and_then_is_refused_as_flaky() {
        let mut boots = ends(3, &[test("t/a", true, 0)], &[test("t/a", false, 0)]);
        boots[4].tests[0].checks[0].passed = true;
        let told = refused(&boots).to_string();
        assert!(told.contains("held in 3 of 3 good and 1 of 3 bad boots"), "{told}");
    }

    #[test]
    fn what_got_better_hides_nothing_that_cannot_be_told() {
        let mut boots = ends(
            3,
            &[test("t/a", true, 0), test("t/b", false, 0)],
            &[test("t/a", false, 0), test("t/b", true, 0)],
        );
        boots[4].tests[0].checks[0].passed = true;
        assert!(matches!(refused(&boots), Refusal::Flaky { .. }));
        let mut bits = ends(3, &[test("t/a", true, 0)], &[test("t/a", true, 0)]);
        for boot in bits.iter_mut().skip(4) {
            boot.tests[0].agreements[0].value = "cd".to_owned();
        }
        assert!(matches!(refused(&bits), Refusal::Flaky { .. }), "another value in two of three boots");
    }

    #[test]
    fn a_complaint_is_followed_by_what_it_says() {
        let mut boots = ends(2, &[test("t/a", true, 0)], &[test("t/a", true, 0)]);
        boots[2].tainted = Some(1 << 9);
        boots[3].tainted = Some(1 << 9);
        assert_eq!(names(&boots), ["the kernel finds no fault with itself (warning)"]);
        boots[3].tainted = Some(1 << 5);
        assert!(matches!(refused(&boots), Refusal::Flaky { .. }), "each boot another one");
    }

    #[test]
    fn an_end_that_does_not_work_is_named() {
        let both = vec![
            panicked(Side::Base, &["t/a"], "Kernel panic"),
            panicked(Side::Patched, &["t/a"], "Kernel panic"),
        ];
        assert!(matches!(refused(&both), Refusal::Unusable { .. }));
    }

    #[test]
    fn an_agreement_is_followed_by_its_value() {
        let mut bad = test("t/a", true, 0);
        bad.agreements[0].value = "cd".to_owned();
        let boots = ends(2, &[test("t/a", true, 0)], &[bad]);
        assert_eq!(names(&boots), ["t/a: bits as at the good end"]);
    }
}
