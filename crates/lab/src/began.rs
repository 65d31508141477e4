//! When a run began, and how it ended.

use std::time::Instant;

use anyhow::{Error, Result};
use mthp_judge::report::{Status, Unjudged};
use mthp_kernel::is_bad_input;

use crate::{laboratory::Lab, shard::NothingToDo};

/// When a run began.
#[derive(Debug)]
pub(crate) struct Began {
    started: Instant,
    /// For a record: RFC 3339.
    pub(crate) created: String,
    /// For a folder's name.
    pub(crate) stamp: String,
}

impl Began {
    /// Now.
    pub(crate) fn now() -> Self {
        let now = jiff::Timestamp::now();
        Self {
            started: Instant::now(),
            created: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            stamp: now.strftime("%Y%m%d-%H%M%S").to_string(),
        }
    }

    /// How long ago that was.
    pub(crate) fn millis(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

/// What a record says of a run that ended so: its status, and why it is not complete.
pub(crate) fn ending(lab: &Lab, outcome: &Result<()>) -> (Status, String) {
    match outcome {
        Ok(()) => (Status::Complete, String::new()),
        Err(error) => (unjudged(lab, error).into(), format!("{error:#}")),
    }
}

/// Why a run that failed so has no judgement.
pub(crate) fn unjudged(lab: &Lab, error: &Error) -> Unjudged {
    if lab.stop().is_stopped() {
        Unjudged::Interrupted
    } else if error.is::<NothingToDo>() {
        Unjudged::Empty
    } else if error.chain().any(is_bad_input) {
        Unjudged::Refused
    } else {
        Unjudged::Failed
    }
}
