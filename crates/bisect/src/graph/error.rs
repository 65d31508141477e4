//! Why revisions make no graph.

use std::{error::Error, fmt};

use mthp_judge::text::{clean, list};

/// Why revisions make no [`Graph`](super::Graph).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GraphError {
    /// There is no revision.
    Empty,
    /// A line of the log is not of the format.
    Line {
        /// Which, from 1.
        number: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Something that cannot name a revision.
    Id(String),
    /// A revision comes twice, or is the base of its series too.
    Twice(String),
    /// More than one revision has no child: their ids.
    Heads(Vec<String>),
    /// A revision is an ancestor of itself.
    Cycle(String),
}

impl fmt::Display for GraphError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("failed to order the revisions: ")?;
        match self {
            Self::Empty => f.write_str("there is none between good and bad (are the two swapped?)"),
            Self::Line { number, problem } => write!(f, "line {number} of the log {problem}"),
            Self::Id(id) => write!(f, "'{}' cannot name one", clean(id)),
            Self::Twice(id) => write!(f, "{} comes twice", clean(id)),
            Self::Heads(ids) => {
                write!(f, "more than one has no child: {}", list(ids.iter().map(String::as_str), 5))
            }
            Self::Cycle(id) => write!(f, "{} is an ancestor of itself", clean(id)),
        }
    }
}

impl Error for GraphError {}
