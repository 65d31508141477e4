//! Pages of the hugetlb pool.

use anyhow::Result;

use super::{Findings, Test};
use crate::{
    isolate::isolated,
    mem::{MIB, PMD, Reserved, hugetlb, peek},
    needs::Need,
};

/// Moves.
pub const TESTS: &[Test] = &[Test {
    name: "hugetlb/move-with-hole",
    contract: "mremap(2): the mapping moves as it is: each page keeps its offset",
    needs: &[Need::HugetlbPool],
    randomised: false,
    run: move_with_hole,
}];

const GIB: usize = 1024 * MIB;

/// An area whose first pages have no page table, moved by a distance that is no multiple of what a table spans.
fn move_with_hole(findings: &mut Findings) -> Result<()> {
    let marks = isolated(|| {
        hugetlb::fill_pool(4)?;
        let reserved = Reserved::anywhere(6 * GIB)?;
        let whole = reserved.start().next_multiple_of(GIB) - reserved.start();
        // Two pages before the boundary, where nothing else is, and two behind it.
        let area = hugetlb::map_fixed(&reserved, whole + GIB - 2 * PMD, 4 * PMD)?;
        peek::set_byte(&area, 2 * PMD, 0xa)?;
        peek::set_byte(&area, 3 * PMD, 0xb)?;
        let moved = hugetlb::move_fixed(area, &reserved, whole + 3 * GIB - PMD)?;
        let marks = (2..4).map(|page| Ok(format!("{:x}", peek::byte(&moved, page * PMD)?)));
        Ok(marks.collect::<Result<Vec<_>>>()?.join(","))
    })?;
    findings.check(
        "offsets-kept",
        "after a move the third and fourth page hold what they held before",
        marks,
        "a,b".to_owned(),
    );
    Ok(())
}
