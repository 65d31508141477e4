//! Runs a program under `ptrace`, stopped only where [`super::filter`] says: at its marks and at what it maps.

use std::{
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    ffi::CString,
    fs::{self, File},
    io::Write,
    time::{Duration, Instant},
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
    unistd::{ForkResult, Pid, dup2_stderr, dup2_stdout, execve, fork},
};
use seccompiler::BpfProgram;

use super::{census::Call, filter};
use crate::proc;

/// How long a program's threads may go on by themselves once it has loaded. Libraries' workers look for work for some
/// milliseconds before they sleep; under emulation that is longer.
const SETTLES_WITHIN: Duration = Duration::from_secs(5);

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

/// A program to start.
#[derive(Debug)]
pub struct Program {
    /// Its file.
    pub path: CString,
    /// Its arguments, its own name first.
    pub arguments: Vec<CString>,
    /// Its whole environment, `NAME=value`.
    pub environment: Vec<CString>,
    /// Its standard output.
    pub output: File,
    /// Its standard error.
    pub complaints: File,
}

/// Starts a program and calls `seen` for whatever it does, until it ends.
///
/// # Errors
/// When it cannot be started or watched, or `seen` fails.
pub fn watch(program: &Program, mut seen: impl FnMut(Pid, Seen) -> Result<()>) -> Result<End> {
    let filter = filter::build()?;
    // The standard library's `Command` wants a socket pair as soon as something is done before exec; the guest has
    // no sockets.
    // SAFETY: this process has one thread, so the child may do all that the parent may.
    let child = match unsafe { fork() }.context("failed to fork")? {
        ForkResult::Child => become_program(program, Some(&filter)),
        ForkResult::Parent { child } => child,
    };
    // The stop that an image under `traceme` begins with.
    match waitpid(child, None).context("failed to wait for the program's start")? {
        WaitStatus::Stopped(_, Signal::SIGTRAP) => {}
        WaitStatus::Exited(_, code) => return Ok(End::Exit(code)),
        other => bail!("the program began with {other:?}"),
    }
    let options = Options::PTRACE_O_TRACESECCOMP
        | Options::PTRACE_O_TRACECLONE
        | Options::PTRACE_O_TRACESYSGOOD
        | Options::PTRACE_O_EXITKILL;
    ptrace::setoptions(child, options).context("failed to watch the program")?;
    seen(child, Seen::Started)?;
    ptrace::cont(child, None).context("failed to let the program go on")?;
    let mut watcher =
        Watcher { program: child, threads: BTreeSet::from([child]), calls: BTreeMap::new(), seen };
    loop {
        let status = match waitpid(None::<Pid>, Some(WaitPidFlag::__WALL)) {
            Err(Errno::EINTR) => continue,
            other => other.context("failed to wait for the program")?,
        };
        if let Some(end) = watcher.handle(status)? {
            return Ok(end);
        }
    }
}

/// A running program and who is told what it does.
struct Watcher<F> {
    program: Pid,
    /// All threads that were ever seen.
    threads: BTreeSet<Pid>,
    /// The threads within a call, with the registers they entered it with.
    calls: BTreeMap<Pid, libc::user_regs_struct>,
    seen: F,
}

impl<F: FnMut(Pid, Seen) -> Result<()>> Watcher<F> {
    /// Something happened to a thread; gives the program's end, if this was it.
    fn handle(&mut self, status: WaitStatus) -> Result<Option<End>> {
        match status {
            WaitStatus::Exited(pid, code) if pid == self.program => return Ok(Some(End::Exit(code))),
            WaitStatus::Signaled(pid, signal, _) if pid == self.program => {
                return Ok(Some(End::Signal(signal)));
            }
            WaitStatus::PtraceEvent(pid, _, event) if event == Event::PTRACE_EVENT_SECCOMP as i32 => {
                return self.stopped_by_filter(pid);
            }
            WaitStatus::PtraceSyscall(pid) => self.call_ended(pid)?,
            WaitStatus::PtraceEvent(pid, ..) => go_on(pid, None)?,
            // A new thread's first stop is not a signal that somebody sent.
            WaitStatus::Stopped(pid, Signal::SIGSTOP) if self.threads.insert(pid) => go_on(pid, None)?,
            WaitStatus::Stopped(pid, signal) => go_on(pid, Some(signal))?,
            _ => {}
        }
        Ok(None)
    }

    /// A thread stands before one of the filter's calls.
    fn stopped_by_filter(&mut self, thread: Pid) -> Result<Option<End>> {
        let Some(before) = registers(thread)? else { return Ok(None) };
        if before.orig_rax == u64::try_from(libc::SYS_prctl)? {
            ensure!(before.rdi == u64::try_from(MARK)?, "the filter stopped at a foreign prctl");
            // A foreign mark is the program's own business.
            if let Some(phase) = Phase::of(before.rsi) {
                if phase == Phase::Loaded
                    && let Some(end) = self.settle(thread)?
                {
                    return Ok(Some(end));
                }
                (self.seen)(self.program, Seen::Mark(phase, before.rdx))?;
            }
            go_on(thread, None)?;
            return Ok(None);
        }
        // Its end is waited for with everybody else's: the thread may die within it, and another may need this one's
        // watcher to die itself.
        match ptrace::syscall(thread, None) {
            Ok(()) => drop(self.calls.insert(thread, before)),
            Err(Errno::ESRCH) => {}
            Err(error) => return Err(error).context("failed to let a call run"),
        }
        Ok(None)
    }

    /// A call came back.
    fn call_ended(&mut self, thread: Pid) -> Result<()> {
        if let Some(before) = self.calls.remove(&thread)
            && let Some(after) = registers(thread)?
            && let Some(call) = call(&before, after.rax)?
        {
            (self.seen)(self.program, Seen::Call(call))?;
        }
        go_on(thread, None)
    }

    /// Lets all threads but `marker` do what they have to do until they sleep. Threads that a library has just
    /// started may not have run yet: without this it would be chance whether their memory is there.
    fn settle(&mut self, marker: Pid) -> Result<Option<End>> {
        let start = Instant::now();
        while start.elapsed() < SETTLES_WITHIN {
            match waitpid(None::<Pid>, Some(WaitPidFlag::__WALL | WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::StillAlive) if self.others_sleep(marker) => break,
                Ok(WaitStatus::StillAlive) => std::thread::sleep(Duration::from_millis(1)),
                Err(Errno::EINTR) => {}
                other => {
                    if let Some(end) = self.handle(other.context("failed to wait for the program")?)? {
                        return Ok(Some(end));
                    }
                }
            }
        }
        Ok(None)
    }

    fn others_sleep(&self, marker: Pid) -> bool {
        let sleeps = |thread: &Pid| {
            let path = format!("/proc/{}/task/{thread}/stat", self.program);
            // A thread that is gone has nothing left to do.
            fs::read_to_string(path).map_or(true, |stat| proc::stat_fields(&stat).next() == Some("S"))
        };
        self.calls.is_empty() && self.threads.iter().filter(|thread| **thread != marker).all(sleeps)
    }
}

/// Starts a program, does not look at what it does, and waits for its end.
///
/// # Errors
/// When it cannot be started or waited for.
pub fn alone(program: &Program) -> Result<End> {
    // SAFETY: this process has one thread, so the child may do all that the parent may.
    let child = match unsafe { fork() }.context("failed to fork")? {
        ForkResult::Child => become_program(program, None),
        ForkResult::Parent { child } => child,
    };
    match waitpid(child, None).context("failed to wait for the program")? {
        WaitStatus::Exited(_, code) => Ok(End::Exit(code)),
        WaitStatus::Signaled(_, signal, _) => Ok(End::Signal(signal)),
        other => bail!("the program ended with {other:?}"),
    }
}

/// The child's side: never returns to its caller.
fn become_program(program: &Program, filter: Option<&BpfProgram>) -> ! {
    let failed = || -> Result<Infallible> {
        dup2_stdout(&program.output).context("failed to redirect the output")?;
        dup2_stderr(&program.complaints).context("failed to redirect the complaints")?;
        if let Some(filter) = filter {
            ptrace::traceme().context("failed to be watched")?;
            // The filter answers its calls with an error until somebody watches; exec is none of them.
            seccompiler::apply_filter(filter).context("failed to set a seccomp filter")?;
        }
        execve(&program.path, &program.arguments, &program.environment)
            .with_context(|| format!("failed to execute {:?}", program.path))
    };
    let Err(error) = failed();
    let _ = (&program.complaints).write_all(format!("{error:#}\n").as_bytes());
    std::process::exit(127)
}

/// A thread may die between its stop and this, with its whole process.
fn go_on(thread: Pid, signal: Option<Signal>) -> Result<()> {
    match ptrace::cont(thread, signal) {
        Ok(()) | Err(Errno::ESRCH) => Ok(()),
        Err(error) => Err(error).context("failed to let the program go on"),
    }
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
        libc::SYS_mmap => Call::Map { hint: start, start: size(given)?, len, flags: int(registers.r10) },
        libc::SYS_munmap => Call::Unmap { start, len },
        libc::SYS_mremap => {
            Call::Remap { start, len, new_start: size(given)?, new_len: size(registers.rdx)? }
        }
        libc::SYS_brk => Call::Break { end: size(given)? },
        libc::SYS_madvise => Call::Advise { start, len, advice: int(registers.rdx) },
        other => bail!("the filter stopped at the foreign call {other}"),
    }))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A program whose first thread makes calls without end while another ends the whole process.
    const EXITS: &str = r#"
        #include <pthread.h>
        #include <sched.h>
        #include <sys/mman.h>
        #include <unistd.h>
        static void *other(void *unused) {
            for (int i = 0; i < 200; i++) sched_yield();
            _exit(3);
        }
        int main(void) {
            pthread_t thread;
            for (int i = 0; i < 4; i++) pthread_create(&thread, 0, other, 0);
            for (;;) munmap(mmap(0, 4096, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 4096);
        }
    "#;

    #[test]
    fn a_program_that_exits_while_its_leader_is_in_a_call_is_seen_to_end() {
        let folder = tempfile::tempdir().unwrap();
        let (source, program) = (folder.path().join("exits.c"), folder.path().join("exits"));
        fs::write(&source, EXITS).unwrap();
        // The linker that Rust uses is a C compiler.
        let built = Command::new("cc").arg("-pthread").arg("-o").args([&program, &source]).status();
        assert!(built.unwrap().success());
        // Watching waits for whatever child there is, so it is done in a process of its own.
        let mut watcher = Command::new(std::env::current_exe().unwrap());
        watcher.args(["--exact", "--ignored", "workload::watch::tests::watches_a_program"]);
        let output = watcher.env(WATCHED, &program).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    /// Names the program to watch.
    const WATCHED: &str = "MTHP_TEST_WATCHED";

    #[test]
    #[ignore = "a part of the test above"]
    fn watches_a_program() {
        // A watcher that waits for ever dies of this.
        nix::unistd::alarm::set(60);
        let path = CString::new(std::env::var(WATCHED).unwrap()).unwrap();
        let nowhere = || File::options().write(true).open("/dev/null").unwrap();
        let program = Program {
            arguments: vec![path.clone()],
            path,
            environment: Vec::new(),
            output: nowhere(),
            complaints: nowhere(),
        };
        for _ in 0..20 {
            let mut calls = 0;
            let end = watch(&program, |_, seen| {
                calls += u32::from(matches!(seen, Seen::Call(_)));
                Ok(())
            });
            assert_eq!(end.unwrap(), End::Exit(3));
            assert!(calls > 0);
        }
    }
}
