//! The search for the revision that brought a regression in.

mod answers;

use std::{error::Error, fmt};

use mthp_judge::text::clean;

use crate::{
    finding::Finding,
    graph::{Graph, Revision},
    halving,
};
pub(crate) use answers::Answers;
use answers::Narrowed;

/// What a search needs, or where it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Next {
    /// A revision is to be tried.
    Try {
        /// Its id.
        revision: String,
        /// How many revisions may be the culprit.
        left: usize,
        /// How many tries are expected to be left, this one among them, if none is a skip.
        steps: usize,
    },
    /// The culprit: it was found bad, and each of its parents was found good or lies outside the graph.
    Culprit {
        /// Its id.
        revision: String,
    },
    /// Any of these may be the culprit, and no more can be told.
    Range {
        /// Their ids, oldest first: the first that was found bad, and before it those that were skipped. Among them is
        /// a skipped parent of it, even if a good revision contains that one.
        candidates: Vec<String>,
    },
    /// A bad revision is contained in a good one (or is the same): the check comes and goes. It is flaky, or it was
    /// fixed and broken again. No culprit can be told.
    Contradiction {
        /// The good one's id.
        good: String,
        /// The bad one's id.
        bad: String,
    },
}

/// A finding of a revision that the graph does not know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownRevision(pub String);

impl fmt::Display for UnknownRevision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to find the revision {} in the graph that is searched", clean(&self.0))
    }
}

impl Error for UnknownRevision {}

/// A search in a graph. Its head is bad and all that lies outside is good from the start.
///
/// It relies on one rule: a revision that contains a bad one is bad, unless something fixed it. What breaks the
/// rule is a [`Next::Contradiction`].
#[derive(Clone, Debug)]
pub struct Search<'g> {
    graph: &'g Graph,
    answers: Answers,
    /// A parent outside that was found bad.
    bad_outside: Option<String>,
    history: Vec<(String, Finding)>,
}

impl<'g> Search<'g> {
    /// A search that knows of nothing but the graph.
    #[must_use]
    pub fn new(graph: &'g Graph) -> Self {
        Self { graph, answers: Answers::new(graph), bad_outside: None, history: Vec::new() }
    }

    /// Takes a finding, of the revision that was asked for or of another: of any that the graph holds, or of a parent
    /// outside.
    ///
    /// A skip does not weaken what was found before. Good and bad of one revision contradict each other.
    ///
    /// # Errors
    /// The graph does not know the revision; nothing is taken.
    pub fn record(&mut self, id: &str, finding: Finding) -> Result<(), UnknownRevision> {
        let news = match self.graph.place(id) {
            Some(place) => self.answers.take(place, &finding),
            None if !self.graph.is_boundary(id) => return Err(UnknownRevision(id.to_owned())),
            // That it is good is known.
            None => finding == Finding::Bad && self.bad_outside.replace(id.to_owned()).is_none(),
        };
        if news {
            self.history.push((id.to_owned(), finding));
        }
        Ok(())
    }

    /// What is to be done.
    #[must_use]
    pub fn next(&self) -> Next {
        let Narrowed { first_bad, candidates } = match self.narrow() {
            Ok(narrowed) => narrowed,
            Err((good, bad)) => return Next::Contradiction { good, bad },
        };
        let open = candidates.iter().filter(|&&place| self.answers.is_open(place)).count();
        if let Some(place) = halving::best(self.graph, &candidates, &self.answers) {
            // The answers part the candidates into one group more than there are to try.
            return self.attempt(place, candidates.len(), (open + 1).next_power_of_two().ilog2() as usize);
        }
        if candidates.len() > 1 {
            return self.range(candidates);
        }
        self.confirm(first_bad)
    }

    /// Which revisions may be the culprit, oldest first; none where the findings contradict each other.
    #[must_use]
    pub fn candidates(&self) -> Vec<&'g Revision> {
        let candidates = self.narrow().map(|narrowed| narrowed.candidates).unwrap_or_default();
        candidates.into_iter().map(|place| self.graph.at(place)).collect()
    }

    /// How many tries are expected to be left, if none is a skip.
    #[must_use]
    pub fn steps_left(&self) -> usize {
        match self.next() {
            Next::Try { steps, .. } => steps,
            Next::Culprit { .. } | Next::Range { .. } | Next::Contradiction { .. } => 0,
        }
    }

    /// The graph that is searched.
    #[must_use]
    pub fn graph(&self) -> &'g Graph {
        self.graph
    }

    /// What was recorded and was news, in that order.
    #[must_use]
    pub fn history(&self) -> &[(String, Finding)] {
        &self.history
    }

    /// What is left, or the ids of a good and a bad one that contradict each other.
    fn narrow(&self) -> Result<Narrowed, (String, String)> {
        if let Some(id) = &self.bad_outside {
            return Err((id.clone(), id.clone()));
        }
        let id = |place| self.graph.at(place).id.clone();
        self.answers.narrow(self.graph).map_err(|clash| (id(clash.good), id(clash.bad)))
    }

    /// One candidate is left, and its parents are good because good ones contain them. Only a parent's own answer makes
    /// the one that is named certain, so those that have none are tried, though the rule says what they are.
    fn confirm(&self, culprit: usize) -> Next {
        let parents = self.graph.parents_at(culprit).iter().copied();
        let doubted: Vec<usize> = parents.filter(|&parent| !self.answers.is_good(parent)).collect();
        let mut open = doubted.iter().copied().filter(|&parent| self.answers.is_open(parent));
        match (open.next(), doubted.is_empty()) {
            (Some(parent), _) => self.attempt(parent, 1, 1 + open.count()),
            (None, true) => Next::Culprit { revision: self.graph.at(culprit).id.clone() },
            (None, false) => self.range(doubted.into_iter().chain([culprit])),
        }
    }

    fn attempt(&self, place: usize, left: usize, steps: usize) -> Next {
        Next::Try { revision: self.graph.at(place).id.clone(), left, steps }
    }

    fn range(&self, places: impl IntoIterator<Item = usize>) -> Next {
        Next::Range { candidates: places.into_iter().map(|place| self.graph.at(place).id.clone()).collect() }
    }
}
