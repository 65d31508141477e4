//! The head's boots against those of the last good run.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use mthp_bisect::{
    ends::{Ends, Refusal, look},
    target::Target,
};
use mthp_judge::{
    compare::{TestComparison, compare},
    report::{Report, SuiteRecord},
    suite::Suite,
    text,
};
use mthp_kernel::BuiltKernel;
use mthp_record::{
    boot::{BootRecord, Side},
    result::TestResult,
};
use mthp_store::{
    history::Baseline,
    run::{Outcome, Revision},
};
use mthp_vm::accel::Accel;

use super::Night;
use crate::{Folder, host, kernels, outputs};

/// Both runs' boots, of the tests that both have.
pub(super) struct Heads<'a> {
    suite: &'a Suite,
    boots: Vec<BootRecord>,
    emulated: bool,
    accelerator: String,
    /// What only one of the two runs has: tests, and checks and values of tests.
    new: Vec<String>,
}

impl<'a> Heads<'a> {
    pub(super) fn of(baseline: &Baseline, head: &[BootRecord], suite: &'a Suite, accelerator: &str) -> Self {
        // A boot announces the same tests every time: those of the guest runner it was made with.
        let announced =
            |boots: &[BootRecord]| boots.iter().flat_map(|boot| boot.announced.clone()).collect::<Vec<_>>();
        let (before, now) = (announced(&baseline.boots), announced(head));
        // A head that never came to its tests announces none; that is no reason to forget them.
        let common = |name: &String| before.contains(name) && (now.is_empty() || now.contains(name));
        let mut new: Vec<String> = now.iter().filter(|name| !before.contains(name)).cloned().collect();
        if !now.is_empty() {
            new.extend(before.iter().filter(|name| !now.contains(name)).cloned());
        }
        new.sort();
        new.dedup();
        let mut boots = Vec::new();
        for (side, from) in [(Side::Base, &baseline.boots[..]), (Side::Patched, head)] {
            for boot in from {
                let mut boot = BootRecord { side, ..boot.clone() };
                boot.announced.retain(common);
                boot.tests.retain(|test| common(&test.name));
                boots.push(boot);
            }
        }
        new.extend(keep_common(&mut boots));
        let emulated = accelerator == Accel::Tcg.to_string();
        Self { suite, boots, emulated, accelerator: accelerator.to_owned(), new }
    }

    pub(super) fn notes(&self) -> Option<String> {
        (!self.new.is_empty()).then(|| {
            format!(
                "not compared, since only one of this run and the last good one has them: {}",
                text::list(self.new.iter().map(String::as_str), 8)
            )
        })
    }

    /// What the run found, and what of it can be bisected.
    pub(super) fn judged(&self) -> Result<(Outcome, Vec<Target>)> {
        let refusal = match look(&self.boots, &self.suite.gates, self.emulated)? {
            Ends::Differ(targets) => {
                let names: Vec<String> = targets.iter().map(ToString::to_string).collect();
                let reason = format!("worse: {}", text::list(names.iter().map(String::as_str), 8));
                return Ok((Outcome::Regressed { reason }, targets));
            }
            Ends::Refused(refusal) => refusal,
        };
        let failed = self.boots.iter().find(|boot| !boot.outcome.is_completed());
        let outcome = match (refusal, failed) {
            (_, Some(boot)) => Outcome::Failed { reason: text::boot_failure(boot) },
            (Refusal::Alike { .. } | Refusal::Swapped { .. }, None) => self.good_or(),
            (Refusal::Flaky { what }, None) => {
                Outcome::Unjudged { reason: text::list(what.iter().map(String::as_str), 8) }
            }
            (Refusal::Unusable { why }, None) => Outcome::Unjudged { reason: why },
        };
        Ok((outcome, Vec::new()))
    }

    /// That nothing can be bisected does not mean that nothing is worse: the comparison must say so too.
    fn good_or(&self) -> Outcome {
        let comparison = compare(&self.boots, &self.suite.gates, self.emulated);
        let doubtful = |test: &&TestComparison| test.verdict.is_harm() || test.verdict.is_inconclusive();
        let reason = match comparison.tests.iter().find(doubtful) {
            _ if comparison.tests.is_empty() => "the two runs have no test in common".to_owned(),
            None => return Outcome::Good,
            Some(test) => format!("{} is {}", test.name, test.verdict),
        };
        Outcome::Unjudged { reason }
    }

    /// Writes the comparison as `test-kernel` writes one: the last good run is the base.
    pub(super) fn report(
        &self,
        night: &Night<'_>,
        kernel: &BuiltKernel,
        revision: &Revision,
        folder: &Folder,
    ) -> Result<()> {
        let suite = SuiteRecord { name: self.suite.name.clone(), sha256: night.suite_sha256.clone() };
        let created = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let mut report = Report::unfinished(env!("CARGO_PKG_VERSION"), &created, suite);
        report.host = Some(host::record());
        report.qemu = Some(host::qemu(night.lab.qemu()));
        report.accelerator = Some(night.accelerator(&self.accelerator));
        report.patched = Some(kernels::record(&revision.short(), kernel)?);
        report
            .notes
            .push("the base is the last good run as it was stored; it was not booted again".to_owned());
        report.notes.extend(self.notes());
        let comparison = compare(&self.boots, &self.suite.gates, self.emulated);
        report.complete(self.boots.clone(), comparison);
        outputs::write(folder, &report)
    }
}

/// Keeps of each test the checks, metrics and agreements that both runs have, and names the others: with another version of
/// the tests something is new every time, and would keep every later night from being judged.
fn keep_common(boots: &mut [BootRecord]) -> Vec<String> {
    let names = |test: &TestResult| {
        let checks = test.checks.iter().map(|check| &check.name);
        let metrics = test.metrics.iter().map(|metric| &metric.name);
        let agreements = test.agreements.iter().map(|agreement| &agreement.name);
        checks.chain(metrics).chain(agreements).cloned().collect::<BTreeSet<String>>()
    };
    let mut sides: BTreeMap<(Side, String), BTreeSet<String>> = BTreeMap::new();
    for boot in boots.iter() {
        for test in boot.tests.iter().filter(|test| test.outcome.is_completed()) {
            sides.entry((boot.side, test.name.clone())).or_default().extend(names(test));
        }
    }
    let mut alone = BTreeSet::new();
    for test in boots.iter_mut().flat_map(|boot| &mut boot.tests) {
        let of = |side| sides.get(&(side, test.name.clone()));
        let (Some(before), Some(now)) = (of(Side::Base), of(Side::Patched)) else { continue };
        alone.extend(before.symmetric_difference(now).map(|name| format!("{}:{name}", test.name)));
        test.checks.retain(|check| before.contains(&check.name) && now.contains(&check.name));
        test.metrics.retain(|metric| before.contains(&metric.name) && now.contains(&metric.name));
        test.agreements.retain(|one| before.contains(&one.name) && now.contains(&one.name));
    }
    alone.into_iter().collect()
}

/// What boots of one kernel disagree about: a run that does so is nothing to compare the next ones with.
pub(super) fn disagreement(boots: &[BootRecord]) -> Option<String> {
    let mut seen: BTreeMap<String, bool> = BTreeMap::new();
    for test in boots.iter().flat_map(|boot| &boot.tests) {
        for check in &test.checks {
            let name = format!("{}:{}", test.name, check.name);
            if seen.get(&name).is_some_and(|held| *held != check.passed) {
                return Some(format!("{name} holds in some boots and fails in others"));
            }
            seen.insert(name, check.passed);
        }
    }
    None
}

#[cfg(test)]
mod tests {
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
        let series =
            Series { tree: text(), branch: text(), host: text(), accelerator: text(), suite: text() };
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
        let suite = include_str!("../../../../configs/suites/alignment.toml");
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
}
