//! A page walk: how many entries of page tables it reads.

use crate::{
    access::Page,
    machine::{PageSize, Replacement, WalkSpec},
    sets::Sets,
};

/// The address bits below each kept level, from the lowest: what one entry of it covers.
const COVERS: [u32; 3] = [21, 30, 39];

/// The paging-structure caches of a core.
#[derive(Clone, Debug)]
pub(crate) struct Walker {
    /// Page directory entries, page directory pointers, the top level.
    levels: [Option<Sets<u64>>; 3],
}

impl Walker {
    pub(crate) fn new(spec: &WalkSpec) -> Self {
        let level = |entries: u32| (entries > 0).then(|| Sets::new(1, entries as usize, Replacement::Lru));
        Self { levels: [level(spec.pde), level(spec.pdpte), level(spec.pml4e)] }
    }

    pub(crate) fn clear(&mut self) {
        self.levels.iter_mut().flatten().for_each(Sets::clear);
    }

    /// Walks to a page, and says how many entries were read: the walk begins below the lowest level that is kept,
    /// and keeps what it reads, save the entry that maps the page.
    pub(crate) fn walk(&mut self, page: Page) -> u64 {
        let vaddr = page.place.virt << page.size.shift();
        let lowest = match page.size {
            PageSize::Small => 0,
            PageSize::Huge => 1,
        };
        let mut read = 1;
        for (level, covers) in self.levels.iter_mut().zip(COVERS).skip(lowest) {
            if level.as_mut().is_some_and(|level| level.access(0, vaddr >> covers)) {
                break;
            }
            read += 1;
        }
        read
    }
}
