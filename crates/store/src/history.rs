//! One check or metric over the runs of a series.

use mthp_record::{
    boot::BootRecord,
    result::{Polarity, Unit},
};
use serde::{Deserialize, Serialize};

use crate::run::{Outcome, Revision, RunId, Series, StoredRun};

/// A good run with what is needed to compare with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Baseline {
    /// The run.
    pub run: StoredRun,
    /// Its boots, without evidence.
    pub boots: Vec<BootRecord>,
}

/// What a check or metric is called: `TEST:NAME` in text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Name {
    /// The test, for example `placement/4632KiB`.
    pub test: String,
    /// Its check or metric, for example `gap-kib`.
    pub name: String,
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.test, self.name)
    }
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Kind {
    /// A contract that holds or does not.
    Check,
    /// A number.
    Metric {
        /// Its unit.
        unit: Unit,
        /// Which way is better, as the test's author saw it last.
        polarity: Polarity,
    },
}

/// What the boots of one run say of a check or metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Measured {
    /// Of a check.
    Check {
        /// Boots in which it held.
        passed: u32,
        /// Boots in which it did not.
        failed: u32,
    },
    /// Of a metric.
    Metric {
        /// The least value.
        low: i64,
        /// The greatest.
        high: i64,
        /// Boots with a value.
        boots: u32,
    },
}

impl Measured {
    /// The least and the greatest value; of a check, 1 where it held and 0 where it did not.
    #[must_use]
    pub fn range(self) -> (i64, i64) {
        match self {
            Self::Check { passed, failed } => (i64::from(failed == 0), i64::from(passed > 0)),
            Self::Metric { low, high, .. } => (low, high),
        }
    }

    /// Boots with a value.
    #[must_use]
    pub fn boots(self) -> u32 {
        match self {
            Self::Check { passed, failed } => passed.saturating_add(failed),
            Self::Metric { boots, .. } => boots,
        }
    }
}

/// One check or metric over all runs of a series, in the order in which they were stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Track {
    /// The series.
    pub series: Series,
    /// What it is called.
    #[serde(flatten)]
    pub name: Name,
    /// What is measured.
    pub measures: Kind,
    /// The runs, the oldest first, from the first on that has a value.
    pub points: Vec<Point>,
}

/// One run of a [`Track`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Point {
    /// The run.
    pub run: RunId,
    /// When it began, RFC 3339.
    pub created: String,
    /// What it tested.
    pub revision: Revision,
    /// What it found.
    pub outcome: Outcome,
    /// The value; `None` where the run has none.
    pub measured: Option<Measured>,
}
