//! The order of the free physical memory, which caches that are indexed physically see.
//!
//! Which page a fault gets depends on all that the kernel did before, and that is not the same in every boot. So the
//! pages that the test will get are put in order first: huge pages, which are whole 2 MiB blocks of physical memory,
//! are split, and their small pages are given back one by one. The kernel keeps freed pages in a list for each CPU,
//! if the list may be that long, and hands out first what was freed last. So where a page lies within its block is
//! the same in every boot.
//!
//! Layout 0 hands the blocks' pages out in a row, as an allocator does that was not used before; every other one in a
//! random order that its seed fixes. Huge pages are put into a random order too, by giving back three quarters of
//! some; the rest is kept until the process ends.

use std::{fs, ops::Range};

use anyhow::{Context, Result, ensure};

use crate::{
    init::DEBUGFS,
    mem::{self, Area, Kind, MIB, PAGE, PMD, discard::discard},
    needs::Need,
    proc,
    random::Random,
    thp::PER_CPU,
};

/// The layouts that are compared.
pub const SEEDS: Range<u64> = 0..5;
/// Splits the huge pages of a process; the kernel's own door for its tests.
pub const SPLIT: Need =
    Need::Path("/sys/kernel/debug/split_huge_pages", "way to split huge pages on demand (debugfs)");

const HUGE: usize = 64 * MIB;

/// The CPU's list is long while this lives.
#[derive(Debug)]
pub struct Arranged(());

impl Drop for Arranged {
    fn drop(&mut self) {
        // What the process gives back at its end goes to the other free memory and makes whole blocks again. The
        // calm state before the next test has the same value, so an error here loses nothing.
        let _ = fs::write(PER_CPU, "0");
    }
}

/// Puts `bytes` of free memory in the order of layout `seed`. Comes after whatever makes all pages present
/// (`mlockall`), for that would take back what is free. It takes the same address space for every layout, in whole
/// huge pages.
///
/// # Errors
/// The kernel's, and when it splits no huge pages.
pub fn arrange(seed: u64, bytes: usize) -> Result<Arranged> {
    // An eighth of the memory, the most that is allowed.
    fs::write(PER_CPU, "8").with_context(|| format!("failed to write {PER_CPU}"))?;
    let arranged = Arranged(());
    mem::pin_gap(0)?;
    let pool = mem::map(Kind::Private, bytes.next_multiple_of(PMD))?;
    let huge = mem::map(Kind::Private, HUGE)?;
    let mut order: Vec<_> = pages(&pool).collect();
    let mut random = Random::seeded(seed);
    if seed != 0 {
        random.shuffle(&mut order);
        huge.touch_every(PMD);
    }
    split(&pool)?;
    for offset in order.into_iter().rev() {
        discard(&pool, offset, PAGE)?;
    }
    if seed != 0 {
        for block in most(HUGE / PMD, &mut random) {
            discard(&huge, block * PMD, PMD)?;
        }
    }
    Ok(arranged)
}

/// The offsets of an area's pages.
fn pages(area: &Area) -> impl Iterator<Item = usize> + use<> {
    (0..area.range().len()).step_by(PAGE)
}

/// Fills `pool` with huge pages and splits them.
fn split(pool: &Area) -> Result<()> {
    let range = pool.range();
    let before = proc::vmstat("thp_split_page")?;
    // Into each page: those that hold only zeros would be given up at the split, in an order of the kernel's.
    pool.touch();
    let door = format!("{DEBUGFS}/split_huge_pages");
    fs::write(&door, format!("{},{:#x},{:#x}", std::process::id(), range.start, range.end))
        .with_context(|| format!("failed to write {door}"))?;
    let (split, wanted) = (proc::vmstat("thp_split_page")? - before, range.len() / PMD);
    ensure!(usize::try_from(split)? == wanted, "failed to split {wanted} huge pages: {split} were split");
    Ok(())
}

/// Three quarters of the first `count` numbers, in a random order.
fn most(count: usize, random: &mut Random) -> Vec<usize> {
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
    fn the_door_is_where_debugfs_is_mounted() {
        let Need::Path(path, _) = SPLIT else { unreachable!("it is a path") };
        assert!(path.starts_with(DEBUGFS));
    }

    #[test]
    fn three_quarters_are_chosen_by_the_seed() {
        let chosen = |seed| most(1000, &mut Random::seeded(seed));
        assert_eq!(chosen(1), chosen(1));
        assert_eq!((1..=4).map(chosen).collect::<BTreeSet<_>>().len(), 4);
        let distinct: BTreeSet<_> = chosen(1).into_iter().filter(|number| *number < 1000).collect();
        assert_eq!(distinct.len(), 750);
    }
}
