//! QEMU as a child that never outlives us: it ends with this process, with the guard, or on a kill.

use std::{
    fs::File,
    io,
    os::{
        fd::OwnedFd,
        unix::{
            net::UnixStream,
            process::{CommandExt, ExitStatusExt},
        },
    },
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
};

use anyhow::{Context, Result};
use nix::{
    sys::{
        prctl,
        signal::{Signal, killpg},
    },
    unistd::{Pid, getpid, getppid},
};

/// A running QEMU and our ends of its console and its result port. Dropping it kills and reaps QEMU.
#[derive(Debug)]
pub(crate) struct Running {
    child: Child,
    ended: Option<ExitStatus>,
    /// What the guest writes on its console.
    pub console: io::PipeReader,
    /// What it writes on its result port; nothing is ever written to it.
    pub results: UnixStream,
}

/// How QEMU ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// By itself.
    Itself(ExitStatus),
    /// We killed it.
    Killed,
}

impl Running {
    /// Starts `binary` with its own words going to the file `stderr`.
    ///
    /// The thread that calls this must not end before QEMU: the kernel kills QEMU with it.
    pub fn start(binary: &Path, arguments: &[String], stderr: &Path) -> Result<Self> {
        let words = File::create(stderr).with_context(|| format!("failed to create {}", stderr.display()))?;
        let (console, console_end) = io::pipe().context("failed to make the console's pipe")?;
        let (results, results_end) = UnixStream::pair().context("failed to make the result port's socket")?;
        let mut command = Command::new(binary);
        command
            .args(arguments)
            .stdin(Stdio::from(OwnedFd::from(results_end)))
            .stdout(Stdio::from(console_end))
            .stderr(Stdio::from(words))
            // A terminal's Ctrl-C is for us, not for QEMU.
            .process_group(0);
        let us = getpid();
        // SAFETY: between fork and exec only async-signal-safe system calls are made and nothing is allocated.
        unsafe {
            command.pre_exec(move || {
                prctl::set_pdeathsig(Signal::SIGKILL)?;
                // We may have died before the line above.
                if getppid() == us { Ok(()) } else { Err(io::Error::from_raw_os_error(nix::libc::ESRCH)) }
            });
        }
        let child = command.spawn().with_context(|| format!("failed to start {}", binary.display()))?;
        // The command goes here and closes our copies of QEMU's ends, so that its death ends both streams.
        drop(command);
        Ok(Self { child, ended: None, console, results })
    }

    /// Has QEMU ended by itself?
    pub fn ended(&mut self) -> Result<Option<ExitStatus>> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().context("failed to ask for QEMU's end")?;
        }
        Ok(self.ended)
    }

    /// Kills QEMU if it still runs, and reaps it.
    pub fn kill(&mut self) -> Result<End> {
        if let Some(status) = self.ended()? {
            return Ok(End::Itself(status));
        }
        // It leads its group; until it is reaped its number is no one else's.
        if let Ok(group) = i32::try_from(self.child.id()) {
            let _ = killpg(Pid::from_raw(group), Signal::SIGKILL);
        }
        let _ = self.child.kill();
        self.ended = Some(self.child.wait().context("failed to reap QEMU")?);
        Ok(End::Killed)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.kill();
    }
}

/// `status 1` or `signal 9`.
pub(crate) fn in_words(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("status {code}"),
        (None, Some(signal)) => match Signal::try_from(signal) {
            Ok(name) => format!("signal {signal} ({name})"),
            Err(_) => format!("signal {signal}"),
        },
        (None, None) => "an unknown status".to_owned(),
    }
}
