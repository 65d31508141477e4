//! What was found of each revision, and which are left.

use std::collections::BTreeSet;

use crate::finding::Finding;
use crate::graph::Graph;

/// Places of revisions by what was found of them; a place may be good and bad.
#[derive(Clone, Debug)]
pub(crate) struct Answers {
    good: BTreeSet<usize>,
    bad: BTreeSet<usize>,
    skipped: BTreeSet<usize>,
}

/// The part of a graph in which the culprit is.
pub(super) struct Narrowed {
    /// A bad one that has no bad ancestor.
    pub first_bad: usize,
    /// It and its ancestors, without those that a good one contains. Oldest first.
    pub candidates: Vec<usize>,
}

/// A bad place that a good one contains, or is.
pub(super) struct Clash {
    pub good: usize,
    pub bad: usize,
}

impl Answers {
    pub(super) fn new(graph: &Graph) -> Self {
        Self { good: BTreeSet::new(), bad: BTreeSet::from([graph.head_place()]), skipped: BTreeSet::new() }
    }

    /// Adds a finding, and says whether it was news. A skip says nothing of what has an answer.
    pub(super) fn take(&mut self, place: usize, finding: &Finding) -> bool {
        match finding {
            Finding::Skipped { .. } => !self.is_answered(place) && self.skipped.insert(place),
            Finding::Good | Finding::Bad => {
                self.skipped.remove(&place);
                let answers = if *finding == Finding::Good { &mut self.good } else { &mut self.bad };
                answers.insert(place)
            }
        }
    }

    /// Whether it was found good or bad.
    fn is_answered(&self, place: usize) -> bool {
        self.is_good(place) || self.bad.contains(&place)
    }

    /// Whether it was tried and is itself good.
    pub(super) fn is_good(&self, place: usize) -> bool {
        self.good.contains(&place)
    }

    /// Whether it was never tried.
    pub(crate) fn is_open(&self, place: usize) -> bool {
        !self.is_answered(place) && !self.is_skipped(place)
    }

    /// Whether it could not be tried.
    pub(crate) fn is_skipped(&self, place: usize) -> bool {
        self.skipped.contains(&place)
    }

    /// What is left. Of several bad ones that do not contain each other the oldest counts, as git knows one bad one
    /// only: each of them has a first bad one among its ancestors, but not all must have the same.
    pub(super) fn narrow(&self, graph: &Graph) -> Result<Narrowed, Clash> {
        let known_good = graph.ancestors(self.good.iter().copied());
        if let Some(&bad) = self.bad.iter().find(|&&bad| known_good[bad]) {
            let contains = |&&good: &&usize| graph.ancestors([good])[bad];
            let good = self.good.iter().find(contains).copied().unwrap_or(bad);
            return Err(Clash { good, bad });
        }
        let first_bad = self.bad.first().copied().unwrap_or_else(|| graph.head_place());
        let contained = graph.ancestors([first_bad]);
        let candidates = (0..=first_bad).filter(|&place| contained[place] && !known_good[place]).collect();
        Ok(Narrowed { first_bad, candidates })
    }
}
