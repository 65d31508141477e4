//! Matrix–vector products over weights that were mapped separately, as a loader of a model leaves them.
//!
//! Each matrix is applied to the same vector. Four rows go together, so that each element of the vector serves
//! four products: for a matrix of R × C the source asks for 1.25 · R · C loads and R stores.

use anyhow::Result;

use super::{
    access::{load, slice, store},
    cost_test,
    measure::{Asked, Facts, Measured, inside, map_and_touch, prepare},
};
use crate::{
    isolate::isolated,
    mem::{self, Kind},
    suite::{Findings, Test},
};

/// Weights a little larger than a huge page, and below one.
pub const TESTS: &[Test] =
    &[cost_test!("cost/matvec-8x2112KiB", run, 1024), cost_test!("cost/matvec-8x1056KiB", run, 512)];

const MATRICES: usize = 8;
/// A row of 2112 bytes: 1024 of them are 2 MiB and 64 KiB.
const COLUMNS: usize = 264;
/// Rows that go together.
const BLOCK: usize = 4;

fn run(findings: &mut Findings, name: &str, rows: usize) -> Result<()> {
    let measured = isolated(|| measure(name, rows))?;
    measured.report(findings, "", expected(rows));
    Ok(())
}

fn measure(region: &str, rows: usize) -> Result<Measured> {
    let (mut input, mut output) = (vec![0.0; COLUMNS], mem::map(Kind::Private, rows * 8)?);
    input.iter_mut().enumerate().for_each(|(column, place)| *place = element(column));
    output.touch();
    let len = rows * COLUMNS * size_of::<f64>();
    let _arranged = prepare(0, 0, MATRICES * len)?;
    let mut areas = map_and_touch(MATRICES, len)?;
    let facts = Facts::of(&areas)?;
    let mut matrices: Vec<&[f64]> = Vec::with_capacity(MATRICES);
    for (matrix, area) in areas.iter_mut().enumerate() {
        let weights = slice(area);
        weights.iter_mut().enumerate().for_each(|(at, place)| *place = weight(matrix, at));
        matrices.push(weights);
    }
    let asked = Asked { loads: MATRICES * rows * COLUMNS * (BLOCK + 1) / BLOCK, stores: MATRICES * rows };
    let output = slice(&mut output);
    Ok(Measured::new(facts, asked, inside(region, || multiply_all(&matrices, &input, output))?))
}

/// The sum of all products' elements.
fn multiply_all(matrices: &[&[f64]], input: &[f64], output: &mut [f64]) -> f64 {
    matrices.iter().map(|matrix| multiply(matrix, input, output)).sum()
}

fn multiply(matrix: &[f64], input: &[f64], output: &mut [f64]) -> f64 {
    let mut all = 0.0;
    let blocks = matrix.chunks_exact(BLOCK * COLUMNS).zip(output.chunks_exact_mut(BLOCK));
    for (rows, outputs) in blocks {
        let mut sums = [0.0; BLOCK];
        for (column, element) in input.iter().take(COLUMNS).enumerate() {
            let element = load(element);
            for (row, sum) in sums.iter_mut().enumerate() {
                *sum += element * load(&rows[row * COLUMNS + column]);
            }
        }
        for (place, sum) in outputs.iter_mut().zip(sums) {
            store(place, sum);
            all += sum;
        }
    }
    all
}

/// Small whole numbers: sums of their products are exact.
fn element(column: usize) -> f64 {
    small(column % 7)
}

fn weight(matrix: usize, at: usize) -> f64 {
    small((at + matrix) % 5)
}

fn small(value: usize) -> f64 {
    f64::from(u32::try_from(value).unwrap_or(0))
}

/// The sum, not from memory.
fn expected(rows: usize) -> f64 {
    let product =
        |matrix| -> f64 { (0..rows * COLUMNS).map(|at| element(at % COLUMNS) * weight(matrix, at)).sum() };
    (0..MATRICES).map(product).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::{KIB, PAGE};

    #[test]
    fn the_sum_is_that_of_matrices_in_memory() {
        let rows = 8;
        let input: Vec<_> = (0..COLUMNS).map(element).collect();
        let matrices: Vec<Vec<_>> =
            (0..MATRICES).map(|matrix| (0..rows * COLUMNS).map(|at| weight(matrix, at)).collect()).collect();
        let matrices: Vec<&[f64]> = matrices.iter().map(Vec::as_slice).collect();
        let mut output = vec![0.0; rows];
        assert_eq!(multiply_all(&matrices, &input, &mut output), expected(rows));
        let last: f64 = (0..COLUMNS).map(|column| input[column] * weight(7, 7 * COLUMNS + column)).sum();
        assert_eq!(output[7], last);
    }

    #[test]
    fn maps_are_whole_pages() {
        for rows in [1024, 512] {
            assert!((rows * COLUMNS * 8).is_multiple_of(PAGE) && rows.is_multiple_of(BLOCK));
        }
        assert_eq!(1024 * COLUMNS * 8, 2112 * KIB);
    }
}
