//! Faults committed on purpose, so that the host's answer to them can be tested with real guests.

use std::{fs, io::Write, process::Command, process::ExitCode};

use anyhow::{Context, Result};
use mthp_record::{
    frame,
    job::Misbehaviour,
    result::{Check, Outcome, TestResult},
};
use nix::unistd::pause;

use crate::{init, mem, port::Port};

const CLEAR_AND_RETITLE: &str = "\x1b[2J\x1b]0;owned\x07\u{9b}31m\r";

/// Commits those faults that happen in place of the first test. Returns for the others.
///
/// # Errors
/// When the fault itself fails.
pub fn before_tests(fault: Misbehaviour, port: &Port) -> Result<()> {
    match fault {
        Misbehaviour::Panic => panic_kernel(),
        Misbehaviour::Hang => loop {
            pause();
        },
        Misbehaviour::Reboot => init::end_machine(),
        Misbehaviour::FloodConsole => flood(),
        Misbehaviour::BrokenFrames => {
            let mut bytes = Vec::new();
            frame::write(&mut bytes, b"{}").context("failed to frame two bytes")?;
            if let Some(byte) = bytes.last_mut() {
                *byte ^= 1;
            }
            port.send_raw(&bytes)
        }
        Misbehaviour::Garbage => port.send_raw(&[0xa5; 4096]),
        Misbehaviour::HugeFrame => {
            let mut bytes = frame::MAGIC.to_vec();
            let length = u32::try_from(frame::MAX_PAYLOAD + 1).unwrap_or(u32::MAX);
            bytes.extend_from_slice(&length.to_le_bytes());
            bytes.extend_from_slice(&[0; 4096]);
            port.send_raw(&bytes)
        }
        Misbehaviour::OutOfMemory => {
            let worker = Command::new("/proc/self/exe").arg("--hog").status();
            init::console(&format!("the hungry worker ended: {worker:?}"));
            Ok(())
        }
        Misbehaviour::Escapes => {
            init::console(CLEAR_AND_RETITLE);
            Ok(())
        }
        Misbehaviour::Truncate => Ok(()),
    }
}

/// How many of `count` tests run.
pub fn limit(fault: Option<Misbehaviour>, count: usize) -> usize {
    if fault == Some(Misbehaviour::Truncate) { count / 2 } else { count }
}

/// Spoils a result.
pub fn spoil(fault: Option<Misbehaviour>, result: &mut TestResult) {
    if fault != Some(Misbehaviour::Escapes) {
        return;
    }
    result.outcome = Outcome::Error { message: format!("{CLEAR_AND_RETITLE}all is well") };
    result.evidence.insert(CLEAR_AND_RETITLE.to_owned(), CLEAR_AND_RETITLE.to_owned());
    result.checks.push(Check {
        name: format!("escape{CLEAR_AND_RETITLE}"),
        promise: CLEAR_AND_RETITLE.to_owned(),
        passed: false,
        observed: CLEAR_AND_RETITLE.to_owned(),
        expected: CLEAR_AND_RETITLE.to_owned(),
    });
}

/// The worker that uses all memory.
pub fn hog() -> ExitCode {
    // Under the runner's own name: it is the runner's death that is played here.
    if let Err(error) = nix::sys::prctl::set_name(c"init") {
        init::console(&format!("failed to take the runner's name: {error}"));
        return ExitCode::FAILURE;
    }
    let mut held = Vec::new();
    while let Ok(area) = mem::map(mem::Kind::Private, 64 * mem::MIB) {
        area.touch();
        held.push(area);
    }
    init::console("the hungry worker ran out of addresses before memory");
    ExitCode::FAILURE
}

fn panic_kernel() -> ! {
    let _ = fs::write("/proc/sys/kernel/sysrq", "1");
    let _ = fs::write("/proc/sysrq-trigger", "c");
    // Without sysrq: the kernel panics when PID 1 ends.
    std::process::exit(1)
}

fn flood() -> ! {
    let line = format!("{}\n", "all work and no play makes a dull console ".repeat(5));
    loop {
        if let Ok(mut console) = fs::OpenOptions::new().write(true).open("/dev/console") {
            while console.write_all(line.as_bytes()).is_ok() {}
        }
    }
}
