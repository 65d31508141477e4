//! Runs a program under `ptrace`, stopped only where [`super::filter`] says: at its marks and at what it maps.

use std::{
    collections::BTreeSet,
    io,
    os::unix::process::CommandExt,
    process::Command,
};

use anyhow::{Context, Result, bail, ensure};
use mthp_record::workload::{MARK, Phase};
use nix::{
    errno::Errno,
    libc,
    sys::{
        ptrace::{self, Event, Options},
        signal::Signal,
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

use super::{census::Call, filter};

/// What the watched program just did. It stands still while this is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// It runs its own image and has done nothing yet.
    Started,
    /// It marked a phase; the number counts within the phase.
    Mark(Phase, u64),
    /// A call came back.
    Call(Call),
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// With this exit code.
    Exit(i32),
    /// Of this signal.
    Signal(Signal),
}

/// Starts `command` and calls `seen` for whatever it does, until it ends.
///
/// # Errors
/// When it cannot be started or watched, or `seen` fails.
pub fn watch(mut command: Command, mut seen: impl FnMut(Pid, Seen) -> Result<()>) -> Result<End> {
    let filter = filter::build()?;
    let prepare = move || {
        ptrace::traceme()?;
        seccompiler::apply_filter(&filter).map_err(|error| io::Error::other(error.to_string()))
    };
    // SAFETY: between fork and exec this makes system calls only; it takes no lock and, unless it fails, does not
    // allocate. This process has one thread, so even that would be sound.
    unsafe { command.pre_exec(prepare) };
    let child = command.spawn().with_context(|| format!("failed to start {command:?}"))?;
    let program = Pid::from_raw(i32::try_from(child.id()).context("a process id is no number")?);
    // The stop that an image under `traceme` begins with.
    match waitpid(program, None).context("failed to wait for the program's start")? {
        WaitStatus::Stopped(_, Signal::SIGTRAP) => {}
        other => bail!("the program began with {other:?}"),
    }
    let options = Options::PTRACE_O_TRACESECCOMP
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_EXITKILL;
    ptrace::setoptions(program, options).context("failed to watch the program")?;
    seen(program, Seen::Started)?;
    ptrace::cont(program, None).context("failed to let the program go on")?;

    let mut threads = BTreeSet::from([program]);
    loop {
        let status = match waitpid(None::<Pid>, Some(WaitPidFlag::__WALL)) {
            Err(Errno::EINTR) => continue,
            other => other.context("failed to wait for the program")?,
        };
        match status {
            WaitStatus::Exited(pid, code) if pid == program => return Ok(End::Exit(code)),
            WaitStatus::Signaled(pid, signal, _) if pid == program => return Ok(End::Signal(signal)),
            WaitStatus::PtraceEvent(pid, _, event) if event == Event::PTRACE_EVENT_SECCOMP as i32 => {
                handle(program, pid, &mut seen)?;
            }
            // The other half of a call that `handle` let run to its end: nothing is left to see.
            WaitStatus::PtraceEvent(pid, ..) | WaitStatus::PtraceSyscall(pid) => go_on(pid, None)?,
            // A new thread's first stop is not a signal that somebody sent.
            WaitStatus::Stopped(pid, Signal::SIGSTOP) if threads.insert(pid) => go_on(pid, None)?,
            WaitStatus::Stopped(pid, signal) => go_on(pid, Some(signal))?,
            _ => {}
        }
    }
}

/// A thread may die between its stop and this, with its whole process.
fn go_on(thread: Pid, signal: Option<Signal>) -> Result<()> {
    match ptrace::cont(thread, signal) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error).context("failed to let the program go on"),
    }
}

/// A thread stands before one of the filter's calls.
fn handle(program: Pid, thread: Pid, seen: &mut impl FnMut(Pid, Seen) -> Result<()>) -> Result<()> {
    let Some(before) = registers(thread)? else { return Ok(()) };
    if before.orig_rax == u64::try_from(libc::SYS_prctl)? {
        ensure!(before.rdi == u64::try_from(MARK)?, "the filter stopped at a foreign prctl");
        // A foreign mark is the program's own business.
        if let Some(phase) = Phase::of(before.rsi) {
            seen(program, Seen::Mark(phase, before.rdx))?;
        }
        return go_on(thread, None);
    }
    match ptrace::syscall(thread, None) {
        Err(Errno::ESRCH) => return Ok(()),
        other => other.context("failed to let a call run")?,
    }
    match waitpid(thread, Some(WaitPidFlag::__WALL)).context("failed to wait for a call's end")? {
        WaitStatus::PtraceSyscall(_) => {}
        // It was killed within the call. Its death is told again to the one who waits for all, unless this was it.
        WaitStatus::Exited(..) | WaitStatus::Signaled(..) if thread != program => return Ok(()),
        other => bail!("a call of the program's ended with {other:?}"),
    }
    let Some(after) = registers(thread)? else { return Ok(()) };
    if let Some(call) = call(&before, after.rax)? {
        seen(program, Seen::Call(call))?;
    }
    go_on(thread, None)
}

fn registers(thread: Pid) -> Result<Option<libc::user_regs_struct>> {
    match ptrace::getregs(thread) {
        Ok(registers) => Ok(Some(registers)),
        Err(Errno::ESRCH) => Ok(None),
        Err(error) => Err(error).context("failed to read the program's registers"),
    }
}

/// The call that these registers make and what it gave, or `None` when it failed.
fn call(registers: &libc::user_regs_struct, given: u64) -> Result<Option<Call>> {
    // -4095 to -1 are error numbers.
    if given > u64::MAX - 4095 {
        return Ok(None);
    }
    let size = |value: u64| usize::try_from(value).context("an address is no address");
    // The kernel takes the low half of an int argument.
    let int = |value: u64| i32::from_le_bytes((value as u32).to_le_bytes());
    let (start, len) = (size(registers.rdi)?, size(registers.rsi)?);
    let number = i64::try_from(registers.orig_rax).context("a call's number is no number")?;
    Ok(Some(match number {
        libc::SYS_mmap => Call::Map { start: size(given)?, len, flags: int(registers.r10) },
        libc::SYS_munmap => Call::Unmap { start, len },
        libc::SYS_mremap => {
            Call::Remap { start, len, new_start: size(given)?, new_len: size(registers.rdx)? }
        }
        libc::SYS_brk => Call::Break { end: size(given)? },
        libc::SYS_madvise => Call::Advise { start, len, advice: int(registers.rdx) },
        other => bail!("the filter stopped at the foreign call {other}"),
    }))
}
