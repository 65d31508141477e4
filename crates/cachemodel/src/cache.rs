//! One cache: lines by their physical number, in sets.

use crate::{
    access::{LINE, Place},
    index::Index,
    machine::CacheSpec,
    sets::Sets,
};

/// One cache.
#[derive(Clone, Debug)]
pub struct Cache {
    index: Index,
    sets: Sets<u64>,
}

impl Cache {
    /// An empty one.
    #[must_use]
    pub fn new(spec: &CacheSpec) -> Self {
        let sets = Sets::new(spec.all_sets() as usize, spec.ways as usize, spec.replacement);
        Self { index: Index::new(spec), sets }
    }

    /// Forgets all lines.
    pub fn clear(&mut self) {
        self.sets.clear();
    }

    /// Uses the line at a virtual and a physical address: was it there? If not it is now.
    pub fn access(&mut self, vaddr: u64, paddr: u64) -> bool {
        self.access_line(Place { virt: vaddr / LINE, phys: paddr / LINE })
    }

    /// The same for a line by its numbers.
    #[inline]
    pub(crate) fn access_line(&mut self, line: Place) -> bool {
        self.sets.access(self.index.set(line), line.phys)
    }

    /// Is a line there? Nobody has used it by that.
    pub(crate) fn holds(&self, line: Place) -> bool {
        self.sets.holds(self.index.set(line), line.phys)
    }
}
