//! A streaming sum: one array after the other, each of its lines once.

use anyhow::Result;

use super::{
    access::{load, slice},
    cost_test,
    measure::{Asked, Facts, Measured, inside, map_then_touch, prepare},
};
use crate::{
    isolate::isolated,
    mem::{KIB, PMD},
    suite::{Findings, Test},
};

/// The arrays of the stencil.
pub const TESTS: &[Test] = &[cost_test!("cost/stream-24x4632KiB", run, 24, 4632 * KIB)];

/// Numbers in a cache line. One load asks for each line; seven more would find it.
const LINE: usize = 64 / size_of::<usize>();

fn run(findings: &mut Findings, name: &str, arrays: usize, len: usize) -> Result<()> {
    let lines = len / 64;
    let measured = isolated(|| {
        let _arranged = prepare(0, 0, arrays * (len % PMD))?;
        let mut areas = map_then_touch(arrays, len)?;
        let facts = Facts::of(&areas)?;
        let mut slices: Vec<&[usize]> = Vec::with_capacity(arrays);
        for area in &mut areas {
            let numbers = slice(area);
            numbers.iter_mut().step_by(LINE).enumerate().for_each(|(line, place)| *place = line);
            slices.push(numbers);
        }
        let asked = Asked { loads: arrays * lines, stores: 0 };
        Ok(Measured::new(facts, asked, inside(name, || sum(&slices))?))
    })?;
    measured.report(findings, "", arrays * (lines * (lines - 1) / 2));
    Ok(())
}

fn sum(slices: &[&[usize]]) -> usize {
    slices.iter().flat_map(|slice| slice.iter().step_by(LINE)).map(load).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_number_of_each_line_counts() {
        let numbers: Vec<usize> = (0..32).collect();
        assert_eq!(sum(&[&numbers, &numbers[..16]]), 8 + 16 + 24 + 8);
    }
}
