//! Two threads on one CPU, each with an array and a region of its own, that hand the CPU to each other inside it:
//! each must be charged for its own accesses and no others.

use std::sync::{
    Barrier,
    atomic::{AtomicI64, Ordering},
};

use anyhow::{Context, Result, anyhow};
use mthp_mark::Region;
use nix::{
    errno::Errno,
    libc,
    sys::resource::{UsageWho, getrusage},
};
use serde::{Deserialize, Serialize};

use super::{
    access::{load, slice},
    cost_test,
    measure::{Asked, Facts, Inside, Measured, map_and_touch, prepare, tell_huge},
};
use crate::{
    isolate::isolated,
    mem::{self, MIB},
    suite::{Findings, Test},
};

/// The one case.
pub const TESTS: &[Test] = &[cost_test!("cost/threads", run)];

const PARTS: [&str; 2] = ["a", "b"];
/// How many loads each asks for.
const LOADS: [usize; 2] = [100_000, 50_000];
/// After so many loads it lets the other one run.
const TURN: usize = 500;
/// Words in a cache line.
const LINE: usize = 64 / size_of::<usize>();
/// A thread that was taken off the CPU less often than this did not share it.
const FEWEST_SWITCHES: i64 = 10;

#[derive(Debug, Serialize, Deserialize)]
struct Report {
    measured: Measured,
    switches: i64,
}

fn run(findings: &mut Findings, name: &str) -> Result<()> {
    let reports = isolated(|| measure(name))?;
    for ((part, loads), report) in PARTS.into_iter().zip(LOADS).zip(reports) {
        report.measured.report(findings, &format!("{part}."), expected(loads));
        findings.check(
            &format!("{part}.shares-the-cpu"),
            "the thread was taken off the CPU inside its region, again and again",
            report.switches >= FEWEST_SWITCHES,
            true,
        );
    }
    Ok(())
}

fn measure(name: &str) -> Result<Vec<Report>> {
    let _arranged = prepare(0, 0, PARTS.len() * MIB)?;
    let mut areas = map_and_touch(PARTS.len(), MIB)?;
    for area in &mut areas {
        slice(area).iter_mut().enumerate().for_each(|(index, place)| *place = index);
    }
    let facts: Vec<_> =
        areas.iter().map(|area| Facts::of(std::slice::from_ref(area))).collect::<Result<_>>()?;
    let (ready, go) = (Barrier::new(PARTS.len() + 1), Barrier::new(PARTS.len() + 1));
    let done = Barrier::new(PARTS.len());
    let faults = AtomicI64::new(0);
    let work = |part: usize, numbers: &[usize]| -> Result<(usize, i64)> {
        let (name, loads) = (format!("{name}/{}", PARTS[part]), LOADS[part]);
        switches()?;
        ready.wait();
        go.wait();
        let before = switches()?;
        let region = Region::begin(&name);
        let sum = sum(numbers, loads);
        drop(region);
        let switched = switches()? - before;
        // Before either thread begins to end, which may fault.
        if done.wait().is_leader() {
            faults.fetch_add(mem::minor_faults()?, Ordering::Relaxed);
        }
        Ok((sum, switched))
    };
    no_slices()?;
    let answers = std::thread::scope(|scope| -> Result<Vec<_>> {
        let work = &work;
        let threads: Vec<_> = areas
            .iter_mut()
            .enumerate()
            .map(|(part, area)| {
                let numbers: &[usize] = slice(area);
                scope.spawn(move || work(part, numbers))
            })
            .collect();
        ready.wait();
        // The threads' stacks are there now.
        let settled = mem::settle_own_pages().and_then(|()| tell_huge());
        faults.store(-mem::minor_faults()?, Ordering::Relaxed);
        go.wait();
        let answers = threads
            .into_iter()
            .map(|thread| thread.join().map_err(|_| anyhow!("a thread did not end well"))?)
            .collect();
        settled?;
        answers
    })?;
    let faults = faults.load(Ordering::Relaxed);
    Ok(answers
        .into_iter()
        .zip(facts)
        .zip(LOADS)
        .map(|(((answer, switches), facts), loads)| {
            let inside = Inside { answer, faults, events: Vec::new() };
            Report { measured: Measured::new(facts, Asked { loads, stores: 0 }, inside), switches }
        })
        .collect())
}

/// From now on this thread, and those that it starts, give up their CPU only where they say so: they take turns in the
/// same order in every boot.
fn no_slices() -> Result<()> {
    let first_in_first_out = libc::sched_param { sched_priority: 1 };
    // SAFETY: the parameter is whole and lives through the call.
    let status = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const first_in_first_out) };
    Errno::result(status).context("failed to become a real-time thread").map(drop)
}

/// How often this thread was taken off its CPU, or gave it up.
fn switches() -> Result<i64> {
    let usage = getrusage(UsageWho::RUSAGE_THREAD).context("failed to read the thread's counters")?;
    Ok(usage.voluntary_context_switches() + usage.involuntary_context_switches())
}

/// The sum of one word of each line, round and round.
fn sum(numbers: &[usize], loads: usize) -> usize {
    let lines = numbers.len() / LINE;
    let mut sum = 0;
    for turn in 0..loads {
        sum += load(&numbers[turn % lines * LINE]);
        if turn % TURN == TURN - 1 {
            std::thread::yield_now();
        }
    }
    sum
}

/// The same, not from memory.
fn expected(loads: usize) -> usize {
    let lines = MIB / 64;
    (0..loads).map(|turn| turn % lines * LINE).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_numbers_in_memory() {
        let numbers: Vec<_> = (0..MIB / size_of::<usize>()).collect();
        for loads in LOADS {
            assert_eq!(sum(&numbers, loads), expected(loads));
        }
    }
}
