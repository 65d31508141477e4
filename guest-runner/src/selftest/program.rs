//! A selftest's program: started, read within bounds, and nothing of it left behind.

use std::{
    io::{ErrorKind, Read},
    os::{fd::AsFd, unix::process::ExitStatusExt},
    path::Path,
    process::{Command, Stdio},
};

use anyhow::{Context, Result};
use mthp_record::selftest::{PROGRAMS, Selftest};
use nix::{
    fcntl::{FcntlArg, OFlag, fcntl},
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        signal::{Signal, kill},
        wait::waitpid,
    },
    unistd::Pid,
};

/// The most of each of its streams that is kept.
const MAX_OUTPUT: usize = 256 << 10;
/// How long a look at its streams lasts; then it is asked whether it still runs.
const LOOK_MILLIS: u16 = 20;

/// How it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// With this exit code.
    Exit(i32),
    /// Of a signal, in words.
    Signal(String),
}

/// What came of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// How it ended.
    pub end: End,
    /// Its standard output.
    pub output: String,
    /// Its standard error.
    pub complaints: String,
    /// It wrote more than is kept.
    pub cut: bool,
}

/// Runs it to its end; the deadline is kept by who runs this process.
///
/// # Errors
/// When it cannot be started or read.
pub fn run(test: &Selftest, folder: &Path) -> Result<Ran> {
    let path = format!("{PROGRAMS}/{}", test.program);
    // Some execute themselves again, by this path.
    std::os::unix::fs::symlink(&path, folder.join(&test.program)).context("failed to link the program")?;
    // Not by `Command::current_dir`: for that the standard library forks and wants a socket pair, and the guest has no
    // sockets. This process does nothing else.
    std::env::set_current_dir(folder).with_context(|| format!("failed to enter {}", folder.display()))?;
    let mut child = Command::new(&path)
        .args(&test.arguments)
        .env_clear()
        .env("PATH", PROGRAMS)
        .env("HOME", folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("failed to start {path}"))?;
    let mut output = Stream::new(child.stdout.take().context("the program has no output")?)?;
    let mut complaints = Stream::new(child.stderr.take().context("the program has no error output")?)?;
    let status = loop {
        let open: Vec<PollFd<'_>> = [output.poll_fd(), complaints.poll_fd()].into_iter().flatten().collect();
        let mut open = open;
        match poll(&mut open, PollTimeout::from(LOOK_MILLIS)) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => {}
            Err(error) => return Err(error).context("failed to wait for the program"),
        }
        drop(open);
        // Asked first, read then: what it wrote before its end is read after it.
        let status = child.try_wait().context("failed to wait for the program")?;
        output.drain()?;
        complaints.drain()?;
        if let Some(status) = status {
            break status;
        }
    };
    let end = match (status.code(), status.signal()) {
        (Some(code), _) => End::Exit(code),
        (None, Some(number)) => End::Signal(match Signal::try_from(number) {
            Ok(signal) => format!("signal {number} ({signal})"),
            Err(_) => format!("signal {number}"),
        }),
        (None, None) => End::Signal(status.to_string()),
    };
    let cut = output.cut || complaints.cut;
    Ok(Ran { end, output: output.into_text(), complaints: complaints.into_text(), cut })
}

/// Ends every process but this one, which is PID 1: a selftest's children may have left its process group.
pub fn end_leftovers() {
    if std::process::id() != 1 {
        return;
    }
    let _ = kill(Pid::from_raw(-1), Signal::SIGKILL);
    // Until there is none left: one that dies slowly would still hold its memory in the next test.
    while waitpid(None::<Pid>, None).is_ok() {}
}

struct Stream<R> {
    from: R,
    open: bool,
    kept: Vec<u8>,
    cut: bool,
}

impl<R: Read + AsFd> Stream<R> {
    fn new(from: R) -> Result<Self> {
        fcntl(from.as_fd(), FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).context("failed to set up a pipe")?;
        Ok(Self { from, open: true, kept: Vec::new(), cut: false })
    }

    fn poll_fd(&self) -> Option<PollFd<'_>> {
        self.open.then(|| PollFd::new(self.from.as_fd(), PollFlags::POLLIN))
    }

    /// Takes all that is there. A child that the program left may hold the pipe open: its end is not waited for.
    fn drain(&mut self) -> Result<()> {
        let mut buffer = [0; 4096];
        // One that writes without end must not keep this from asking whether it still runs.
        for _ in 0..256 {
            if !self.open {
                break;
            }
            match self.from.read(&mut buffer) {
                Ok(0) => self.open = false,
                Ok(read) => {
                    let room = MAX_OUTPUT - self.kept.len();
                    self.cut |= read > room;
                    self.kept.extend_from_slice(buffer.get(..read.min(room)).unwrap_or_default());
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error).context("failed to read what the program says"),
            }
        }
        Ok(())
    }

    fn into_text(self) -> String {
        String::from_utf8_lossy(&self.kept).into_owned()
    }
}
