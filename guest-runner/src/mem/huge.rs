//! Which 2 MiB blocks of this process are mapped by huge pages.

use std::{
    fs::{self, File},
    ops::Range,
    os::unix::fs::FileExt,
};

use anyhow::{Context, Result};

use super::{
    PAGE, PMD,
    pagemap::{self, HUGE, Pagemap},
};
use crate::smaps;

/// Pages in a block.
const PAGES: usize = PMD / PAGE;
/// Of `/proc/kpageflags`: the page belongs to a transparent huge page.
const FLAG_THP: u64 = 1 << 22;
/// The end of what a process can map; the kernel shows one page of its own above it (vsyscall).
const TASK_SIZE: usize = 1 << 47;

/// The addresses of all blocks that are huge, in ascending order.
///
/// Asks `PAGEMAP_SCAN`. A kernel before 6.7 lacks it; there a block is taken as huge when its pages' frames
/// follow each other from a multiple of a block and the first one belongs to a huge page. A huge page whose
/// mapping was split into small ones looks the same.
///
/// # Errors
/// The kernel's.
pub fn huge_blocks() -> Result<Vec<usize>> {
    let maps = fs::read_to_string("/proc/self/maps").context("failed to read /proc/self/maps")?;
    let vmas = maps.lines().filter_map(smaps::header).filter(|vma| vma.end <= TASK_SIZE);
    let pagemap = Pagemap::open()?;
    let scans = pagemap::can_scan();
    let mut blocks = Vec::new();
    for vma in vmas {
        if scans {
            blocks.extend(scanned(&pagemap, &vma)?);
        } else {
            blocks.extend(guessed(&pagemap, &vma)?);
        }
    }
    Ok(blocks)
}

/// How many of `blocks` share an address with one of `ranges`.
pub fn blocks_in(blocks: &[usize], ranges: &[Range<usize>]) -> usize {
    let meets = |block: usize| ranges.iter().any(|range| range.start < block + PMD && block < range.end);
    blocks.iter().filter(|&&block| meets(block)).count()
}

fn scanned(pagemap: &Pagemap, vma: &Range<usize>) -> Result<Vec<usize>> {
    let regions = pagemap.scan(vma, HUGE, HUGE).context("failed to scan for huge pages")?;
    let mut blocks = Vec::new();
    for region in regions {
        blocks.extend(whole_blocks(&(usize::try_from(region.start)?..usize::try_from(region.end)?)));
    }
    Ok(blocks)
}

fn guessed(pagemap: &Pagemap, vma: &Range<usize>) -> Result<Vec<usize>> {
    let flags = File::open("/proc/kpageflags").context("failed to open /proc/kpageflags")?;
    let mut blocks = Vec::new();
    for block in whole_blocks(vma) {
        let Some(frame) = first_of_run(&pagemap.entries::<PAGES>(block)?) else { continue };
        let mut word = [0; 8];
        flags.read_exact_at(&mut word, frame * 8).context("failed to read /proc/kpageflags")?;
        if u64::from_ne_bytes(word) & FLAG_THP != 0 {
            blocks.push(block);
        }
    }
    Ok(blocks)
}

/// The blocks that lie in `range` as a whole.
fn whole_blocks(range: &Range<usize>) -> impl Iterator<Item = usize> + use<> {
    (range.start.next_multiple_of(PMD)..range.end / PMD * PMD).step_by(PMD)
}

/// The first frame, if the entries' frames follow each other from a multiple of their number.
fn first_of_run(entries: &[u64]) -> Option<u64> {
    let first = pagemap::frame(*entries.first()?)?;
    let follow = (first..).zip(entries).all(|(frame, entry)| pagemap::frame(*entry) == Some(frame));
    (follow && first.is_multiple_of(u64::try_from(entries.len()).ok()?)).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRESENT: u64 = 1 << 63;

    #[test]
    fn frames_in_a_row_from_a_multiple_are_a_run() {
        let run =
            |first: u64, len: u64| (first..first + len).map(|frame| PRESENT | frame).collect::<Vec<_>>();
        assert_eq!(first_of_run(&run(1024, 512)), Some(1024));
        assert_eq!(first_of_run(&run(1025, 512)), None, "not at a multiple");
        let mut swapped = run(1024, 512);
        swapped.swap(1, 2);
        assert_eq!(first_of_run(&swapped), None, "out of order");
        let mut holed = run(1024, 512);
        holed[511] = 0;
        assert_eq!(first_of_run(&holed), None, "the last is absent");
        assert_eq!(first_of_run(&[]), None);
    }

    #[test]
    fn only_whole_blocks_are_looked_at() {
        let blocks = |range| whole_blocks(&range).collect::<Vec<_>>();
        assert_eq!(blocks(PMD..3 * PMD), [PMD, 2 * PMD]);
        assert_eq!(blocks(PMD + PAGE..3 * PMD), [2 * PMD]);
        assert_eq!(blocks(PMD..3 * PMD - PAGE), [PMD]);
        assert_eq!(blocks(PMD + PAGE..2 * PMD - PAGE), [0; 0]);
    }

    #[test]
    fn a_block_counts_once_where_it_meets_several_ranges() {
        let blocks = [PMD, 2 * PMD, 4 * PMD];
        assert_eq!(blocks_in(&blocks, &[PMD..PMD + PAGE, PMD + PAGE..2 * PMD]), 1);
        assert_eq!(blocks_in(&blocks, std::slice::from_ref(&(2 * PMD - PAGE..2 * PMD + PAGE))), 2);
        assert_eq!(blocks_in(&blocks, std::slice::from_ref(&(3 * PMD..4 * PMD))), 0);
    }
}
