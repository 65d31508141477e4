//! Regressions that were found, so that one is bisected once and not every night.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::run::{RunId, Series};

/// What a bisection ended in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Culprit {
    /// One commit.
    Commit {
        /// Its whole name.
        commit: String,
        /// The first line of its message.
        subject: String,
    },
    /// One of several that could not be told apart.
    Range {
        /// The last commit that is known to be good.
        good: String,
        /// The first that is known to be bad.
        bad: String,
    },
}

/// A regression to store. Its series is that of its first run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewRegression {
    /// What brought it in.
    pub culprit: Culprit,
    /// What regressed, for example the check's or the metric's name.
    pub target: String,
    /// The run that saw it first.
    pub first_seen: RunId,
}

/// A regression's number in its store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RegressionId(pub(crate) i64);

/// A regression that is still there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Regression {
    /// Its number.
    pub id: RegressionId,
    /// Where it was seen.
    pub series: Series,
    /// What brought it in.
    pub culprit: Culprit,
    /// What regressed.
    pub target: String,
    /// The run that saw it first.
    pub first_seen: RunId,
}
