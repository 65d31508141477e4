//! Which 2 MiB blocks of this process are mapped by huge pages.

use std::ops::Range;

use anyhow::{Context, Result};

use super::PMD;

/// The addresses of all blocks that are huge, in ascending order.
///
/// # Errors
/// The kernel's.
pub fn huge_blocks() -> Result<Vec<usize>> {
    mthp_mark::huge::blocks().context("failed to look for huge pages")
}

/// How many of `blocks` share an address with one of `ranges`.
pub fn blocks_in(blocks: &[usize], ranges: &[Range<usize>]) -> usize {
    let meets = |block: usize| ranges.iter().any(|range| range.start < block + PMD && block < range.end);
    blocks.iter().filter(|&&block| meets(block)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mem::PAGE;

    #[test]
    fn a_block_counts_once_where_it_meets_several_ranges() {
        let blocks = [PMD, 2 * PMD, 4 * PMD];
        assert_eq!(blocks_in(&blocks, &[PMD..PMD + PAGE, PMD + PAGE..2 * PMD]), 1);
        assert_eq!(blocks_in(&blocks, std::slice::from_ref(&(2 * PMD - PAGE..2 * PMD + PAGE))), 2);
        assert_eq!(blocks_in(&blocks, std::slice::from_ref(&(3 * PMD..4 * PMD))), 0);
    }
}
