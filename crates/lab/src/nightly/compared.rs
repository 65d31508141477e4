//! The head's boots against those of the last good run.

use anyhow::Result;
use mthp_bisect::{
    ends::{Ends, Refusal, look},
    target::Target,
};
use mthp_judge::{
    compare::compare,
    report::{Report, SuiteRecord},
    suite::Suite,
    text,
};
use mthp_kernel::BuiltKernel;
use mthp_record::boot::{BootRecord, Side};
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
    /// Tests of the head that the last good run did not have.
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
        let emulated = accelerator == Accel::Tcg.to_string();
        Self { suite, boots, emulated, accelerator: accelerator.to_owned(), new }
    }

    pub(super) fn notes(&self) -> Option<String> {
        (!self.new.is_empty()).then(|| {
            format!(
                "not compared, since the last good run did not have them: {}",
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
            (Refusal::Alike { .. } | Refusal::Swapped { .. }, None) => Outcome::Good,
            (Refusal::Flaky { what }, None) => {
                Outcome::Unjudged { reason: text::list(what.iter().map(String::as_str), 8) }
            }
            (Refusal::Unusable { why }, None) => Outcome::Unjudged { reason: why },
        };
        Ok((outcome, Vec::new()))
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
