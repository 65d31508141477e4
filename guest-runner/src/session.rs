//! The order of a boot: mounts, job, hello, tests, bye.

use std::{
    fs,
    io::{self, Write},
    process::ExitCode,
};

use anyhow::{Context, Result};
use mthp_record::{
    job::{JOB_PATH, Job, selects},
    message::Message,
};

use crate::{
    init, misbehave,
    port::Port,
    proc,
    runner::{self, Item},
    snapshot, suite, thp, tidy,
};

/// Does the job as PID 1 and ends the machine.
pub fn as_init() -> ExitCode {
    if let Err(error) = work() {
        init::console(&format!("the runner failed: {error:#}"));
    }
    init::end_machine()
}

/// Names every test on standard output, a line each: its name, a tab, its contract. For the host, which runs the
/// same binary.
pub fn list() -> ExitCode {
    let names: String = suite::all().map(|test| format!("{}\t{}\n", test.name, test.contract)).collect();
    match io::stdout().write_all(names.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// The job of this boot.
///
/// # Errors
/// When its file cannot be read or is no job.
pub fn job() -> Result<Job> {
    let text = fs::read_to_string(JOB_PATH).with_context(|| format!("failed to read {JOB_PATH}"))?;
    serde_json::from_str(&text).with_context(|| format!("{JOB_PATH} is no job"))
}

fn work() -> Result<()> {
    init::mount_all()?;
    init::harden();
    let job = job()?;
    let port = Port::open()?;
    let calm = thp::Calm::enter()?;
    let tests = suite::all().filter(|test| job.tests.iter().any(|pattern| selects(pattern, test.name)));
    // The workload goes first, then the selftests: the last tests of the registry fragment memory. A modelled scenario
    // goes last: which pages its files took is not the same in every boot, and tests for the model see that.
    let (modelled, watched): (Vec<_>, Vec<_>) =
        job.scenarios.iter().partition(|scenario| scenario.is_modelled());
    let items: Vec<Item<'_>> = watched
        .into_iter()
        .map(Item::Scenario)
        .chain(job.selftests.iter().map(Item::Selftest))
        .chain(tests.map(Item::Test))
        .chain(modelled.into_iter().map(Item::Scenario))
        .collect();
    port.send(&Message::Hello {
        nonce: job.nonce,
        tests: items.iter().map(|item| item.name().to_owned()).collect(),
        identity: snapshot::identity(),
        before: snapshot::take(),
    })?;
    if let Some(fault) = job.misbehave {
        misbehave::before_tests(fault, &port)?;
    }
    let count = misbehave::limit(job.misbehave, items.len());
    for item in items.iter().take(count) {
        port.send(&Message::Started { name: item.name().to_owned() })?;
        let mut result = runner::run(*item, &job);
        misbehave::spoil(job.misbehave, &mut result);
        tidy::up()?;
        calm.restore()?;
        port.send(&Message::Test { result })?;
    }
    port.send(&Message::Bye {
        tests: u32::try_from(count).context("too many tests")?,
        tainted: proc::number("/proc/sys/kernel/tainted")
            .and_then(|flags| u64::try_from(flags).context("the taint flags are negative"))?,
        after: snapshot::take(),
    })
}
