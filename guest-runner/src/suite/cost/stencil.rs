//! A 7-point stencil over many arrays at the same index, as codes on structured grids do it (cactusBSSN).
//!
//! Each array holds a grid of 80 × 80 × 80 doubles (4000 KiB), or as much of it as fits; a bounded number of points
//! is visited, one after the other in memory from the second plane on. At each point and for each array the source
//! asks for 9 loads: the array's address out of a table, for so many fit no registers, 7 elements, and the sum so
//! far, which is in memory too.

use anyhow::{Context, Result};

use super::{
    access::{load, slice, store},
    cost_test, layout,
    measure::{Asked, Facts, Measured, inside, map_then_touch, prepare, timed},
};
use crate::{
    isolate::isolated,
    mem::{KIB, MIB, PMD},
    suite::{Findings, Test},
};

/// 24 arrays do what the trial did that was the first to show the effect: 8,294,400 loads.
const MANY: usize = 6 * PLANE;
/// A quarter of it for all others.
const FEW: usize = MANY / 4;

/// Numbers of arrays, and lengths.
pub const TESTS: &[Test] = &[
    cost_test!("cost/stencil-4x4632KiB", run, 4, 4632 * KIB, FEW),
    cost_test!("cost/stencil-8x4632KiB", run, 8, 4632 * KIB, FEW),
    cost_test!("cost/stencil-16x4632KiB", run, 16, 4632 * KIB, FEW),
    cost_test!("cost/stencil-24x4632KiB", run, 24, 4632 * KIB, MANY),
    cost_test!("cost/stencil-32x4632KiB", run, 32, 4632 * KIB, FEW),
    cost_test!("cost/stencil-24x3MiB", run, 24, 3 * MIB, FEW),
    cost_test!("cost/stencil-24x4MiB", run, 24, 4 * MIB, FEW),
    cost_test!("cost/stencil-24x4228KiB", run, 24, 4228 * KIB, FEW),
];

/// The same with other layouts of the physical memory; a region for each of them.
pub const LAYOUTS: &[Test] = &[cost_test!("cost/layouts-stencil-24x4632KiB", layouts, 24, 4632 * KIB)];

/// The grid's edge.
const SIDE: usize = 80;
const PLANE: usize = SIDE * SIDE;
/// Those planes that are used: enough for [`MANY`] points and their neighbours, and within every length.
const PLANES: usize = 8;

type Grid = [f64; PLANES * PLANE];

fn run(findings: &mut Findings, name: &str, arrays: usize, len: usize, points: usize) -> Result<()> {
    let measured = isolated(|| measure(name, 0, arrays, len, points))?;
    measured.report(findings, "", expected(arrays, points));
    Ok(())
}

fn layouts(findings: &mut Findings, name: &str, arrays: usize, len: usize) -> Result<()> {
    let points = FEW / 2;
    for seed in layout::SEEDS {
        let region = format!("{name}/layout-{seed}");
        let measured = isolated(|| measure(&region, seed, arrays, len, points))?;
        measured.report(findings, &format!("layout-{seed}."), expected(arrays, points));
    }
    Ok(())
}

fn measure(region: &str, seed: u64, arrays: usize, len: usize, points: usize) -> Result<Measured> {
    let _arranged = prepare(0, seed, arrays * (len % PMD))?;
    let mut areas = map_then_touch(arrays, len)?;
    let facts = Facts::of(&areas)?;
    let mut table: Vec<&Grid> = Vec::with_capacity(arrays);
    for (array, area) in areas.iter_mut().enumerate() {
        let grid: &mut Grid = slice(area).first_chunk_mut().context("an array is smaller than its planes")?;
        grid.iter_mut().enumerate().for_each(|(index, place)| *place = value(array, index));
        table.push(grid);
    }
    let asked = Asked { loads: points * arrays * 9, stores: points * arrays };
    let (_, outside) = timed(|| sweep(&table, points));
    let (seen, within) = timed(|| inside(region, || sweep(&table, points)));
    Ok(Measured::new(facts, asked, seen?).took(outside, within))
}

fn sweep(table: &[&Grid], points: usize) -> f64 {
    let mut total = 0.0;
    for number in 0..points {
        let i = point(number);
        for grid in table {
            let a = load(grid);
            let mut sum = load(&total);
            sum += load(&a[i]);
            sum += load(&a[i - 1]);
            sum += load(&a[i + 1]);
            sum += load(&a[i - SIDE]);
            sum += load(&a[i + SIDE]);
            sum += load(&a[i - PLANE]);
            sum += load(&a[i + PLANE]);
            store(&mut total, sum);
        }
    }
    total
}

/// The index of a point, by its number. All have neighbours in the plane before and the plane behind.
const fn point(number: usize) -> usize {
    PLANE + number
}

/// Small whole numbers: sums of them are exact.
fn value(array: usize, index: usize) -> f64 {
    f64::from(u32::try_from(index % 61 + array).unwrap_or(0))
}

/// The sum, not from memory.
fn expected(arrays: usize, points: usize) -> f64 {
    let grid: f64 = (0..points).map(point).flat_map(neighbourhood).map(|index| value(0, index)).sum();
    let offsets: f64 = (0..arrays).map(|array| value(array, 0)).sum();
    let [points, arrays] = [points, arrays].map(|it| f64::from(u32::try_from(it).unwrap_or(0)));
    arrays * grid + 7.0 * points * offsets
}

fn neighbourhood(i: usize) -> [usize; 7] {
    [i, i - 1, i + 1, i - SIDE, i + SIDE, i - PLANE, i + PLANE]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn all_used_planes_are_visited_and_nothing_else() {
        let visited: BTreeSet<_> = (0..MANY).map(point).flat_map(neighbourhood).collect();
        assert!(visited.into_iter().eq(0..PLANES * PLANE));
    }

    #[test]
    fn the_used_planes_fit_into_every_length() {
        assert!(size_of::<Grid>() <= 3 * MIB && size_of::<f64>() * SIDE.pow(3) <= 4632 * KIB);
        assert_eq!(MANY * 24 * 9, 8_294_400);
    }

    #[test]
    fn the_sum_is_that_of_a_grid_in_memory() {
        let grids: Vec<Box<Grid>> = (0..3)
            .map(|array| {
                let cells: Vec<_> = (0..PLANES * PLANE).map(|index| value(array, index)).collect();
                cells.into_boxed_slice().try_into().unwrap()
            })
            .collect();
        let table: Vec<&Grid> = grids.iter().map(Box::as_ref).collect();
        assert_eq!(sweep(&table, 500), expected(3, 500));
    }
}
