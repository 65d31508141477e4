//! One wish to stop, told to builds and to boots.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use anyhow::Result;
use mthp_vm::stop::StopFlag;

/// Set by Ctrl-C or SIGTERM; every build and boot that has it ends, and leaves nothing running.
#[derive(Clone, Debug)]
pub struct Stop {
    builds: Arc<AtomicBool>,
    boots: StopFlag,
}

impl Stop {
    /// A wish not yet uttered.
    ///
    /// # Errors
    /// When the system gives no pipe.
    pub fn new() -> Result<Self> {
        Ok(Self { builds: Arc::default(), boots: StopFlag::new()? })
    }

    /// Utters it.
    pub fn stop(&self) {
        self.builds.store(true, Ordering::SeqCst);
        self.boots.stop();
    }

    /// Was it uttered?
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.builds.load(Ordering::SeqCst)
    }

    /// For builds.
    #[must_use]
    pub fn builds(&self) -> &AtomicBool {
        &self.builds
    }

    /// For boots.
    #[must_use]
    pub fn boots(&self) -> &StopFlag {
        &self.boots
    }
}
