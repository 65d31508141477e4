//! will-it-scale's malloc1: `malloc` of 128 MiB, one touch, `free`, again and again.
//!
//! glibc maps 128 MiB and a page for it, writes the chunk's header at the map's start, reads it when it is freed and
//! unmaps. Here the same is done without glibc. The cost is in the kernel: how much it fills with zeros for that one
//! touch. No model of caches sees the kernel, so the exact counts are the evidence; the region has the two accesses
//! of the program, each time 1 store and 1 load.

use anyhow::{Context, Result};
use mthp_record::result::{Polarity, Unit};
use serde::{Deserialize, Serialize};

use super::{
    access::{load, slice, store},
    cost_test,
    measure::{Asked, Facts, Inside, Measured, inside, prepare},
};
use crate::{
    isolate::isolated,
    mem::{self, Kind, MIB, PAGE},
    proc,
    suite::{Findings, Test},
};

/// The one size of the original.
pub const TESTS: &[Test] = &[cost_test!("cost/malloc1", run)];

const LEN: usize = 128 * MIB + PAGE;
const ITERATIONS: usize = 16;
/// What glibc writes: the length, and the bit for "mapped".
const HEADER: usize = LEN | 2;

/// What one touch took.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Touch {
    faults: i64,
    huge: i64,
}

impl Touch {
    /// What the kernel filled with zeros, page tables aside.
    fn zeroed_kib(self) -> i64 {
        self.huge * 2048 + (self.faults - self.huge) * 4
    }
}

fn run(findings: &mut Findings, name: &str) -> Result<()> {
    let (touches, measured) = isolated(|| measure(name))?;
    let first = touches.first().copied().context("nothing was touched")?;
    findings.metric("faults", first.faults, Unit::Count, Polarity::Neutral);
    findings.metric("thp-fault-alloc", first.huge, Unit::Count, Polarity::Neutral);
    findings.metric("zeroed-kib", first.zeroed_kib(), Unit::Kib, Polarity::Lower);
    findings.check(
        "iterations-alike",
        "each turn takes what the first one took",
        touches.iter().filter(|touch| **touch == first).count(),
        ITERATIONS,
    );
    measured.report(findings, "", ITERATIONS * HEADER);
    Ok(())
}

fn measure(region: &str) -> Result<(Vec<Touch>, Measured)> {
    proc::vmstat("thp_fault_alloc")?;
    let _arranged = prepare(0, 0, 0)?;
    let mut touches = Vec::with_capacity(ITERATIONS);
    let mut total = Inside { answer: 0, faults: 0, events: Vec::new() };
    let mut facts = Facts::default();
    for _ in 0..ITERATIONS {
        let mut area = mem::map(Kind::Private, LEN)?;
        touches.push(touch(&area)?);
        facts = Facts::of(std::slice::from_ref(&area))?;
        let header = slice(&mut area).get_mut(1).context("the map has no room for a header")?;
        let turn = inside(region, || {
            store(header, HEADER);
            load(header)
        })?;
        total.add(turn);
        area.unmap()?;
    }
    let asked = Asked { loads: ITERATIONS, stores: ITERATIONS };
    Ok((touches, Measured::new(facts, asked, total)))
}

fn touch(area: &mem::Area) -> Result<Touch> {
    let huge = proc::vmstat("thp_fault_alloc")?;
    let faults = mem::minor_faults()?;
    area.touch_part(0, PAGE);
    Ok(Touch { faults: mem::minor_faults()? - faults, huge: proc::vmstat("thp_fault_alloc")? - huge })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_huge_fault_fills_what_512_small_ones_do() {
        assert_eq!(Touch { faults: 1, huge: 1 }.zeroed_kib(), 2048);
        assert_eq!(Touch { faults: 1, huge: 0 }.zeroed_kib(), 4);
        assert_eq!(Touch { faults: 512, huge: 0 }.zeroed_kib(), 2048);
    }
}
