//! Where maps lie relative to each other. Pure arithmetic, except for [`Layout::of`].

use std::ops::Range;

use anyhow::Result;
use serde::{Deserialize, Serialize};

use crate::{
    mem::{Area, KIB, PMD},
    smaps::{self, Vma},
};

/// How a test's maps lie, from the lowest to the highest.
#[derive(Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Layout {
    /// Between neighbours, from the top down: the order in which the kernel places them.
    pub gaps_kib: Vec<i64>,
    /// From the lowest to the highest byte.
    pub span_kib: i64,
    /// Areas of the kernel that hold them.
    pub vmas: i64,
    /// Huge pages in them.
    pub anon_huge_kib: i64,
    /// PMD-sized blocks that lie in one VMA as a whole.
    pub whole_blocks: i64,
    /// Their starts, in KiB past a PMD boundary, in the order in which they were mapped.
    pub phases_kib: Vec<i64>,
    /// Their lines of smaps.
    pub maps: String,
    /// The process's smaps_rollup.
    pub rollup: String,
}

impl Layout {
    /// Looks at maps of this process.
    ///
    /// # Errors
    /// When smaps cannot be read.
    pub fn of(areas: &[Area]) -> Result<Self> {
        let ranges: Vec<_> = areas.iter().map(Area::range).collect();
        let vmas = smaps::of(&ranges)?;
        let (maps, rollup) = smaps::evidence(&vmas);
        Ok(Self {
            gaps_kib: gaps(&ranges).into_iter().map(kib).collect(),
            span_kib: kib(span(&ranges).len()),
            vmas: count(vmas.len()),
            anon_huge_kib: vmas.iter().map(|vma| vma.anon_huge_kib).sum(),
            whole_blocks: count(whole_blocks(&vmas, PMD)),
            phases_kib: ranges.iter().map(|range| kib(range.start % PMD)).collect(),
            maps,
            rollup,
        })
    }

    /// The smallest and the largest gap.
    pub fn gap_bounds(&self) -> (i64, i64) {
        let smallest = self.gaps_kib.iter().min().copied().unwrap_or(0);
        (smallest, self.gaps_kib.iter().max().copied().unwrap_or(0))
    }
}

/// From the lowest to the highest address.
pub fn span(ranges: &[Range<usize>]) -> Range<usize> {
    let start = ranges.iter().map(|range| range.start).min().unwrap_or(0);
    start..ranges.iter().map(|range| range.end).max().unwrap_or(start)
}

/// Blocks of `size` bytes, at multiples of it, that lie in one of the areas as a whole.
pub fn whole_blocks(vmas: &[Vma], size: usize) -> usize {
    vmas.iter().map(|vma| (vma.range.end / size).saturating_sub(vma.range.start.div_ceil(size))).sum()
}

/// A count as the records have it.
pub fn count(value: usize) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

/// Bytes as KiB.
pub fn kib(bytes: usize) -> i64 {
    count(bytes / KIB)
}

fn gaps(ranges: &[Range<usize>]) -> Vec<usize> {
    let mut sorted: Vec<_> = ranges.to_vec();
    sorted.sort_unstable_by_key(|range| std::cmp::Reverse(range.start));
    sorted
        .iter()
        .zip(sorted.iter().skip(1))
        .map(|(upper, lower)| upper.start.saturating_sub(lower.end))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_seen_from_the_top() {
        assert_eq!(gaps(&[30..40, 0..10, 10..25]), [5, 0]);
        assert_eq!(gaps(&[]), [0_usize; 0]);
        assert_eq!(span(&[30..40, 0..10]), 0..40);
    }

    #[test]
    fn only_whole_blocks_count() {
        let vma = |range| Vma { range, ..Vma::default() };
        assert_eq!(whole_blocks(&[vma(1..5), vma(6..12)], 2), 4);
        assert_eq!(whole_blocks(&[vma(3..5)], 4), 0);
        assert_eq!(whole_blocks(&[vma(1..3)], 4), 0);
    }
}
