//! The revisions between a good one and a bad one.

mod error;
mod order;

use std::collections::HashMap;

use mthp_judge::text::harmless;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use error::GraphError;
use order::Edges;

/// A commit, or a patch of a series.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Revision {
    /// What names it: a commit's hash, a patch's file. A line of text, not empty.
    pub id: String,
    /// The ids of its parents, in git's order. Those outside the graph are known to be good.
    pub parents: Vec<String>,
    /// Its title, a line of harmless characters.
    pub subject: String,
}

/// A parent of a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parent<'g> {
    /// One that may have brought the regression in.
    Inside(&'g Revision),
    /// The id of one that is known to be good.
    Outside(&'g str),
}

/// What is reachable from a bad revision (its only head) and not from a good one.
#[derive(Clone, Debug)]
pub struct Graph {
    /// Parents before their children.
    revisions: Vec<Revision>,
    places: HashMap<String, usize>,
    /// Of each revision, the places of its parents within.
    parents: Vec<Vec<usize>>,
}

impl Graph {
    /// Reads what `git log --topo-order --format=%H%x09%P%x09%s GOOD..BAD` prints: an id, its parents, a subject.
    /// Any order of the lines will do.
    ///
    /// # Errors
    /// A line is not of that format, or the revisions are no graph with one head.
    pub fn parse(log: &str) -> Result<Self, GraphError> {
        let mut revisions = Vec::new();
        for (line, number) in log.lines().zip(1..) {
            let wrong = |problem| GraphError::Line { number, problem };
            let mut fields = line.splitn(3, '\t');
            let (Some(id), Some(parents), Some(subject)) = (fields.next(), fields.next(), fields.next())
            else {
                return Err(wrong("has no three fields"));
            };
            // What git takes for an option, or for two names, is none.
            let names =
                |id: &str| !id.is_empty() && !id.starts_with('-') && !id.contains(char::is_whitespace);
            let parents: Vec<String> =
                parents.split(' ').filter(|id| !id.is_empty()).map(str::to_owned).collect();
            if !names(id) || !parents.iter().all(|id| names(id)) {
                return Err(wrong("names no commit"));
            }
            revisions.push(Revision { id: id.to_owned(), parents, subject: subject.to_owned() });
        }
        // A log begins with the newest.
        revisions.reverse();
        Self::new(revisions)
    }

    /// A series of patches (id and subject, the first to apply first) on a base that is good.
    ///
    /// # Errors
    /// The series is empty, or a name comes twice or is none.
    pub fn line(revisions: Vec<(String, String)>, base: String) -> Result<Self, GraphError> {
        let mut parent = base.clone();
        let mut line = Vec::with_capacity(revisions.len());
        for (id, subject) in revisions {
            if id == base {
                return Err(GraphError::Twice(id));
            }
            line.push(Revision { id: id.clone(), parents: vec![parent], subject });
            parent = id;
        }
        Self::new(line)
    }

    /// `given`: in any order; it decides which of two unrelated revisions counts as the older.
    fn new(mut given: Vec<Revision>) -> Result<Self, GraphError> {
        let mut places = HashMap::with_capacity(given.len());
        for (place, revision) in given.iter_mut().enumerate() {
            let ids = std::iter::once(&revision.id).chain(&revision.parents);
            if let Some(id) = ids.into_iter().find(|id| id.is_empty() || id.contains(char::is_control)) {
                return Err(GraphError::Id(id.clone()));
            }
            if places.insert(revision.id.clone(), place).is_some() {
                return Err(GraphError::Twice(revision.id.clone()));
            }
            revision.subject = harmless(&revision.subject);
        }
        let edges = Edges::new(&given, &places);
        let order = edges.oldest_first().map_err(|place| GraphError::Cycle(given[place].id.clone()))?;
        let heads: Vec<String> = (given.iter().zip(&edges.children))
            .filter(|(_, children)| children.is_empty())
            .map(|(revision, _)| revision.id.clone())
            .collect();
        match heads.len() {
            0 => return Err(GraphError::Empty),
            1 => {}
            _ => return Err(GraphError::Heads(heads)),
        }
        let mut given: Vec<Option<Revision>> = given.into_iter().map(Some).collect();
        let revisions: Vec<Revision> = order.iter().filter_map(|&place| given[place].take()).collect();
        let places: HashMap<String, usize> =
            revisions.iter().zip(0..).map(|(revision, place)| (revision.id.clone(), place)).collect();
        let parents = Edges::new(&revisions, &places).parents;
        Ok(Self { revisions, places, parents })
    }

    /// The newest: all others are its ancestors.
    #[must_use]
    pub fn head(&self) -> &Revision {
        // A graph is never empty.
        &self.revisions[self.head_place()]
    }

    /// The revision of a name.
    #[must_use]
    pub fn get(&self, id: &str) -> Option<&Revision> {
        self.place(id).map(|place| &self.revisions[place])
    }

    /// How many revisions there are, 1 at least.
    #[expect(clippy::len_without_is_empty, reason = "it is never empty")]
    #[must_use]
    pub fn len(&self) -> usize {
        self.revisions.len()
    }

    /// The revisions, oldest first: parents before their children.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = &Revision> + ExactSizeIterator {
        self.revisions.iter()
    }

    /// The parents of a revision.
    pub fn parents<'g>(&'g self, revision: &'g Revision) -> impl Iterator<Item = Parent<'g>> {
        revision.parents.iter().map(|id| self.get(id).map_or(Parent::Outside(id), Parent::Inside))
    }

    /// Whether a name is that of a parent outside.
    #[must_use]
    pub fn is_boundary(&self, id: &str) -> bool {
        !self.places.contains_key(id) && self.iter().any(|revision| revision.parents.iter().any(|p| p == id))
    }

    pub(crate) fn place(&self, id: &str) -> Option<usize> {
        self.places.get(id).copied()
    }

    pub(crate) fn head_place(&self) -> usize {
        self.revisions.len() - 1
    }

    pub(crate) fn at(&self, place: usize) -> &Revision {
        &self.revisions[place]
    }

    pub(crate) fn parents_at(&self, place: usize) -> &[usize] {
        &self.parents[place]
    }

    /// Of each place, whether it is one of these or an ancestor of one.
    pub(crate) fn ancestors(&self, of: impl IntoIterator<Item = usize>) -> Vec<bool> {
        let mut marked = vec![false; self.len()];
        of.into_iter().for_each(|place| marked[place] = true);
        for place in (0..self.len()).rev() {
            if marked[place] {
                self.parents_at(place).iter().for_each(|&parent| marked[parent] = true);
            }
        }
        marked
    }
}
