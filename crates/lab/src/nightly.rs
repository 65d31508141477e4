//! The head of a branch against the last good run of its kind, and what brought what is worse.

mod blame;
mod compared;
mod head;

use std::path::PathBuf;

use anyhow::{Context, Result};
use mthp_bisect::target::Target;
use mthp_judge::{
    report::{AcceleratorRecord, Report, Status, SuiteRecord, Unjudged},
    suite::Suite,
};
use mthp_kernel::{Repository, files};
use mthp_store::{
    Store,
    history::Baseline,
    nightly::{Compared, Nightly, Regressed, Word},
    run::{Outcome, Revision, Run},
};
use mthp_vm::accel::AccelChoice;

use self::{
    blame::Blame,
    compared::{Heads, disagreement},
    head::Seen,
};
use crate::{
    Events, Folder, Lab,
    began::{Began, ending, unjudged},
    folder::NIGHTLY,
    laboratory::translate,
    outputs,
};

/// What a user asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The repository, only read; or its URL.
    pub tree: String,
    /// The branch whose head is tested.
    pub branch: String,
    /// The suite's name.
    pub suite: String,
    /// The store's file.
    pub store: PathBuf,
    /// The machine's name in the store.
    pub host: String,
    /// Whether what is worse is bisected at once.
    pub bisect: bool,
    /// Take the run for good whatever it is worse in, so that later ones are compared with it.
    pub accept: bool,
    /// Boots of the head, if not as the suite says.
    pub boots: Option<u32>,
    /// Which accelerator.
    pub accel: AccelChoice,
    /// The report's folder, if the user names one.
    pub folder: Option<PathBuf>,
}

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    /// What it found, as it was written.
    pub nightly: Nightly,
    /// Its folder.
    pub folder: Folder,
}

/// Runs a night. The run is stored, whatever it found.
///
/// # Errors
/// When something that was given cannot be used, or the machinery failed; nothing is stored then.
pub fn run(lab: &Lab, request: &Request, events: &Events<'_>) -> Result<Finished> {
    let began = Began::now();
    let (mut suite, text) = lab.project().suite(&request.suite)?;
    if let Some(boots) = request.boots {
        suite.boots = boots;
    }
    let folder = Folder::make(request.folder.as_deref(), &began.stamp, "nightly")?;
    let mut nightly = Nightly::unfinished(
        env!("CARGO_PKG_VERSION"),
        &began.created,
        &request.tree,
        &request.branch,
        &suite.name,
    );
    nightly.host.clone_from(&request.host);
    nightly.store = request.store.display().to_string();
    folder.write_as(NIGHTLY, &nightly)?;
    let record = SuiteRecord { name: suite.name.clone(), sha256: files::sha256(text.as_bytes()) };
    let mut report = Report::unfinished(env!("CARGO_PKG_VERSION"), &began.created, record.clone());
    outputs::write(&folder, &report)?;
    let night = Night { lab, request, suite: &suite, record, events };
    let outcome = night.fill(&folder, &began, &mut nightly);
    let (status, reason) = ending(lab, &outcome);
    nightly.status = status;
    if status != Status::Complete {
        nightly.reason = reason;
    }
    let reported = match leave(nightly.outcome, outcome.is_ok(), nightly.compared_with.is_some()) {
        Leave::Comparison => Ok(()),
        Leave::Error => {
            let why = outcome.as_ref().err().map_or(Unjudged::Failed, |error| unjudged(lab, error));
            report.give_up(why, &nightly.reason);
            outputs::write(&folder, &report)
        }
        Leave::Nothing => outputs::remove(&folder),
    };
    let written = folder.write_as(NIGHTLY, &nightly);
    // Of several errors (on a full disk, say) the first is the cause.
    outcome?;
    reported?;
    written?;
    Ok(Finished { nightly, folder })
}

/// What whoever collects `report.json` and JUnit finds of a night.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leave {
    /// What was written when the head was compared; before that, that the run did not finish.
    Comparison,
    /// Why there is no pass.
    Error,
    /// Nothing: there was nothing to compare with, and nothing is wrong.
    Nothing,
}

fn leave(outcome: Option<Word>, ended_well: bool, compared: bool) -> Leave {
    match outcome {
        // No pass as it is, and a bisection that failed takes nothing of it back.
        Some(Word::Regressed) => Leave::Comparison,
        // Be it that the night was good and could not be stored.
        _ if !ended_well => Leave::Error,
        Some(Word::Failed) => Leave::Error,
        Some(Word::Good) if !compared => Leave::Nothing,
        _ => Leave::Comparison,
    }
}

/// The machine's own name.
#[must_use]
pub fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "unnamed".to_owned(),
        name => name.to_owned(),
    }
}

struct Night<'a> {
    lab: &'a Lab,
    request: &'a Request,
    suite: &'a Suite,
    record: SuiteRecord,
    events: &'a Events<'a>,
}

impl Night<'_> {
    fn fill(&self, folder: &Folder, began: &Began, nightly: &mut Nightly) -> Result<()> {
        // A store that cannot be used is told before an hour of work.
        let mut store = Store::open(&self.request.store)?;
        let stop = self.lab.stop().builds();
        let translate = translate("repository", self.events);
        let repository = Repository::open(self.lab.cache(), &self.request.tree, &translate, stop)?;
        let head = repository.branch_head(&self.request.branch)?;
        let revision = Revision {
            subject: repository.subject(&head)?,
            committed: repository.committed(&head)?,
            position: None,
            commit: head,
        };
        nightly.revision = Some(revision.clone());
        let seen = self.look(&repository, &revision, &store, folder, nightly)?;
        let baseline = store.last_good(&seen.series)?;
        nightly.compared_with = baseline.as_ref().map(|baseline| Compared {
            created: baseline.run.run.created.clone(),
            commit: baseline.run.run.revision.commit.clone(),
        });
        let (mut outcome, mut targets) = self.judge(&revision, &seen, baseline.as_ref(), folder, nightly)?;
        if self.request.accept
            && seen.boots.iter().all(|boot| boot.outcome.is_completed())
            && !seen.boots.is_empty()
        {
            if let Some(reason) = outcome.reason() {
                nightly.notes.push(format!("accepted as what later runs are compared with: {reason}"));
            }
            (outcome, targets) = (Outcome::Good, Vec::new());
        }
        nightly.conclude(&outcome);
        let run = Run {
            series: seen.series.clone(),
            created: began.created.clone(),
            revision: revision.clone(),
            suite_sha256: self.record.sha256.clone(),
            image_sha256: seen.image.as_ref().ok().map(|kernel| kernel.identity.vmlinux_sha256.clone()),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            outcome: outcome.clone(),
            report: folder.path().display().to_string(),
            build_millis: seen.build_millis,
            boots_millis: seen.boots_millis,
        };
        let id = store.add(&run, &seen.boots)?;
        folder.write_as(NIGHTLY, nightly)?;
        let good = nightly.compared_with.as_ref().map(|run| run.commit.clone()).unwrap_or_default();
        let regressed = targets.iter().map(|target| Regressed {
            target: target.to_string(),
            test: target.test().map(str::to_owned),
            check: Some(target.label()),
            good: good.clone(),
            bad: revision.commit.clone(),
            culprit: None,
            known: false,
            undecided: None,
        });
        nightly.regressions = regressed.collect();
        let mut blame =
            Blame { night: self, repository: &repository, series: &seen.series, run: id, store: &mut store };
        blame.close(&seen.boots, nightly)?;
        blame.known(nightly)?;
        folder.write_as(NIGHTLY, nightly)?;
        if self.request.bisect {
            blame.find(&targets, folder, nightly)?;
        }
        Ok(())
    }

    /// What the run found, and what of it can be bisected.
    fn judge(
        &self,
        revision: &Revision,
        seen: &Seen,
        baseline: Option<&Baseline>,
        folder: &Folder,
        nightly: &mut Nightly,
    ) -> Result<(Outcome, Vec<Target>)> {
        let kernel = match &seen.image {
            Ok(kernel) => kernel,
            Err(reason) => return Ok((Outcome::Failed { reason: reason.clone() }, Vec::new())),
        };
        let failed = seen.boots.iter().find(|boot| !boot.outcome.is_completed());
        let Some(baseline) = baseline else {
            let outcome = match (failed, disagreement(&seen.boots)) {
                (Some(boot), _) => Outcome::Failed { reason: mthp_judge::text::boot_failure(boot) },
                (None, Some(reason)) => Outcome::Unjudged { reason },
                (None, None) => Outcome::Good,
            };
            return Ok((outcome, Vec::new()));
        };
        let heads = Heads::of(baseline, &seen.boots, self.suite, &seen.series.accelerator);
        nightly.notes.extend(heads.notes());
        heads.report(self, kernel, revision, folder).context("failed to write the comparison")?;
        let (outcome, targets) = heads.judged()?;
        if !targets.is_empty() && baseline.run.run.revision.commit == revision.commit {
            let reason = "the same revision was good in its last run: the machine, the compiler, QEMU or the tests changed, or a check is flaky";
            return Ok((Outcome::Unjudged { reason: reason.to_owned() }, Vec::new()));
        }
        Ok((outcome, targets))
    }

    /// What ran the guests, for a report.
    fn accelerator(&self, seen: &str) -> AcceleratorRecord {
        AcceleratorRecord { kind: seen.to_owned(), why: format!("{} was asked for", self.request.accel) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_night_that_did_not_come_to_its_end_never_leaves_a_pass_or_nothing() {
        for outcome in [None, Some(Word::Good), Some(Word::Failed), Some(Word::Unjudged)] {
            for compared in [false, true] {
                assert_eq!(leave(outcome, false, compared), Leave::Error, "{outcome:?}");
            }
        }
        assert_eq!(leave(Some(Word::Regressed), false, true), Leave::Comparison);
    }

    #[test]
    fn a_first_good_night_leaves_nothing_and_one_that_was_compared_its_comparison() {
        assert_eq!(leave(Some(Word::Good), true, false), Leave::Nothing);
        assert_eq!(leave(Some(Word::Good), true, true), Leave::Comparison);
        assert_eq!(leave(Some(Word::Failed), true, true), Leave::Error);
    }
}
