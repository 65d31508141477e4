//! Where the next small pages come from: a physically indexed cache sees it.
//!
//! What earlier tests and the kernel gave back lies in the allocator's lists in an order that differs from boot to
//! boot. So a test first takes pages, and keeps them, until a whole block of 2 MiB came in its order: then no smaller
//! piece is left, and those that follow come from fresh blocks, from their beginning.

use anyhow::{Context, Result, bail};

use crate::mem::{
    self, Kind, MIB, PAGE, PMD,
    pagemap::{Pagemap, frame},
};

/// More than lies in smaller pieces.
const SEARCH: usize = 64 * MIB;
/// Pages of a block.
const BLOCK: u64 = (PMD / PAGE) as u64;

/// Takes them; they are kept until this process ends. What it maps is present, so that `mlockall` takes no more.
///
/// # Errors
/// The kernel's, or when no whole block comes.
pub fn settle() -> Result<()> {
    let pagemap = Pagemap::open()?;
    let mut run = Run::default();
    for _ in 0..SEARCH / PAGE {
        let page = mem::map(Kind::Private, PAGE)?;
        page.refuse_huge()?;
        page.touch();
        let number = frame(pagemap.entry(page.start())?).context("a page just touched is absent")?;
        if run.completes_block(number) {
            return Ok(());
        }
    }
    bail!("no whole block of free pages came within {} KiB", SEARCH / 1024)
}

/// Frames that followed each other, up to the last one.
#[derive(Debug, Default)]
struct Run {
    last: u64,
    length: u64,
}

impl Run {
    /// Takes the next frame: is it the last one of a block that came as a whole?
    fn completes_block(&mut self, frame: u64) -> bool {
        self.length = if frame == self.last + 1 { self.length + 1 } else { 1 };
        self.last = frame;
        (frame + 1).is_multiple_of(BLOCK) && self.length >= BLOCK
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_whole_when_all_its_frames_came_in_order() {
        let ends = |frames: &mut dyn Iterator<Item = u64>| {
            let mut run = Run::default();
            frames.map(|frame| run.completes_block(frame)).collect::<Vec<_>>()
        };
        let whole = ends(&mut (1024..1536));
        assert_eq!(whole.iter().filter(|end| **end).count(), 1);
        assert_eq!(whole.last(), Some(&true));
        assert!(!ends(&mut (1025..1536)).contains(&true), "its first frame was taken before");
        assert!(!ends(&mut (1024..1280).chain([7]).chain(1280..1536)).contains(&true), "not in a row");
        assert!(!ends(&mut (1024..1536).rev()).contains(&true));
    }
}
