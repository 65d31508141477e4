//! As ebizzy works: take a chunk, copy it into fresh memory, search the copy, free it; here with chunks of three
//! sizes in turn, and three copies alive at a time.
//!
//! Mapping and copying is done outside of the region, which is entered once a copy; each time the model's caches are
//! cold. A binary search always takes as many steps as the length asks for, and one more load for the number found.

use std::collections::VecDeque;

use anyhow::{Context, Result};
use mthp_record::result::{Polarity, Unit};
use serde::{Deserialize, Serialize};

use super::{
    access::{load, slice},
    cost_test,
    measure::{Asked, Facts, Inside, Measured, inside, prepare},
};
use crate::{
    isolate::isolated,
    mem::{
        self, Area, KIB, Kind, MIB, PMD,
        huge::{blocks_in, huge_blocks},
    },
    suite::{Findings, Test, layout},
};

/// The one mixture.
pub const TESTS: &[Test] = &[cost_test!("cost/ebizzy", run)];

const SIZES: [usize; 3] = [2 * MIB, 3 * MIB, 512 * KIB];
const COPIES: usize = 12;
const ALIVE: usize = 3;
const SEARCHES: usize = 2000;

#[derive(Debug, Serialize, Deserialize)]
struct Report {
    measured: Measured,
    faults_copying: i64,
    huge_kib_copied: i64,
}

fn run(findings: &mut Findings, name: &str) -> Result<()> {
    let report = isolated(|| measure(name))?;
    findings.metric("faults-copying", report.faults_copying, Unit::Count, Polarity::Neutral);
    findings.metric("huge-kib-copied", report.huge_kib_copied, Unit::Kib, Polarity::Neutral);
    report.measured.report(findings, "", lengths().map(expected).sum::<usize>());
    Ok(())
}

/// The numbers in each copy.
fn lengths() -> impl Iterator<Item = usize> {
    SIZES.into_iter().cycle().take(COPIES).map(|size| size / size_of::<usize>())
}

fn measure(region: &str) -> Result<Report> {
    let longest: Vec<usize> =
        (0..SIZES.into_iter().max().unwrap_or(0) / size_of::<usize>()).map(number).collect();
    let mut alive: VecDeque<Area> = VecDeque::with_capacity(ALIVE + 1);
    let _arranged = prepare(0, 0, SIZES.into_iter().sum())?;
    let mut total = Inside { answer: 0, faults: 0, events: Vec::new() };
    let (mut faults_copying, mut huge_blocks_copied) = (0, 0);
    for len in lengths() {
        if alive.len() == ALIVE {
            alive.pop_front().context("nothing is left to free")?.unmap()?;
        }
        let chunk = longest.get(..len).context("a chunk is longer than the longest")?;
        let mut copy = mem::map(Kind::Private, size_of_val(chunk))?;
        let before = mem::minor_faults()?;
        slice(&mut copy).copy_from_slice(chunk);
        faults_copying += mem::minor_faults()? - before;
        huge_blocks_copied += blocks_in(&huge_blocks()?, &[copy.range()]);
        let turn = {
            let numbers = slice(&mut copy);
            inside(region, || search_all(numbers))?
        };
        total.add(turn);
        alive.push_back(copy);
    }
    let asked = Asked { loads: lengths().map(|len| SEARCHES * (steps(len) + 1)).sum(), stores: 0 };
    let facts = Facts::of(alive.make_contiguous())?;
    Ok(Report {
        measured: Measured::new(facts, asked, total),
        faults_copying,
        huge_kib_copied: layout::kib(huge_blocks_copied * PMD),
    })
}

/// What stands at an index.
fn number(index: usize) -> usize {
    3 * index
}

/// Which index is searched for in the turn `turn`: all over the chunk.
fn target(turn: usize, len: usize) -> usize {
    turn * 7919 % len
}

/// The sum of the indices and the numbers that were found.
fn search_all(numbers: &[usize]) -> usize {
    (0..SEARCHES)
        .map(|turn| {
            let at = search(numbers, number(target(turn, numbers.len())));
            at + load(&numbers[at])
        })
        .sum()
}

/// The last index whose number is not above `wanted`.
fn search(numbers: &[usize], wanted: usize) -> usize {
    let (mut first, mut len) = (0, numbers.len());
    while len > 1 {
        let half = len / 2;
        if load(&numbers[first + half]) <= wanted {
            first += half;
        }
        len -= half;
    }
    first
}

/// The loads of one search.
fn steps(mut len: usize) -> usize {
    let mut steps = 0;
    while len > 1 {
        len -= len / 2;
        steps += 1;
    }
    steps
}

/// What [`search_all`] finds, not from memory.
fn expected(len: usize) -> usize {
    (0..SEARCHES).map(|turn| target(turn, len)).map(|at| at + number(at)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_number_is_found() {
        for len in [1, 2, 3, 1000, 1024] {
            let numbers: Vec<_> = (0..len).map(number).collect();
            assert!((0..len).all(|at| search(&numbers, number(at)) == at), "{len}");
            assert_eq!(search_all(&numbers), expected(len));
        }
    }

    #[test]
    fn a_search_halves() {
        assert_eq!([1, 2, 3, 1024, 1025].map(steps), [0, 1, 2, 10, 11]);
    }
}
