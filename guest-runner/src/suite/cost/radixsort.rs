//! Radix sort of numbers through a second array of the same size, as `stress-ng --radixsort` allocates them.
//!
//! 262144 words of 8 bytes are 2 MiB; `malloc` maps them with a page for its header. Each array is filled right
//! after it was mapped. So a kernel that aligns the map gives each a huge page, and one that does not gives none
//! unless the free gap happens to end at a boundary: here it ends in the middle of a block, which is like most
//! programs.
//!
//! The numbers have 16 bits, sorted by the lower byte and then by the upper. Each pass counts (2 loads and 1 store a
//! number), sums the 256 counts (1 load, 1 store) and moves (2 loads and 2 stores a number).

use anyhow::Result;

use super::{
    access::{load, slice, store},
    cost_test,
    measure::{Asked, Facts, Measured, inside, map_and_touch, prepare},
};
use crate::{
    isolate::isolated,
    mem::{MIB, PAGE, PMD},
    random::Random,
    suite::{Findings, Test},
};

/// The one size.
pub const TESTS: &[Test] = &[cost_test!("cost/radixsort", run)];

const NUMBERS: usize = 2 * MIB / size_of::<usize>();
/// Behind the header that `malloc` writes.
const HEADER: usize = 2;
const BUCKETS: usize = 256;
const PASSES: usize = 2;

fn run(findings: &mut Findings, name: &str) -> Result<()> {
    let measured = isolated(|| measure(name))?;
    measured.report(findings, "", "sorted");
    Ok(())
}

fn measure(region: &str) -> Result<Measured> {
    let len = NUMBERS * size_of::<usize>() + PAGE;
    let _arranged = prepare(PMD / 2, 0, 2 * len)?;
    let mut areas = map_and_touch(2, len)?;
    let facts = Facts::of(&areas)?;
    let mut slices = areas.iter_mut().filter_map(|area| slice(area).get_mut(HEADER..HEADER + NUMBERS));
    let (Some(data), Some(spare)) = (slices.next(), slices.next()) else {
        anyhow::bail!("the arrays have no room for the numbers");
    };
    let mut random = Random::seeded(1);
    data.iter_mut().for_each(|place| *place = random.below(1 << 16));
    let mut expected = data.to_vec();
    let mut counts = [0; BUCKETS];
    let asked =
        Asked { loads: PASSES * (4 * NUMBERS + BUCKETS), stores: PASSES * (3 * NUMBERS + 2 * BUCKETS) };
    let sorted = inside(region, || sort(data, spare, &mut counts))?;
    expected.sort_unstable();
    let answer = if *data == *expected { "sorted" } else { "not sorted" };
    Ok(Measured::new(facts, asked, sorted.answers(answer)))
}

/// Sorts by the two lower bytes; the numbers end where they began.
fn sort(data: &mut [usize], spare: &mut [usize], counts: &mut [usize; BUCKETS]) {
    pass(data, spare, counts, 0);
    pass(spare, data, counts, 8);
}

fn pass(from: &[usize], to: &mut [usize], counts: &mut [usize; BUCKETS], shift: u32) {
    let bucket = |number: usize| (number >> shift) % BUCKETS;
    for count in &mut *counts {
        store(count, 0);
    }
    for number in from {
        let count = &mut counts[bucket(load(number))];
        store(count, load(count) + 1);
    }
    let mut place = 0;
    for count in &mut *counts {
        let numbers = load(count);
        store(count, place);
        place += numbers;
    }
    for number in from {
        let number = load(number);
        let next = &mut counts[bucket(number)];
        let place = load(next);
        store(next, place + 1);
        store(&mut to[place], number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_come_out_in_order_and_where_they_were() {
        let mut random = Random::seeded(4);
        let mut data: Vec<_> = (0..5000).map(|_| random.below(1 << 16)).collect();
        let mut expected = data.clone();
        expected.sort_unstable();
        let mut spare = vec![0; data.len()];
        sort(&mut data, &mut spare, &mut [7; BUCKETS]);
        assert_eq!(data, expected);
    }

    #[test]
    fn the_numbers_and_the_header_fit() {
        assert_eq!(NUMBERS, 262_144);
        assert!((HEADER + NUMBERS) * size_of::<usize>() <= 2 * MIB + PAGE);
    }
}
