//! What is kept for each vCPU outside the meter's lock, so that an access costs little.

use mthp_cachemodel::Access;

/// Accesses that are handed over at a time.
const BATCH: usize = 4096;

/// One vCPU's accesses on their way to the meter.
#[derive(Debug)]
pub struct Lane {
    /// The last mark is about the address of the next access.
    pub(crate) ahead: bool,
    /// The running task is in a region.
    pub(crate) recording: bool,
    pub(crate) batch: Vec<Access>,
}

impl Lane {
    /// A vCPU that is in no region.
    #[must_use]
    pub const fn new() -> Self {
        Self { ahead: false, recording: false, batch: Vec::new() }
    }

    /// Is the next access's address an answer to a mark? Whoever asks tells it to [`crate::Meter::told`].
    #[must_use]
    pub fn is_asked(&self) -> bool {
        self.ahead
    }

    /// Does an access count?
    #[must_use]
    pub fn records(&self) -> bool {
        self.recording
    }

    /// Keeps an access. Where it gives back `true` the lane is full: [`crate::Meter::collect`] empties it.
    #[must_use]
    pub fn push(&mut self, access: Access) -> bool {
        self.batch.push(access);
        self.batch.len() >= BATCH
    }
}

impl Default for Lane {
    fn default() -> Self {
        Self::new()
    }
}
