//! The head's boots against those of the last good run.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use mthp_bisect::{
    ends::{Ends, Refusal, look},
    target::Target,
};
use mthp_judge::{
    compare::{TestComparison, compare},
    report::Report,
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
        let created = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let mut report = Report::unfinished(env!("CARGO_PKG_VERSION"), &created, night.record.clone());
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
mod tests;
