//! What brought what is worse: known from an earlier night, or found by bisection.

use anyhow::Result;
use mthp_bisect::{
    record::{Bisection, Outcome},
    target::Target,
    text,
};
use mthp_kernel::{Repository, is_bad_input};
use mthp_record::boot::BootRecord;
use mthp_store::{
    Store,
    nightly::{Nightly, Word},
    regression::{Culprit, NewRegression},
    run::{RunId, Series},
};

use super::Night;
use crate::{Folder, bisect, folder::NIGHTLY};

/// The most bisections of one night. What is left is another night's: most of it has the same culprit.
const MOST: usize = 3;

pub(super) struct Blame<'a> {
    pub(super) night: &'a Night<'a>,
    pub(super) repository: &'a Repository,
    pub(super) series: &'a Series,
    pub(super) run: RunId,
    pub(super) store: &'a mut Store,
}

impl Blame<'_> {
    /// What was open and was looked at and is not worse any more is over. Left open, it would take the blame for whatever breaks
    /// the same thing later.
    pub(super) fn close(&mut self, boots: &[BootRecord], nightly: &Nightly) -> Result<()> {
        if !matches!(nightly.outcome, Some(Word::Good | Word::Regressed)) || boots.is_empty() {
            return Ok(());
        }
        let completed = |test: &str| {
            boots
                .iter()
                .all(|boot| boot.tests.iter().any(|one| one.name == test && one.outcome.is_completed()))
        };
        for regression in self.store.open_regressions(self.series)? {
            let worse = nightly.regressions.iter().any(|one| one.target == regression.target);
            // A target begins with its test; that of the kernel itself was looked at by every boot that came to its end.
            let test = regression.target.split(": ").next().unwrap_or_default();
            let looked = completed(test)
                || test.starts_with("the kernel") && boots.iter().all(|boot| boot.outcome.is_completed());
            if looked && !worse {
                self.store.close_regression(regression.id, self.run)?;
            }
        }
        Ok(())
    }

    /// Names the culprits that an earlier night found, where they are still in the head.
    pub(super) fn known(&self, nightly: &mut Nightly) -> Result<()> {
        let open = self.store.open_regressions(self.series)?;
        for one in &mut nightly.regressions {
            for regression in open.iter().filter(|open| open.target == one.target) {
                let commit = match &regression.culprit {
                    Culprit::Commit { commit, .. } | Culprit::Range { bad: commit, .. } => commit,
                };
                // After a rebase it may be gone, and so be another one's fault.
                let here = self.repository.is_ancestor(commit, &one.bad).unwrap_or(false);
                let new = !self.repository.is_ancestor(commit, &one.good).unwrap_or(true);
                if here && new {
                    one.culprit = Some(regression.culprit.clone());
                    one.known = true;
                }
            }
        }
        Ok(())
    }

    /// Bisects what has no culprit yet, and stores what is found.
    pub(super) fn find(&mut self, targets: &[Target], folder: &Folder, nightly: &mut Nightly) -> Result<()> {
        for round in 1..=MOST {
            let open =
                |one: &mthp_store::nightly::Regressed| one.culprit.is_none() && one.undecided.is_none();
            let Some(at) = nightly.regressions.iter().position(open) else { return Ok(()) };
            let (Some(one), Some(target)) = (nightly.regressions.get(at).cloned(), targets.get(at)) else {
                return Ok(());
            };
            let request = bisect::Request {
                place: bisect::Place::Git {
                    tree: self.night.request.tree.clone(),
                    good: one.good.clone(),
                    bad: one.bad.clone(),
                },
                suite: self.night.suite.name.clone(),
                // All of them: what else is the same commit's doing is not looked for again.
                tests: Vec::new(),
                check: Some(target.label()),
                with_patches: Vec::new(),
                step_boots: bisect::STEP_BOOTS,
                full_boots: bisect::FULL_BOOTS,
                accel: self.night.request.accel,
                folder: Some(folder.path().join(format!("bisect-{round}"))),
                // An earlier night that was killed asked something else.
                fresh: true,
            };
            match bisect::run(self.night.lab, &request, self.night.events) {
                Ok(finished) => self.settle(at, target, &finished.bisection, targets, nightly)?,
                // The ends do not differ any more: an answer, and no failure of the machinery.
                Err(error) if error.chain().any(is_bad_input) => {
                    if let Some(one) = nightly.regressions.get_mut(at) {
                        one.undecided = Some(format!("{error:#}"));
                    }
                }
                Err(error) => return Err(error),
            }
            folder.write_as(NIGHTLY, nightly)?;
        }
        Ok(())
    }

    fn settle(
        &mut self,
        at: usize,
        target: &Target,
        bisection: &Bisection,
        targets: &[Target],
        nightly: &mut Nightly,
    ) -> Result<()> {
        let culprit = match &bisection.outcome {
            Some(Outcome::Culprit { revision, .. }) => {
                Culprit::Commit { commit: revision.id.clone(), subject: revision.subject.clone() }
            }
            Some(Outcome::Range { candidates }) => Culprit::Range {
                good: candidates.first().and_then(|first| first.parents.first().cloned()).unwrap_or_default(),
                bad: candidates.last().map(|last| last.id.clone()).unwrap_or_default(),
            },
            _ => {
                if let Some(one) = nightly.regressions.get_mut(at) {
                    one.undecided = Some(text::headline(bisection));
                }
                return Ok(());
            }
        };
        let explained = bisection.verification.iter().flat_map(|seen| &seen.explained);
        let its: Vec<&Target> = explained.chain([target]).collect();
        for (one, other) in nightly.regressions.iter_mut().zip(targets) {
            if one.culprit.is_none() && its.iter().any(|its| its.is_same(other)) {
                one.culprit = Some(culprit.clone());
                self.store.add_regression(&NewRegression {
                    culprit: culprit.clone(),
                    target: one.target.clone(),
                    first_seen: self.run,
                })?;
            }
        }
        Ok(())
    }
}
