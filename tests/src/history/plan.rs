//! Which commit comes where. Pure.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::{Result, ensure};

use super::Fault;

/// A fault that one commit brings in and a later one mends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// What is broken.
    pub fault: Fault,
    /// The first commit that has it.
    pub at: usize,
    /// The first commit that has it no more.
    pub mended: usize,
}

/// Commits that are made on a branch of their own, which a merge brings in right after the last of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Side {
    /// The commit from which the branch forks; 0 is the base.
    pub forks: usize,
    /// The first commit on the branch. Those between the fork and it are on the main line.
    pub first: usize,
    /// The last commit on the branch.
    pub last: usize,
}

impl Side {
    pub(super) fn has(&self, position: usize) -> bool {
        (self.first..=self.last).contains(&position)
    }
}

/// A history to be made. Commits are counted from 1; a merge counts for none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// How many there are on top of the base.
    pub commits: usize,
    /// The patch that is the culprit.
    pub patch: PathBuf,
    /// Its place.
    pub culprit: usize,
    /// What else is broken, and where. Several may be so at once, but one fault only once at a time.
    pub broken: Vec<Broken>,
    /// The side branch, if there is one.
    pub side: Option<Side>,
}

/// Faults where a bisection of 64 commits looks first, and how long they stay.
const USUAL: [(Fault, usize, usize); 4] = [
    (Fault::DoesNotCompile, 15, 3),
    (Fault::PanicsElsewhere, 22, 5),
    (Fault::PanicsAtBoot, 31, 3),
    (Fault::DoesNotLink, 47, 3),
];

impl Plan {
    /// 64 commits with a patch of the caller's as the culprit: two that do not build, one that does not boot, and one
    /// that panics in other tests, each mended a few commits later. They lie where a bisection steps, but never over
    /// the culprit or its parent: the culprit can be told.
    #[must_use]
    pub fn standard(patch: PathBuf, culprit: usize) -> Self {
        let commits = 64;
        let mut taken = vec![culprit];
        let mut broken = Vec::new();
        for (fault, at, length) in USUAL {
            let fits = |at: &usize| {
                let mended = at + length;
                let free = !taken.contains(at) && !taken.contains(&mended);
                *at >= 1 && mended <= commits && free && !(*at..=mended).contains(&culprit)
            };
            let mut near = (0..commits).flat_map(|away| [at + away, at.saturating_sub(away)]);
            if let Some(at) = near.find(fits) {
                taken.extend([at, at + length]);
                broken.push(Broken { fault, at, mended: at + length });
            }
        }
        Self { commits, patch, culprit, broken, side: None }
    }

    /// What is to be done at each place, the first first.
    pub(super) fn steps(&self) -> Result<Vec<Step>> {
        let mut steps = BTreeMap::new();
        let mut put = |position: usize, step: Step| {
            ensure!((1..=self.commits).contains(&position), "there is no commit {position} for {step:?}");
            let before = steps.insert(position, step);
            ensure!(before.is_none(), "commit {position} cannot be both {before:?} and {step:?}");
            Ok(())
        };
        put(self.culprit, Step::Culprit)?;
        for Broken { fault, at, mended } in &self.broken {
            put(*at, Step::Break(*fault))?;
            put(*mended, Step::Mend(*fault))?;
            ensure!(at < mended, "{fault:?} is mended at {mended}, before it is there at {at}");
            let also = self.broken.iter().filter(|other| other.fault == *fault && other.at <= *at).count();
            let over =
                self.broken.iter().filter(|other| other.fault == *fault && other.mended <= *at).count();
            ensure!(also == over + 1, "{fault:?} is there already at {at}");
            let together = self.side.is_none_or(|side| side.has(*at) == side.has(*mended));
            ensure!(together, "{fault:?} is brought in on one branch and mended on another");
        }
        if let Some(side) = &self.side {
            let ordered = side.forks < side.first && side.first <= side.last && side.last <= self.commits;
            ensure!(ordered, "the side branch {side:?} is none");
        }
        Ok((1..=self.commits)
            .map(|position| steps.get(&position).copied().unwrap_or(Step::Harmless))
            .collect())
    }
}

/// What is done at one place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    Harmless,
    Break(Fault),
    Mend(Fault),
    Culprit,
}
