//! One boot, from QEMU's start to its end, watched by one thread that waits in poll.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Read, Write},
    os::fd::AsFd,
    path::Path,
    process::ExitStatus,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use mthp_record::{
    boot::{BootOutcome, BootRecord, KernelFailure, Phase},
    message::Snapshot,
    result::TestResult,
};
use nix::{
    errno::Errno,
    poll::{PollFd, PollFlags, PollTimeout, poll},
};

use crate::{
    console::Console,
    machine,
    plan::BootPlan,
    process::{self, End, Running},
    qemu::Qemu,
    stop::StopFlag,
    stream::{ResultStream, Step},
    text::printable,
    tsc,
};

/// The most that a guest may write on its console; a whole boot writes some tens of KiB.
pub const MAX_CONSOLE: usize = 4 << 20;
/// What the problem of a flooded console begins with.
pub const FLOODED: &str = "the console was flooded";
/// After the console told a failure: for the rest of its trace.
const TRACE: Duration = Duration::from_secs(2);
/// From the end of both streams to QEMU's.
const LEAVE: Duration = Duration::from_secs(10);
/// The longest wait without a look at whether QEMU still runs.
const TURN: Duration = Duration::from_millis(500);
/// Taint flags that tell of a broken kernel: machine check, bad page, died, soft lockup.
const BROKEN_TAINT: [(u64, KernelFailure); 4] = [
    (1 << 7, KernelFailure::Oops),
    (1 << 5, KernelFailure::Oops),
    (1 << 14, KernelFailure::SoftLockup),
    (1 << 4, KernelFailure::Oops),
];

/// What happens in a boot, as it happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// QEMU was started.
    Started,
    /// A line of the console, printable.
    ConsoleLine(String),
    /// The guest is up and will run these tests.
    Hello {
        /// Their names.
        tests: Vec<String>,
        /// Since QEMU's start.
        millis: u64,
    },
    /// A test began.
    TestStarted(String),
    /// A test ended.
    TestFinished(TestResult),
    /// The console told a failure: its line.
    Failure(String),
    /// QEMU is gone.
    Ended(BootOutcome),
}

/// The record of a boot that has not begun: to be written before it does, so that a killed run is no pass.
#[must_use]
pub fn not_finished(qemu: &Qemu, plan: &BootPlan) -> BootRecord {
    let mut command = vec![qemu.binary.display().to_string()];
    command.extend(machine::arguments(plan, tsc::host_khz()));
    BootRecord {
        side: plan.side,
        index: plan.index,
        outcome: BootOutcome::NotFinished,
        identity: None,
        announced: Vec::new(),
        tests: Vec::new(),
        before: Snapshot::default(),
        after: Snapshot::default(),
        tainted: None,
        console: plan.console_name(),
        qemu_command: command,
        boot_millis: None,
        total_millis: 0,
    }
}

/// Boots a kernel, follows it to its end and says how it ended. No QEMU is left, whatever happens: if this
/// process is killed, the kernel kills QEMU with it.
///
/// # Errors
/// When QEMU cannot be started or the folder not be written: the machinery's failure before there was a boot.
pub fn boot(
    qemu: &Qemu,
    plan: &BootPlan,
    stop: &StopFlag,
    events: &(dyn Fn(Event) + Sync),
) -> Result<BootRecord> {
    let mut record = not_finished(qemu, plan);
    let log = plan.folder.join(plan.console_name());
    let stderr = plan.folder.join(plan.stderr_name());
    let log = File::create(&log).with_context(|| format!("failed to create {}", log.display()))?;
    let started = Instant::now();
    let arguments = record.qemu_command.get(1..).unwrap_or_default();
    let running = Running::start(&qemu.binary, arguments, &stderr)?;
    events(Event::Started);
    let mut watch = Watch {
        plan,
        events,
        started,
        progress: started,
        hello: None,
        running,
        console: Console::default(),
        console_bytes: 0,
        console_open: true,
        stream: ResultStream::new(plan.nonce),
        results_open: true,
        trace_until: None,
        log: BufWriter::new(log),
    };
    let verdict = watch.follow(stop)?;
    let end = watch.running.kill()?;
    watch.drain_console()?;
    watch.console.finish(|line| {
        let _ = writeln!(watch.log, "{line}");
        events(Event::ConsoleLine(line.to_owned()));
    });
    record.outcome = watch.judge(verdict, end, &stderr);
    if let BootOutcome::BadStream { problem } = &record.outcome {
        let _ = writeln!(watch.log, "-- mthp-regress: {problem}; QEMU was killed");
    }
    watch.log.flush().with_context(|| format!("failed to write {}", plan.console_name()))?;
    record.boot_millis = watch.hello.map(|at| millis(at - started));
    record.total_millis = millis(started.elapsed());
    let results = watch.stream.into_results();
    record.identity = results.identity;
    record.announced = results.announced;
    record.tests = results.tests;
    record.before = results.before;
    record.after = results.after;
    record.tainted = results.tainted;
    events(Event::Ended(record.outcome.clone()));
    Ok(record)
}

/// Why the watch ended.
enum Verdict {
    /// QEMU ended by itself.
    Left,
    /// We know enough; QEMU is to be killed.
    Kill(BootOutcome),
    /// The console told a failure; it knows which.
    Told,
}

struct Watch<'a> {
    plan: &'a BootPlan,
    events: &'a (dyn Fn(Event) + Sync),
    started: Instant,
    /// When the guest last said something on its port.
    progress: Instant,
    hello: Option<Instant>,
    running: Running,
    console: Console,
    console_bytes: usize,
    console_open: bool,
    stream: ResultStream,
    results_open: bool,
    trace_until: Option<Instant>,
    log: BufWriter<File>,
}

impl Watch<'_> {
    fn follow(&mut self, stop: &StopFlag) -> Result<Verdict> {
        let mut buffer = vec![0; 1 << 16];
        loop {
            let (deadline, expired) = self.deadline();
            let now = Instant::now();
            if now >= deadline {
                return Ok(expired);
            }
            let ready = self.wait(stop, (deadline - now).min(TURN))?;
            if stop.is_stopped() {
                return Ok(Verdict::Kill(BootOutcome::Interrupted));
            }
            if ready.console && self.read_console(&mut buffer)? {
                let problem = format!("{FLOODED}: more than {} MiB", MAX_CONSOLE >> 20);
                return Ok(Verdict::Kill(BootOutcome::BadStream { problem }));
            }
            if ready.results
                && let Err(problem) = self.read_results(&mut buffer)?
            {
                return Ok(Verdict::Kill(BootOutcome::BadStream { problem }));
            }
            if !self.console_open && !self.results_open {
                return self.wait_for_end(stop);
            }
            // An end that left a stream open (a child of QEMU's holds it): all that was written has been read.
            if ready.nothing && self.running.ended()?.is_some() {
                return Ok(Verdict::Left);
            }
        }
    }

    /// The nearest deadline and what it means.
    fn deadline(&self) -> (Instant, Verdict) {
        if let Some(until) = self.trace_until {
            return (until, Verdict::Told);
        }
        let deadlines = self.plan.deadlines;
        let (from, secs) = if !self.stream.has_hello() {
            (self.started, deadlines.boot_secs)
        } else if self.stream.has_bye() || self.stream.current_test().is_none() {
            (self.progress, deadlines.shutdown_secs())
        } else {
            (self.progress, deadlines.host_test_secs())
        };
        let own = (from + seconds(secs), secs);
        let run = (self.started + seconds(deadlines.run_secs), deadlines.run_secs);
        let (at, after_secs) = if run.0 < own.0 { run } else { own };
        (at, Verdict::Kill(BootOutcome::SilentHang { phase: self.phase(), after_secs }))
    }

    fn phase(&self) -> Phase {
        if !self.stream.has_hello() {
            return Phase::Boot;
        }
        match self.stream.current_test() {
            Some(name) => Phase::Test(name.to_owned()),
            None => Phase::Shutdown,
        }
    }

    fn wait(&self, stop: &StopFlag, timeout: Duration) -> Result<Ready> {
        let mut fds = vec![PollFd::new(stop.wake_fd(), PollFlags::POLLIN)];
        // A closed end would wake poll again and again: it is left out.
        if self.console_open {
            fds.push(PollFd::new(self.running.console.as_fd(), PollFlags::POLLIN));
        }
        if self.results_open {
            fds.push(PollFd::new(self.running.results.as_fd(), PollFlags::POLLIN));
        }
        wait_for(&mut fds, timeout)?;
        let mut ready = fds.iter().skip(1).map(|fd| fd.any().unwrap_or(false));
        let console = self.console_open && ready.next().unwrap_or(false);
        let results = self.results_open && ready.next().unwrap_or(false);
        Ok(Ready { console, results, nothing: !console && !results })
    }

    /// Reads what a dead QEMU left in the pipe: it may be the words that say why.
    fn drain_console(&mut self) -> Result<()> {
        let mut buffer = vec![0; 1 << 16];
        while self.console_open && self.console_bytes <= MAX_CONSOLE {
            let mut fds = [PollFd::new(self.running.console.as_fd(), PollFlags::POLLIN)];
            wait_for(&mut fds, Duration::ZERO)?;
            if !fds.iter().any(|fd| fd.any().unwrap_or(false)) {
                break;
            }
            self.read_console(&mut buffer)?;
        }
        Ok(())
    }

    /// Reads once; says whether the console is flooded.
    fn read_console(&mut self, buffer: &mut [u8]) -> Result<bool> {
        let count = read(&mut self.running.console, buffer).context("failed to read the console")?;
        let bytes = buffer.get(..count).unwrap_or_default();
        self.console_open = count > 0;
        self.console_bytes = self.console_bytes.saturating_add(count);
        let (log, events) = (&mut self.log, self.events);
        let mut written = Ok(());
        self.console.push(bytes, |line| {
            if written.is_ok() {
                written = writeln!(log, "{line}");
            }
            events(Event::ConsoleLine(line.to_owned()));
        });
        written
            .and_then(|()| self.log.flush())
            .with_context(|| format!("failed to write {}", self.plan.console_name()))?;
        if let (None, Some(told)) = (self.trace_until, self.console.told()) {
            self.trace_until = Some(Instant::now() + TRACE);
            (self.events)(Event::Failure(told.line.clone()));
        }
        Ok(self.console_bytes > MAX_CONSOLE)
    }

    fn read_results(&mut self, buffer: &mut [u8]) -> Result<Result<(), String>> {
        let count = match read(&mut self.running.results, buffer) {
            // QEMU died with bytes unread that it was sent; none are ever sent, but a reset is an end.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
            other => other.context("failed to read the result port")?,
        };
        self.results_open = count > 0;
        let now = Instant::now();
        let (started, events) = (self.started, self.events);
        let (hello, progress) = (&mut self.hello, &mut self.progress);
        Ok(self.stream.push(buffer.get(..count).unwrap_or_default(), |stream, step| {
            *progress = now;
            match step {
                Step::Hello(tests) => {
                    *hello = Some(now);
                    events(Event::Hello { tests, millis: millis(now - started) });
                }
                Step::Started(name) => events(Event::TestStarted(name)),
                Step::Test => {
                    if let Some(result) = stream.tests().last() {
                        events(Event::TestFinished(result.clone()));
                    }
                }
                Step::Bye => {}
            }
        }))
    }

    /// Both streams ended, so QEMU is on its way out; one that is not is killed.
    fn wait_for_end(&mut self, stop: &StopFlag) -> Result<Verdict> {
        let until = Instant::now() + LEAVE;
        while self.running.ended()?.is_none() {
            if stop.is_stopped() {
                return Ok(Verdict::Kill(BootOutcome::Interrupted));
            }
            if Instant::now() >= until {
                let message = format!("it closed its streams and did not end within {} s", LEAVE.as_secs());
                return Ok(Verdict::Kill(BootOutcome::QemuFailed { message }));
            }
            wait_for(&mut [PollFd::new(stop.wake_fd(), PollFlags::POLLIN)], Duration::from_millis(2))?;
        }
        Ok(Verdict::Left)
    }

    /// The outcome. A failure that the console told comes before all but the user's stop; a success needs
    /// every witness: the stream, the console, the taint and QEMU's status.
    fn judge(&self, verdict: Verdict, end: End, stderr: &Path) -> BootOutcome {
        if let Verdict::Kill(BootOutcome::Interrupted) = verdict {
            return BootOutcome::Interrupted;
        }
        if let Some(told) = self.console.told() {
            return BootOutcome::KernelFailed { failure: told.failure, line: told.line.clone() };
        }
        match (verdict, end) {
            (Verdict::Kill(outcome), _) => outcome,
            (_, End::Itself(status)) if !status.success() => {
                BootOutcome::QemuFailed { message: last_words(status, stderr) }
            }
            (Verdict::Left, End::Itself(_)) if self.stream.is_complete() => self.judge_taint(),
            _ => BootOutcome::EndedEarly { phase: self.phase() },
        }
    }

    fn judge_taint(&self) -> BootOutcome {
        let tainted = self.stream.tainted().unwrap_or_default();
        match BROKEN_TAINT.iter().find(|(flag, _)| tainted & flag != 0) {
            Some((_, failure)) => BootOutcome::KernelFailed {
                failure: *failure,
                line: format!("the kernel's taint flags at the end: {tainted}"),
            },
            None => BootOutcome::Completed,
        }
    }
}

struct Ready {
    console: bool,
    results: bool,
    nothing: bool,
}

fn wait_for(fds: &mut [PollFd<'_>], timeout: Duration) -> Result<()> {
    // Rounded up: a timeout of 0 would spin until the deadline.
    let timeout = u16::try_from(timeout.as_millis().saturating_add(1)).unwrap_or(u16::MAX);
    match poll(fds, PollTimeout::from(timeout)) {
        Ok(_) | Err(Errno::EINTR) => Ok(()),
        Err(error) => Err(error).context("failed to wait for QEMU"),
    }
}

fn read(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match from.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

/// QEMU's status and the end of what it wrote on its standard error.
fn last_words(status: ExitStatus, stderr: &Path) -> String {
    const LINES: usize = 5;
    let text = fs::read(stderr).unwrap_or_default();
    let text = String::from_utf8_lossy(text.get(text.len().saturating_sub(4096)..).unwrap_or_default());
    let lines: Vec<_> = text.lines().map(printable).filter(|line| !line.trim().is_empty()).collect();
    let words = lines.get(lines.len().saturating_sub(LINES)..).unwrap_or_default().join("; ");
    let status = process::in_words(status);
    if words.is_empty() {
        format!("it ended with {status}")
    } else {
        format!("it ended with {status}: {words}")
    }
}

fn seconds(count: u32) -> Duration {
    Duration::from_secs(u64::from(count))
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
