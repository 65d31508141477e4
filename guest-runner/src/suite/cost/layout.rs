//! Another order of the free physical memory, chosen by a seed: caches that are indexed physically see it.
//!
//! Most of a large area's pages are given back in a random order and the rest is kept, so that the pages that are
//! free afterwards do not lie in a row. Small and huge pages are treated alike, each in an area of its own.

use std::ops::Range;

use anyhow::Result;

use crate::{
    mem::{self, Area, Kind, MIB, PAGE, PMD, discard::discard},
    random::Random,
};

/// The layouts that are compared.
pub const SEEDS: Range<u64> = 0..5;

const SMALL: usize = 96 * MIB;
const HUGE: usize = 64 * MIB;

/// Scatters the free memory until this process ends. Seed 0 leaves the memory as the allocator has it, with the
/// same address space taken: so all layouts have the same addresses.
///
/// # Errors
/// The kernel's.
pub fn scatter(seed: u64) -> Result<()> {
    mem::pin_gap(0)?;
    let (small, huge) = (mem::map(Kind::Private, SMALL)?, mem::map(Kind::Private, HUGE)?);
    small.refuse_huge()?;
    if seed == 0 {
        return Ok(());
    }
    let mut random = Random::seeded(seed);
    for (area, unit) in [(huge, PMD), (small, PAGE)] {
        area.touch_every(unit);
        give_back(&area, unit, &mut random)?;
    }
    Ok(())
}

fn give_back(area: &Area, unit: usize, random: &mut Random) -> Result<()> {
    given_back(area.range().len() / unit, random)
        .into_iter()
        .try_for_each(|at| discard(area, at * unit, unit))
}

/// Three quarters of the first `count` numbers, in a random order.
fn given_back(count: usize, random: &mut Random) -> Vec<usize> {
    let mut numbers: Vec<_> = (0..count).collect();
    random.shuffle(&mut numbers);
    numbers.truncate(count * 3 / 4);
    numbers
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_seed_gives_the_same_order_and_another_seed_another() {
        let order = |seed| given_back(1000, &mut Random::seeded(seed));
        assert_eq!(order(1), order(1));
        let orders: BTreeSet<_> = (1..=4).map(order).collect();
        assert_eq!(orders.len(), 4);
    }

    #[test]
    fn each_page_is_given_back_once_at_most_and_a_quarter_is_kept() {
        let order = given_back(1000, &mut Random::seeded(1));
        assert_eq!(order.len(), 750);
        assert_eq!(order.iter().collect::<BTreeSet<_>>().len(), 750);
        assert!(order.iter().all(|number| *number < 1000));
        assert!(!order.is_sorted());
    }
}
