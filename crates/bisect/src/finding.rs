//! What is known of a revision.

use std::fmt;

use mthp_judge::text;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What is known of a revision.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Finding {
    /// What is followed is as at the good end.
    Good,
    /// It is as at the bad end.
    Bad,
    /// Nothing can be said.
    Skipped {
        /// Why.
        reason: String,
    },
}

impl Finding {
    /// Good or bad.
    #[must_use]
    pub fn of(good: bool) -> Self {
        if good { Self::Good } else { Self::Bad }
    }

    /// Skipped, with the reason.
    #[must_use]
    pub fn skipped(reason: impl Into<String>) -> Self {
        Self::Skipped { reason: reason.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Good => f.write_str("good"),
            Self::Bad => f.write_str("bad"),
            Self::Skipped { reason } => write!(f, "skipped: {}", text::clean(reason)),
        }
    }
}
