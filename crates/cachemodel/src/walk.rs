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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{access::Place, testing::machine};

    const GIB: u64 = 1 << 30;
    const MIB: u64 = 1 << 20;

    fn small(vaddr: u64) -> Page {
        Page { size: PageSize::Small, place: Place { virt: vaddr >> 12, phys: 0 } }
    }

    fn huge(vaddr: u64) -> Page {
        Page { size: PageSize::Huge, place: Place { virt: vaddr >> 21, phys: 0 } }
    }

    fn reads(kept: &str, pages: &[Page]) -> Vec<u64> {
        let mut walker = Walker::new(&machine(&[("walk", &format!("{kept}\norigin = {{}}"))]).walk);
        let reads: Vec<u64> = pages.iter().map(|page| walker.walk(*page)).collect();
        walker.clear();
        let again: Vec<u64> = pages.iter().map(|page| walker.walk(*page)).collect();
        assert_eq!(reads, again, "cleared");
        reads
    }

    #[test]
    fn walks_by_hand() {
        let near = [
            small(0),
            small(4096),
            small(2 * MIB),
            small(GIB),
            small(512 * GIB),
            small(0),
            huge(0),
            huge(GIB),
        ];
        for (kept, expected) in [
            ("pml4e = 0\npdpte = 0\npde = 0", [4, 4, 4, 4, 4, 4, 3, 3]),
            ("pml4e = 2\npdpte = 4\npde = 8", [4, 1, 2, 3, 4, 1, 1, 1]),
            // One entry a level: the walk to the last terabyte's half took the places of the first.
            ("pml4e = 1\npdpte = 1\npde = 1", [4, 1, 2, 3, 4, 4, 1, 2]),
            ("pml4e = 0\npdpte = 0\npde = 8", [4, 1, 4, 4, 4, 1, 3, 3]),
            ("pml4e = 2\npdpte = 0\npde = 0", [4, 3, 3, 3, 4, 3, 2, 2]),
            ("pml4e = 0\npdpte = 4\npde = 0", [4, 2, 2, 4, 4, 2, 1, 1]),
        ] {
            assert_eq!(reads(kept, &near), expected, "{kept}");
        }
    }

    #[test]
    fn an_entry_that_maps_a_page_is_not_kept() {
        let twice = [huge(0), huge(0), small(0), small(0)];
        assert_eq!(reads("pml4e = 2\npdpte = 4\npde = 8", &twice), [3, 1, 2, 1]);
    }
}
