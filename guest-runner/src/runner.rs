//! One test in a process and a process group of its own, with a deadline.

use std::{
    io::{Read, Write},
    os::{fd::AsFd, unix::process::CommandExt, unix::process::ExitStatusExt},
    process::{Child, Command, ExitCode, ExitStatus, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Context, Result, bail};
use mthp_record::{
    frame::MAX_PAYLOAD,
    job::Job,
    result::{Outcome, TestResult},
    selftest::Selftest,
    workload::Scenario,
};
use nix::{
    poll::{PollFd, PollFlags, PollTimeout, poll},
    sys::{
        personality::{self, Persona},
        signal::{Signal, killpg},
        wait::{WaitPidFlag, WaitStatus, waitpid},
    },
    unistd::Pid,
};

use crate::{
    init,
    needs::Need,
    selftest::{self, Inapplicable, Settings},
    session,
    suite::{self, Findings, Test},
    workload::{self, Killed},
};

/// Something to run in a process of its own.
#[derive(Clone, Copy)]
pub enum Item<'a> {
    /// A test of the registry.
    Test(&'static Test),
    /// A scenario of the job's workload.
    Scenario(&'a Scenario),
    /// One of the kernel's own selftests.
    Selftest(&'a Selftest),
}

impl Item<'_> {
    /// `group/case`.
    pub fn name(&self) -> &str {
        match self {
            Self::Test(test) => test.name,
            Self::Scenario(scenario) => &scenario.name,
            Self::Selftest(test) => &test.name,
        }
    }

    /// What of the guest is missing for it, if something is.
    fn unmet(&self) -> Option<String> {
        let first = |needs: &[Need]| needs.iter().find_map(|need| need.unmet());
        match self {
            Self::Test(test) => first(test.needs),
            Self::Scenario(_) => first(workload::NEEDS),
            Self::Selftest(test) => selftest::unmet(test),
        }
    }

    fn randomised(&self) -> bool {
        match self {
            Self::Test(test) => test.randomised,
            Self::Scenario(_) | Self::Selftest(_) => false,
        }
    }

    fn run(&self, findings: &mut Findings) -> Result<()> {
        match self {
            Self::Test(test) => (test.run)(findings),
            Self::Scenario(scenario) => workload::run(scenario, findings),
            Self::Selftest(test) => selftest::run(test, findings),
        }
    }
}

/// Runs `item` and says what came of it; whatever it does costs only itself.
pub fn run(item: Item<'_>, job: &Job) -> TestResult {
    let outcome = if let Some(reason) = item.unmet() {
        Outcome::NotApplicable { reason }
    } else {
        match in_setting(item, job) {
            Ok(Ended::Answered(result)) if result.name == item.name() => return result,
            Ok(Ended::Answered(result)) => {
                Outcome::Error { message: format!("the test's process answered as {:?}", result.name) }
            }
            Ok(Ended::Died(how)) => Outcome::Crashed { how },
            // How long a real program takes says nothing of a kernel, least of all under emulation.
            Ok(Ended::Late) if matches!(item, Item::Scenario(_)) => {
                Outcome::Error { message: format!("it was not done after {} s", job.test_deadline_secs) }
            }
            Ok(Ended::Late) => Outcome::TimedOut { after_secs: job.test_deadline_secs },
            Err(error) => Outcome::Error { message: format!("{error:#}") },
        }
    };
    empty(item.name(), outcome)
}

/// As [`in_child`], with the settings that the item wants.
fn in_setting(item: Item<'_>, job: &Job) -> Result<Ended> {
    let Item::Selftest(test) = item else { return in_child(item, job) };
    let settings = Settings::enter(&test.settings)?;
    let ended = in_child(item, job);
    selftest::end_leftovers();
    settings.restore()?;
    ended
}

/// The other side: runs the test of that name in this process and writes its result to standard output.
pub fn as_test(name: &str) -> ExitCode {
    let job;
    let item = if let Some(test) = suite::find(name) {
        Item::Test(test)
    } else {
        job = session::job();
        let Some(item) = job.as_ref().ok().and_then(|job| of_job(job, name)) else {
            init::console(&format!("no test is named {name:?}"));
            return ExitCode::from(2);
        };
        item
    };
    let mut findings = Findings::default();
    let result = match item.run(&mut findings) {
        Ok(()) => findings.into_result(name),
        Err(error) => {
            let outcome = if let Some(Killed(how)) = error.downcast_ref() {
                Outcome::Crashed { how: how.clone() }
            } else if let Some(Inapplicable(reason)) = error.downcast_ref() {
                Outcome::NotApplicable { reason: reason.clone() }
            } else {
                Outcome::Error { message: format!("{error:#}") }
            };
            TestResult { evidence: findings.evidence, ..empty(name, outcome) }
        }
    };
    let sent = serde_json::to_vec(&result)
        .map_err(std::io::Error::from)
        .and_then(|bytes| std::io::stdout().lock().write_all(&bytes));
    match sent {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The item of the job that has this name.
fn of_job<'a>(job: &'a Job, name: &str) -> Option<Item<'a>> {
    let scenario = job.scenarios.iter().find(|scenario| scenario.name == name).map(Item::Scenario);
    scenario.or_else(|| job.selftests.iter().find(|test| test.name == name).map(Item::Selftest))
}

/// How a test's process ended.
enum Ended {
    Answered(TestResult),
    Died(String),
    Late,
}

fn empty(name: &str, outcome: Outcome) -> TestResult {
    TestResult {
        name: name.to_owned(),
        outcome,
        checks: Vec::new(),
        metrics: Vec::new(),
        agreements: Vec::new(),
        evidence: std::collections::BTreeMap::new(),
    }
}

fn in_child(item: Item<'_>, job: &Job) -> Result<Ended> {
    // Inherited, and in effect once the child executes its image: placement is repeatable without randomisation.
    personality::set(if item.randomised() { Persona::empty() } else { Persona::ADDR_NO_RANDOMIZE })
        .context("failed to choose whether addresses are randomised")?;
    let deadline = Instant::now() + Duration::from_secs(u64::from(job.test_deadline_secs));
    let mut child = Command::new("/proc/self/exe")
        .args(["--test", item.name()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .process_group(0)
        .spawn()
        .context("failed to start the test's process")?;
    let answer = read_all(&mut child, deadline);
    let status = match &answer {
        Ok(Some(_)) => wait(&mut child, deadline)?,
        _ => None,
    };
    // Whatever is left of it: the late, and the children of the dead.
    let group = Pid::from_raw(i32::try_from(child.id()).context("a process id is no number")?);
    let _ = killpg(group, Signal::SIGKILL);
    let _ = child.wait();
    reap_orphans();
    let (Some(answer), Some(status)) = (answer?, status) else {
        return Ok(Ended::Late);
    };
    if !status.success() {
        return Ok(Ended::Died(words(status)));
    }
    serde_json::from_slice(&answer).map(Ended::Answered).context("the test's process gave no whole answer")
}

fn words(status: ExitStatus) -> String {
    match status.signal() {
        Some(number) => match Signal::try_from(number) {
            Ok(signal) => format!("signal {number} ({signal})"),
            Err(_) => format!("signal {number}"),
        },
        None => status.to_string(),
    }
}

/// All that the child writes, or `None` at the deadline.
fn read_all(child: &mut Child, deadline: Instant) -> Result<Option<Vec<u8>>> {
    let mut pipe = child.stdout.take().context("the test's process has no pipe")?;
    let mut answer = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        // Rounded up, so that the last millisecond is not spent in a loop.
        let millis = u16::try_from(left.as_millis() + 1).unwrap_or(u16::MAX);
        let ready = poll(&mut [PollFd::new(pipe.as_fd(), PollFlags::POLLIN)], PollTimeout::from(millis));
        match ready {
            Ok(0) | Err(nix::errno::Errno::EINTR) => continue,
            Ok(_) => {}
            Err(error) => return Err(error).context("failed to wait for the test's process"),
        }
        match pipe.read(&mut buffer).context("failed to read from the test's process")? {
            0 => return Ok(Some(answer)),
            read => answer.extend_from_slice(buffer.get(..read).unwrap_or_default()),
        }
        // Half of a frame: the result is wrapped in a message.
        if answer.len() > MAX_PAYLOAD / 2 {
            bail!("the test's process answered with more than {} bytes", MAX_PAYLOAD / 2);
        }
    }
}

fn wait(child: &mut Child, deadline: Instant) -> Result<Option<ExitStatus>> {
    loop {
        if let Some(status) = child.try_wait().context("failed to wait for the test's process")? {
            return Ok(Some(status));
        }
        if Instant::now() >= deadline {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_micros(200));
    }
}

/// PID 1 inherits the children of the dead.
fn reap_orphans() {
    while let Ok(status) = waitpid(None::<Pid>, Some(WaitPidFlag::WNOHANG)) {
        if status == WaitStatus::StillAlive {
            break;
        }
    }
}
