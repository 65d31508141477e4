//! What a run is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What must be the same for two runs to be set against each other.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Series {
    /// A name for where the revisions come from, for example `linux`.
    pub tree: String,
    /// The branch whose head is tested.
    pub branch: String,
    /// The machine that runs the guests.
    pub host: String,
    /// `kvm` or `tcg`.
    pub accelerator: String,
    /// The suite's name.
    pub suite: String,
}

/// The revision that a run tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Revision {
    /// The commit's whole name in hexadecimal digits.
    pub commit: String,
    /// The first line of its message.
    pub subject: String,
    /// When it was committed, RFC 3339.
    pub committed: String,
    /// How many commits lie before it, where that is known.
    pub position: Option<u64>,
}

/// The digits of a commit that are shown.
const SHORT: usize = 12;

impl Revision {
    /// The commit's first 12 digits.
    #[must_use]
    pub fn short(&self) -> String {
        short(&self.commit)
    }
}

/// A commit's first 12 digits.
pub(crate) fn short(commit: &str) -> String {
    commit.chars().take(SHORT).collect()
}

/// What a run found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Outcome {
    /// Nothing is worse than in the last good run, or there is none: the next run is compared with this one.
    Good,
    /// Something is worse than in the last good run.
    Regressed {
        /// What.
        reason: String,
    },
    /// The kernel could not be built, or it does not boot.
    Failed {
        /// Why.
        reason: String,
    },
    /// The run cannot tell: it is inconclusive, or the machinery failed.
    Unjudged {
        /// Why.
        reason: String,
    },
}

impl Outcome {
    /// In a word.
    #[must_use]
    pub fn word(&self) -> &'static str {
        match self {
            Self::Good => "good",
            Self::Regressed { .. } => "regressed",
            Self::Failed { .. } => "failed",
            Self::Unjudged { .. } => "unjudged",
        }
    }

    /// Why it is not good.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match self {
            Self::Good => None,
            Self::Regressed { reason } | Self::Failed { reason } | Self::Unjudged { reason } => Some(reason),
        }
    }
}

/// One run: everything but its values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Where it belongs.
    pub series: Series,
    /// When it began, RFC 3339.
    pub created: String,
    /// What it tested.
    pub revision: Revision,
    /// The hash of the suite's file.
    pub suite_sha256: String,
    /// The hash of `vmlinux`; `None` where none was built.
    pub image_sha256: Option<String>,
    /// The tool's version.
    pub tool_version: String,
    /// What it found.
    pub outcome: Outcome,
    /// The report's folder.
    pub report: String,
    /// The time of the build by the clock; `None` where there was none.
    pub build_millis: Option<u64>,
    /// The time of all boots by the clock; `None` where there was none.
    pub boots_millis: Option<u64>,
}

/// A run's number in its store. Later runs have greater numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(pub(crate) i64);

impl std::fmt::Display for RunId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

/// A run as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredRun {
    /// Its number.
    pub id: RunId,
    /// The run.
    #[serde(flatten)]
    pub run: Run,
}

/// Which series: those that have every value that is given here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// [`Series::tree`].
    pub tree: Option<String>,
    /// [`Series::branch`].
    pub branch: Option<String>,
    /// [`Series::host`].
    pub host: Option<String>,
    /// [`Series::accelerator`].
    pub accelerator: Option<String>,
    /// [`Series::suite`].
    pub suite: Option<String>,
}

/// A value of a [`Filter`] that no series has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unknown {
    /// What it is a value of, for example `branch`.
    pub what: &'static str,
    /// The value.
    pub value: String,
    /// Those there are, sorted.
    pub known: Vec<String>,
}

impl Filter {
    /// Exactly this series.
    #[must_use]
    pub fn of(series: &Series) -> Self {
        Self {
            tree: Some(series.tree.clone()),
            branch: Some(series.branch.clone()),
            host: Some(series.host.clone()),
            accelerator: Some(series.accelerator.clone()),
            suite: Some(series.suite.clone()),
        }
    }

    /// Does it let the series through?
    #[must_use]
    pub fn selects(&self, series: &Series) -> bool {
        self.parts(series).iter().all(|(_, wanted, has)| wanted.is_none_or(|wanted| wanted == *has))
    }

    /// The first value that none of `all` has.
    #[must_use]
    pub fn unknown(&self, all: &[Series]) -> Option<Unknown> {
        let first = all.first()?;
        self.parts(first).into_iter().enumerate().find_map(|(at, (what, wanted, _))| {
            let wanted = wanted?;
            let mut known: Vec<String> =
                all.iter().map(|series| self.parts(series)[at].2.to_owned()).collect();
            known.sort();
            known.dedup();
            let is_known = known.iter().any(|known| known == wanted);
            (!is_known).then(|| Unknown { what, value: wanted.to_owned(), known })
        })
    }

    fn parts<'a>(&'a self, series: &'a Series) -> [(&'static str, Option<&'a str>, &'a str); 5] {
        [
            ("tree", self.tree.as_deref(), &series.tree),
            ("branch", self.branch.as_deref(), &series.branch),
            ("host", self.host.as_deref(), &series.host),
            ("accelerator", self.accelerator.as_deref(), &series.accelerator),
            ("suite", self.suite.as_deref(), &series.suite),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn a_filter_selects_by_what_it_names() {
        let series = sample::series("main", "one");
        assert!(Filter::default().selects(&series));
        assert!(Filter::of(&series).selects(&series));
        for other in [
            Series { tree: "x".to_owned(), ..series.clone() },
            Series { branch: "x".to_owned(), ..series.clone() },
            Series { host: "x".to_owned(), ..series.clone() },
            Series { accelerator: "x".to_owned(), ..series.clone() },
            Series { suite: "x".to_owned(), ..series.clone() },
        ] {
            assert!(!Filter::of(&series).selects(&other), "{other:?}");
        }
    }

    #[test]
    fn a_value_that_no_series_has_is_unknown() {
        let all = [sample::series("main", "two"), sample::series("main", "one")];
        let filter =
            Filter { branch: Some("main".to_owned()), host: Some("three".to_owned()), ..Filter::default() };
        let unknown = filter.unknown(&all).unwrap();
        assert_eq!((unknown.what, unknown.value.as_str()), ("host", "three"));
        assert_eq!(unknown.known, ["one", "two"]);
        assert_eq!(Filter::default().unknown(&all), None);
        assert_eq!(filter.unknown(&[]), None);
    }
}
