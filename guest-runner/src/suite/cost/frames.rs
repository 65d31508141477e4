//! Where the next small pages come from: a physically indexed cache sees it.
//!
//! What earlier tests and the kernel gave back lies in the allocator's lists in an order that differs from boot to
//! boot. So a test first takes those pages and keeps them, up to the end of a block of 2 MiB: those that follow come
//! from a fresh block, in its order.

use anyhow::{Context, Result, bail};

use crate::mem::{
    self, Kind, MIB, PAGE, PMD,
    pagemap::{Pagemap, frame},
};

/// Taken without a look: more than lies in lists of small blocks.
const LEFT_OVERS: usize = 8 * MIB;
/// Taken one by one until a block ends: what is left of it, and of the block behind it.
const SEARCH: usize = 2 * PMD;

/// Takes them; they are kept until this process ends.
///
/// # Errors
/// The kernel's, or when no block's end comes.
pub fn settle() -> Result<()> {
    let sponge = mem::map(Kind::Private, LEFT_OVERS + SEARCH)?;
    sponge.refuse_huge()?;
    sponge.touch_part(0, LEFT_OVERS);
    let pagemap = Pagemap::open()?;
    for offset in (LEFT_OVERS..LEFT_OVERS + SEARCH).step_by(PAGE) {
        sponge.touch_part(offset, PAGE);
        let number = frame(pagemap.entry(sponge.start() + offset)?).context("a page just touched is absent")?;
        if ends_block(number) {
            return Ok(());
        }
    }
    bail!("no block of free pages ended within {} KiB", SEARCH / 1024)
}

fn ends_block(frame: u64) -> bool {
    (frame + 1).is_multiple_of((PMD / PAGE) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_ends_with_its_last_page() {
        assert!(ends_block(511) && ends_block(1023));
        assert!(!ends_block(512) && !ends_block(0));
    }
}
