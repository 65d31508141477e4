//! The user's wish to stop, told to every running boot at once.

use std::{
    io::{PipeReader, PipeWriter, Write},
    os::fd::{AsFd, BorrowedFd},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use anyhow::{Context, Result};

/// Set once, from a signal's thread or anywhere; wakes every boot that waits in poll.
#[derive(Clone, Debug)]
pub struct StopFlag(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    stopped: AtomicBool,
    /// Never read, so that one byte keeps waking every poll.
    wake: PipeReader,
    waker: PipeWriter,
}

impl StopFlag {
    /// A flag that is not set.
    ///
    /// # Errors
    /// When the system gives no pipe.
    pub fn new() -> Result<Self> {
        let (wake, waker) = std::io::pipe().context("failed to make the pipe that wakes a boot")?;
        Ok(Self(Arc::new(Inner { stopped: AtomicBool::new(false), wake, waker })))
    }

    /// Stops every boot that has this flag. More than one call does nothing more.
    pub fn stop(&self) {
        if !self.0.stopped.swap(true, Ordering::SeqCst) {
            // An empty pipe takes one byte; without it, the flag is seen at the next turn of the loop.
            let _ = (&self.0.waker).write_all(&[1]);
        }
    }

    /// Was it set?
    #[must_use]
    pub fn is_stopped(&self) -> bool {
        self.0.stopped.load(Ordering::SeqCst)
    }

    /// Readable from the moment it is set.
    pub(crate) fn wake_fd(&self) -> BorrowedFd<'_> {
        self.0.wake.as_fd()
    }
}
