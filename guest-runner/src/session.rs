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

use crate::{init, misbehave, port::Port, proc, runner, snapshot, suite, thp};

/// Does the job as PID 1 and ends the machine.
pub fn as_init() -> ExitCode {
    if let Err(error) = work() {
        init::console(&format!("the runner failed: {error:#}"));
    }
    init::end_machine()
}

/// Names every test on standard output, a line each; for the host, which runs the same binary.
pub fn list() -> ExitCode {
    let names: String = suite::all().map(|test| format!("{}\n", test.name)).collect();
    match io::stdout().write_all(names.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

fn work() -> Result<()> {
    init::mount_all()?;
    init::harden();
    let text = fs::read_to_string(JOB_PATH).with_context(|| format!("failed to read {JOB_PATH}"))?;
    let job: Job = serde_json::from_str(&text).with_context(|| format!("{JOB_PATH} is no job"))?;
    let port = Port::open()?;
    let calm = thp::Calm::enter()?;
    let tests: Vec<_> = suite::all()
        .filter(|test| job.tests.is_empty() || job.tests.iter().any(|pattern| selects(pattern, test.name)))
        .collect();
    port.send(&Message::Hello {
        nonce: job.nonce,
        tests: tests.iter().map(|test| test.name.to_owned()).collect(),
        identity: snapshot::identity(),
        before: snapshot::take(),
    })?;
    if let Some(fault) = job.misbehave {
        misbehave::before_tests(fault, &port)?;
    }
    let count = misbehave::limit(job.misbehave, tests.len());
    for test in tests.iter().take(count) {
        port.send(&Message::Started { name: test.name.to_owned() })?;
        let mut result = runner::run(test, &job);
        misbehave::spoil(job.misbehave, &mut result);
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
