//! The search for the revision that brought a regression in.

mod answers;

use std::{error::Error, fmt};

use mthp_judge::text::clean;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    graph::{Graph, Parent, Revision},
    halving,
};
use answers::Answers;

/// What came of trying a revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Finding {
    /// The check held.
    Good,
    /// The check failed.
    Bad,
    /// Neither could be told.
    Skipped {
        /// Why not, in a line.
        reason: String,
    },
}

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
        /// Their ids, oldest first: the first that was found bad, and before it those that were skipped.
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
        match self.graph.place(id) {
            Some(place) => self.answers.take(place, &finding),
            None if !self.graph.is_boundary(id) => return Err(UnknownRevision(id.to_owned())),
            None if finding == Finding::Bad => self.bad_outside = Some(id.to_owned()),
            None => {}
        }
        self.history.push((id.to_owned(), finding));
        Ok(())
    }

    /// What is to be done.
    #[must_use]
    pub fn next(&self) -> Next {
        let narrowed = match self.narrow() {
            Ok(narrowed) => narrowed,
            Err(contradiction) => return contradiction,
        };
        let Narrowed { first_bad, candidates } = &narrowed;
        let may_try = |place: usize| place != *first_bad && !self.answers.is_skipped(place);
        let best = halving::best(self.graph, candidates, may_try, &self.answers);
        if let Some(place) = best {
            return self.attempt(place, &narrowed);
        }
        if candidates.len() > 1 {
            return Next::Range { candidates: self.ids(candidates) };
        }
        self.confirm(&narrowed)
    }

    /// Which revisions may be the culprit, oldest first; none where the findings contradict each other.
    #[must_use]
    pub fn candidates(&self) -> Vec<&'g Revision> {
        let candidates = self.narrow().map(|narrowed| narrowed.candidates).unwrap_or_default();
        candidates.into_iter().map(|place| self.graph.at(place)).collect()
    }
}
