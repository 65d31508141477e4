//! A part of a test in a forked process of its own: fresh address space, nothing left behind.

use std::{
    fs::File,
    io::{Read, Write},
};

use anyhow::{Context, Result, bail};
use mthp_record::frame::MAX_PAYLOAD;
use nix::{
    sys::{
        signal::raise,
        wait::{WaitStatus, waitpid},
    },
    unistd::{ForkResult, fork, pipe},
};
use serde::{Serialize, de::DeserializeOwned};

/// Runs `work` in a child and gives back what it returned.
///
/// A child that dies of a signal takes this process with it by the same signal: to the runner, the test crashed.
///
/// # Errors
/// Those of `work`, and of the processes themselves.
pub fn isolated<T: Serialize + DeserializeOwned>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let (read_end, write_end) = pipe().context("failed to make a pipe")?;
    // SAFETY: this process has one thread, so the child may do all that the parent may.
    match unsafe { fork() }.context("failed to fork")? {
        ForkResult::Child => {
            drop(read_end);
            let answer = work().map_err(|error| format!("{error:#}"));
            let sent = serde_json::to_vec(&answer)
                .map_err(std::io::Error::from)
                .and_then(|bytes| File::from(write_end).write_all(&bytes));
            std::process::exit(i32::from(sent.is_err()))
        }
        ForkResult::Parent { child } => {
            drop(write_end);
            let mut answer = Vec::new();
            let limit = u64::try_from(MAX_PAYLOAD).unwrap_or(u64::MAX);
            File::from(read_end)
                .take(limit)
                .read_to_end(&mut answer)
                .context("failed to read from a part of the test")?;
            match waitpid(child, None).context("failed to wait for a part of the test")? {
                WaitStatus::Exited(_, 0) => {}
                WaitStatus::Signaled(_, signal, _) => {
                    raise(signal).context("failed to pass a signal on")?;
                    bail!("a part of the test died of {signal}");
                }
                other => bail!("a part of the test ended badly: {other:?}"),
            }
            let answer: std::result::Result<T, String> =
                serde_json::from_slice(&answer).context("a part of the test gave no whole answer")?;
            answer.map_err(anyhow::Error::msg)
        }
    }
}

/// Runs `work` here while a fork of this process does nothing but hold what it inherited.
///
/// # Errors
/// Those of `work`, and of the processes themselves.
pub fn beside_fork<T>(work: impl FnOnce() -> Result<T>) -> Result<T> {
    let (read_end, write_end) = pipe().context("failed to make a pipe")?;
    // SAFETY: this process has one thread, so the child may do all that the parent may.
    match unsafe { fork() }.context("failed to fork")? {
        ForkResult::Child => {
            drop(write_end);
            // It reads the end of the pipe when the parent is through, or gone.
            let _ = File::from(read_end).read(&mut [0]);
            std::process::exit(0)
        }
        ForkResult::Parent { child } => {
            drop(read_end);
            let result = work();
            drop(write_end);
            waitpid(child, None).context("failed to wait for a fork")?;
            result
        }
    }
}
