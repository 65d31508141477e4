//! From the boots of a claim's kernels to what they say of it.

use std::collections::BTreeMap;

use mthp_judge::{compare::complaints_of, text};
use mthp_record::{
    boot::{BootOutcome, BootRecord},
    result::{GUARD, Outcome, TestResult, Unit},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    condition::Condition,
    file::{Claim, Decision, Part, Value, What},
    measured::{Range, Verdict, decide},
};

/// What came of one part of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PartFinding {
    /// Under which conditions.
    pub about: String,
    /// What came of it.
    pub verdict: Verdict,
    /// Why it cannot be decided, where it cannot.
    pub why: Option<String>,
    /// What it would take to decide it.
    pub needs: Option<String>,
    /// It is confirmed when all of these hold; empty where nothing is measured.
    pub confirmed: Vec<Condition>,
    /// It is refuted when all of these hold.
    pub refuted: Vec<Condition>,
    /// The measured values beside the claimed ones.
    pub rows: Vec<Row>,
}

/// One value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// What it is.
    pub value: Value,
    /// What was measured in all boots.
    pub measured: Option<Range>,
    /// Its unit; `None` of a check.
    pub unit: Option<Unit>,
    /// Why it was not measured.
    pub missing: Option<String>,
}

/// The boots of a claim's kernels, by short name; or why a kernel has none.
pub type Boots<'a> = BTreeMap<&'a str, Result<&'a [BootRecord], String>>;

/// What the boots say of each part of the claim.
#[must_use]
pub fn parts(claim: &Claim, boots: &Boots<'_>, emulated: bool) -> Vec<PartFinding> {
    claim.parts.iter().map(|part| find(part, claim.boots, boots, emulated)).collect()
}

/// A value whose test ran whole and has no such finding in any boot: a slip in the claim's file.
#[must_use]
pub fn slip(claim: &Claim, boots: &Boots<'_>) -> Option<String> {
    claim.values().find_map(|value| {
        let records = boots.get(value.kernel.as_str())?.as_ref().ok()?;
        let mut known = Vec::new();
        for test in records.iter().flat_map(|record| &record.tests).filter(|test| test.name == value.test) {
            usable(test).ok()?;
            known.extend(match &value.what {
                What::Metric(_) => test.metrics.iter().map(|metric| metric.name.as_str()).collect::<Vec<_>>(),
                What::Check(_) => test.checks.iter().map(|check| check.name.as_str()).collect(),
            });
        }
        known.sort_unstable();
        known.dedup();
        let (kind, name) = match &value.what {
            What::Metric(name) => ("metric", name),
            What::Check(name) => ("check", name),
        };
        (!known.is_empty() && !known.contains(&name.as_str()))
            .then(|| format!("{} has no {kind} {name}; there are: {}", value.test, known.join(", ")))
    })
}

fn find(part: &Part, wanted: u32, boots: &Boots<'_>, emulated: bool) -> PartFinding {
    let about = part.about.clone();
    match &part.decision {
        Decision::Cannot { why, needs } => PartFinding {
            about,
            verdict: Verdict::Undecided,
            why: Some(why.clone()),
            needs: Some(needs.clone()),
            confirmed: Vec::new(),
            refuted: Vec::new(),
            rows: Vec::new(),
        },
        Decision::Measured { values, confirmed, refuted, needs_kvm } => {
            let rows: Vec<Row> = values.iter().map(|value| row(value, wanted, boots)).collect();
            // Whatever the file says: emulation distorts time.
            let timed = rows.iter().any(|row| row.unit.is_some_and(Unit::is_time));
            let needs_kvm = match needs_kvm {
                Some(why) => Some(why.clone()),
                None if timed => Some("times say nothing under emulation".to_owned()),
                None => None,
            };
            let needs = (needs_kvm.is_some() && emulated).then(|| "a machine on which KVM works".to_owned());
            let boots = usize::try_from(wanted).unwrap_or(usize::MAX);
            let (verdict, why) = match needs_kvm {
                Some(why) if emulated => (Verdict::Undecided, Some(why)),
                _ => decide(confirmed, refuted, boots, |name| {
                    rows.iter().find(|row| row.value.name == name).and_then(|row| row.measured)
                }),
            };
            PartFinding {
                about,
                verdict,
                why,
                needs,
                confirmed: confirmed.clone(),
                refuted: refuted.clone(),
                rows,
            }
        }
    }
}

fn row(value: &Value, wanted: u32, boots: &Boots<'_>) -> Row {
    let (measured, unit, missing) = match measure(value, wanted, boots) {
        Ok((range, unit)) => (Some(range), unit, None),
        Err(why) => (None, None, Some(why)),
    };
    Row { value: value.clone(), measured, unit, missing }
}

/// The value in every boot; a boot without it makes it missing, since the boots must agree on what they say.
fn measure(value: &Value, wanted: u32, boots: &Boots<'_>) -> Result<(Range, Option<Unit>), String> {
    let records = match boots.get(value.kernel.as_str()) {
        Some(Ok(records)) => *records,
        Some(Err(why)) => return Err(why.clone()),
        None => return Err("its kernel was not booted".to_owned()),
    };
    if records.len() < usize::try_from(wanted).unwrap_or(usize::MAX) {
        return Err(format!("{} of {wanted} boots", records.len()));
    }
    let mut all = Vec::new();
    let mut unit = None;
    for record in records {
        let (one, its) = in_boot(value, record)?;
        all.push(one);
        unit = its;
    }
    Range::of(all).map(|range| (range, unit)).ok_or_else(|| "it was measured in no boot".to_owned())
}

fn in_boot(value: &Value, record: &BootRecord) -> Result<(i64, Option<Unit>), String> {
    if record.outcome != BootOutcome::Completed {
        return Err(text::boot_failure(record));
    }
    let complaints = complaints_of(record.tainted.unwrap_or(0));
    if !complaints.is_empty() {
        return Err(format!("the kernel complained: {complaints}"));
    }
    let test = record
        .tests
        .iter()
        .find(|test| test.name == value.test)
        .ok_or_else(|| format!("{} did not run", value.test))?;
    usable(test)?;
    let missing = || format!("{} has no finding {}", value.test, value.what.name());
    match &value.what {
        What::Metric(name) => test
            .metrics
            .iter()
            .find(|metric| metric.name == *name)
            .map(|metric| (metric.value, Some(metric.unit)))
            .ok_or_else(missing),
        What::Check(name) => test
            .checks
            .iter()
            .find(|check| check.name == *name)
            .map(|check| (i64::from(check.passed), None))
            .ok_or_else(missing),
    }
}

/// Does the test say anything at all?
fn usable(test: &TestResult) -> Result<(), String> {
    match &test.outcome {
        Outcome::Completed => {}
        Outcome::NotApplicable { reason } => return Err(format!("{}: not applicable: {reason}", test.name)),
        Outcome::Crashed { how } => return Err(format!("{} crashed: {how}", test.name)),
        Outcome::TimedOut { after_secs } => {
            return Err(format!("{}: not done after {after_secs} s", test.name));
        }
        Outcome::Error { message } => return Err(format!("{}: {message}", test.name)),
    }
    match test.checks.iter().find(|check| check.name.starts_with(GUARD) && !check.passed) {
        Some(guard) => Err(format!("{}: {} fails, so its numbers do not count", test.name, guard.name)),
        None => Ok(()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use mthp_record::{
        boot::Side,
        result::{Check, Metric, Polarity},
    };

    use super::*;
    use crate::sample::boot;

    pub(crate) const FAULTS: &str = include_str!("../../../../configs/claims/page-faults-went-up.toml");

    pub(crate) fn faults(after: i64, each: i64) -> TestResult {
        let metric = |name: &str, value| Metric {
            name: name.to_owned(),
            value,
            unit: Unit::Count,
            polarity: Polarity::Neutral,
        };
        TestResult {
            name: "placement/4632KiB".to_owned(),
            outcome: Outcome::Completed,
            checks: Vec::new(),
            metrics: vec![metric("faults-after", after), metric("faults-each", each)],
            agreements: Vec::new(),
            evidence: BTreeMap::new(),
        }
    }

    fn found(old: Vec<BootRecord>, new: Vec<BootRecord>) -> Vec<PartFinding> {
        let claim = Claim::parse("x", FAULTS).unwrap();
        let boots = BTreeMap::from([("old", Ok(old.as_slice())), ("new", Ok(new.as_slice()))]);
        parts(&claim, &boots, true)
    }

    fn boots(results: [TestResult; 2]) -> Vec<BootRecord> {
        (0..).zip(results).map(|(index, result)| boot(Side::Base, index, vec![result])).collect()
    }

    fn verdicts(parts: &[PartFinding]) -> Vec<Verdict> {
        parts.iter().map(|part| part.verdict).collect()
    }

    #[test]
    fn a_claim_may_hold_for_one_touch_pattern_and_not_for_the_other() {
        let parts = found(
            boots([faults(2177, 2177), faults(2177, 2177)]),
            boots([faults(133, 7798), faults(133, 7798)]),
        );
        assert_eq!(verdicts(&parts), [Verdict::Confirmed, Verdict::Refuted]);
        assert_eq!(parts[0].rows[0].measured, Some(Range::exactly(2177)));
    }

    #[test]
    fn values_that_vary_across_the_condition_decide_nothing() {
        let parts = found(boots([faults(2177, 1), faults(100, 1)]), boots([faults(133, 1), faults(133, 1)]));
        assert_eq!(verdicts(&parts), [Verdict::Undecided, Verdict::Refuted]);
        assert!(parts[0].why.as_ref().unwrap().contains("varies"));
    }

    #[test]
    fn what_did_not_run_is_never_a_verdict() {
        let good = || boots([faults(1, 1), faults(1, 1)]);
        let mut hung = good();
        hung[1].outcome = BootOutcome::EndedEarly { phase: mthp_record::boot::Phase::Boot };
        let mut absent = good();
        absent[0].tests.clear();
        let mut crashed = good();
        crashed[0].tests[0].outcome = Outcome::Crashed { how: "signal 11".to_owned() };
        let mut guarded = good();
        guarded[1].tests[0].checks.push(Check {
            name: "valid-outputs".to_owned(),
            promise: String::new(),
            passed: false,
            observed: String::new(),
            expected: String::new(),
        });
        let mut oopsed = good();
        oopsed[0].tainted = Some(1 << 7);
        let mut few = good();
        few.truncate(1);
        for (old, why) in [
            (hung, "left"),
            (absent, "did not run"),
            (crashed, "signal 11"),
            (guarded, "valid-outputs"),
            (few, "1 of 2 boots"),
            (oopsed, "the kernel complained"),
        ] {
            let parts = found(old, good());
            assert_eq!(verdicts(&parts), [Verdict::Undecided; 2]);
            let missing = parts[0].rows[0].missing.as_ref().unwrap();
            assert!(missing.contains(why), "{missing}");
        }
    }

    #[test]
    fn a_misspelt_finding_is_a_slip_and_no_undecided_claim() {
        let claim = Claim::parse("x", &FAULTS.replacen("faults-after", "faults-aftr", 1)).unwrap();
        let old = boots([faults(2, 2), faults(2, 2)]);
        let given = BTreeMap::from([("old", Ok(old.as_slice())), ("new", Ok(old.as_slice()))]);
        let why = slip(&claim, &given).unwrap();
        assert_eq!(why, "placement/4632KiB has no metric faults-aftr; there are: faults-after, faults-each");
        assert_eq!(slip(&Claim::parse("x", FAULTS).unwrap(), &given), None);
    }

    #[test]
    fn emulation_does_not_decide_what_needs_kvm() {
        let text = FAULTS.replace(
            "confirmed = [\"old > new\"]",
            "needs_kvm = \"times say nothing under emulation\"\nconfirmed = [\"old > new\"]",
        );
        let claim = Claim::parse("x", &text).unwrap();
        let (old, new) = (boots([faults(2, 2), faults(2, 2)]), boots([faults(1, 1), faults(1, 1)]));
        let boots = BTreeMap::from([("old", Ok(old.as_slice())), ("new", Ok(new.as_slice()))]);
        assert_eq!(verdicts(&parts(&claim, &boots, true)), [Verdict::Undecided; 2]);
        assert_eq!(verdicts(&parts(&claim, &boots, false)), [Verdict::Confirmed; 2]);
    }
}
