//! Children: in process groups of their own, measured one by one, stopped when asked.

use std::{
    ffi::OsStr,
    fs::File,
    io::{Read, Seek},
    os::{
        fd::{AsFd, AsRawFd, BorrowedFd},
        unix::process::{CommandExt, ExitStatusExt},
    },
    path::Path,
    process::{Command, ExitStatus, Stdio},
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use nix::{
    fcntl::{FcntlArg, FdFlag},
    libc,
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use crate::{Interrupted, cache::writing};

const POLL: Duration = Duration::from_millis(20);
const GRACE: Duration = Duration::from_secs(5);

/// What a child and its own children took.
#[derive(Clone, Copy, Debug, Default)]
pub struct Spent {
    /// On the wall's clock.
    pub wall: Duration,
    /// Of the processors, the system's share included.
    pub cpu: Duration,
}

/// Runs a command with its output in a file, telling `output` what is appended to it.
pub(crate) fn run_logged(
    command: &mut Command,
    log: &Path,
    stop: &AtomicBool,
    mut output: impl FnMut(&[u8]),
) -> Result<(ExitStatus, Spent)> {
    let writer = File::options().create(true).append(true).open(log).map_err(|error| writing(error, log))?;
    let errors = writer.try_clone().context("failed to share the log")?;
    let mut reader = File::open(log).with_context(|| format!("failed to open {}", log.display()))?;
    let mut skipped = Vec::new();
    reader.read_to_end(&mut skipped).with_context(|| format!("failed to read {}", log.display()))?;
    command.stdin(Stdio::null()).stdout(writer).stderr(errors);
    let mut buffer = vec![0; 64 * 1024];
    run(command, stop, || {
        while let Ok(read @ 1..) = reader.read(&mut buffer) {
            output(buffer.get(..read).unwrap_or_default());
        }
    })
}

/// Runs a command to its end; `idle` is called now and then, and once after it.
pub(crate) fn run(
    command: &mut Command,
    stop: &AtomicBool,
    mut idle: impl FnMut(),
) -> Result<(ExitStatus, Spent)> {
    if stop.load(Ordering::Relaxed) {
        return Err(Interrupted.into());
    }
    let started = Instant::now();
    let pid = start(command)?;
    let mut stopped = None::<Instant>;
    loop {
        if let Some((status, cpu)) = reap(pid).with_context(|| format!("failed to wait for {command:?}"))? {
            idle();
            if stopped.is_some() {
                // What ignored the polite signal, and outlived make, goes now.
                let _ = killpg(pid, Signal::SIGKILL);
                return Err(Interrupted.into());
            }
            return Ok((status, Spent { wall: started.elapsed(), cpu }));
        }
        idle();
        match stopped {
            // make passes SIGTERM on, and removes the half written target.
            None if stop.load(Ordering::Relaxed) => {
                let _ = killpg(pid, Signal::SIGTERM);
                stopped = Some(Instant::now());
            }
            Some(since) if since.elapsed() > GRACE => {
                let _ = killpg(pid, Signal::SIGKILL);
            }
            _ => {}
        }
        thread::sleep(POLL);
    }
}

/// Runs a command that must succeed, discarding what it prints but for its last words.
///
/// # Errors
/// When it does not start or does not succeed (with its error output), or the stop flag is raised
/// ([`Interrupted`]).
pub fn run_quiet(command: &mut Command, stop: &AtomicBool) -> Result<Spent> {
    run_with(command, Stdio::null(), stop)
}

/// The same, with what another child prints as its input.
pub(crate) fn run_piped(command: &mut Command, input: impl Into<Stdio>, stop: &AtomicBool) -> Result<Spent> {
    run_with(command, input.into(), stop)
}

/// Gives a command and all its children a share of a lock (`flock`): it is free when the last of them is gone, even
/// where this process is killed and they live on.
pub(crate) fn share(command: &mut Command, lock: &impl AsFd) {
    let lock = lock.as_fd().as_raw_fd();
    // SAFETY: fcntl is async-signal-safe and nothing is allocated. The child has the number: it is a copy of this
    // process, in which the lock is open.
    unsafe {
        command.pre_exec(move || {
            nix::fcntl::fcntl(BorrowedFd::borrow_raw(lock), FcntlArg::F_SETFD(FdFlag::empty()))?;
            Ok(())
        });
    }
}

/// What a short command prints; it must succeed.
///
/// # Errors
/// When it does not start or does not succeed, with its error output.
pub fn capture(command: &mut Command) -> Result<Vec<u8>> {
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("failed to start {command:?}"))?;
    if !output.status.success() {
        bail!(failure(command, output.status, &output.stderr));
    }
    Ok(output.stdout)
}

fn run_with(command: &mut Command, input: Stdio, stop: &AtomicBool) -> Result<Spent> {
    // A nameless file and not a pipe: whatever the child writes, nothing can block on our reading.
    let name = format!("mthp-stderr-{}-{:?}", std::process::id(), thread::current().id());
    let path = std::env::temp_dir().join(name);
    let mut options = File::options();
    let file =
        options.create_new(true).read(true).write(true).open(&path).map_err(|error| writing(error, &path))?;
    let _ = std::fs::remove_file(&path);
    let mut reader = file.try_clone().context("failed to share a temporary file")?;
    command.stdin(input).stdout(Stdio::null()).stderr(file);
    let (status, spent) = run(command, stop, || {})?;
    if !status.success() {
        let mut stderr = Vec::new();
        reader.rewind().context("failed to read a command's error output")?;
        reader.read_to_end(&mut stderr).context("failed to read a command's error output")?;
        bail!(failure(command, status, &stderr));
    }
    Ok(spent)
}

fn failure(command: &Command, status: ExitStatus, stderr: &[u8]) -> String {
    format!("{} ended with {status}: {}", shown(command), String::from_utf8_lossy(stderr).trim_end())
}

/// A command as one would type it.
pub(crate) fn shown(command: &Command) -> String {
    let words: Vec<&OsStr> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
    words.join(OsStr::new(" ")).to_string_lossy().into_owned()
}

fn start(command: &mut Command) -> Result<Pid> {
    command.process_group(0);
    let parent = nix::unistd::getpid();
    // SAFETY: prctl and getppid are async-signal-safe, and nothing is allocated between fork and exec.
    unsafe {
        command.pre_exec(move || {
            // Not SIGKILL: make stops its own children on SIGTERM.
            nix::sys::prctl::set_pdeathsig(Signal::SIGTERM)?;
            if nix::unistd::getppid() != parent {
                return Err(std::io::ErrorKind::Interrupted.into());
            }
            Ok(())
        });
    }
    let child = command.spawn().with_context(|| format!("failed to start {}", shown(command)))?;
    let pid = i32::try_from(child.id()).context("failed to name a child")?;
    Ok(Pid::from_raw(pid))
}

/// The child's end and the CPU time of it and all it waited for; none while it runs.
fn reap(pid: Pid) -> Result<Option<(ExitStatus, Duration)>> {
    let mut status = 0;
    // SAFETY: rusage is plain data, for which all zeroes is a value.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both pointers are to live locals; the child is ours and waited for nowhere else.
    let reaped = unsafe { libc::wait4(pid.as_raw(), &raw mut status, libc::WNOHANG, &raw mut usage) };
    match reaped {
        0 => Ok(None),
        -1 => {
            let error = std::io::Error::last_os_error();
            if error.kind() == std::io::ErrorKind::Interrupted { Ok(None) } else { Err(error.into()) }
        }
        _ => Ok(Some((ExitStatus::from_raw(status), duration(usage.ru_utime) + duration(usage.ru_stime)))),
    }
}

fn duration(time: libc::timeval) -> Duration {
    Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0))
        + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
}
