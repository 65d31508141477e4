//! How the lines of a region's first accesses share the sets of the second-level cache.

use std::collections::{BTreeMap, BTreeSet};

use mthp_record::cost::Occupancy;

use crate::{access::Access, index::Index, machine::Machine};

/// Counts, over the first accesses it sees, the different lines that fall into each set of a machine's
/// second-level cache: a property of the addresses, whatever the cache held.
#[derive(Clone, Debug)]
pub struct OccupancyCounter {
    index: Index,
    sets: u32,
    ways: u32,
    seen: u32,
    limit: u32,
    lines: BTreeSet<(usize, u64)>,
}

impl OccupancyCounter {
    /// How many accesses are looked at if nothing else is said.
    pub const ACCESSES: u32 = 1024;

    /// One that looks at the first `limit` accesses.
    #[must_use]
    pub fn new(machine: &Machine, limit: u32) -> Self {
        let l2 = &machine.l2;
        let index = Index::new(l2);
        Self { index, sets: l2.all_sets(), ways: l2.ways, seen: 0, limit, lines: BTreeSet::new() }
    }

    /// Has it seen all that it looks at?
    #[must_use]
    pub const fn is_full(&self) -> bool {
        self.seen >= self.limit
    }

    /// Takes accesses, in their order; what is beyond its limit does not count.
    pub fn run(&mut self, batch: &[Access]) {
        let left = (self.limit - self.seen) as usize;
        for access in batch.iter().take(left) {
            self.seen += 1;
            let mut line = access.line();
            self.lines.insert((self.index.set(line), line.phys));
            for _ in 0..access.lines_behind() {
                line = line.next();
                self.lines.insert((self.index.set(line), line.phys));
            }
        }
    }

    /// What it has counted.
    #[must_use]
    pub fn finish(&self) -> Occupancy {
        let mut lines = BTreeMap::new();
        for (set, _) in &self.lines {
            *lines.entry(*set as u32).or_insert(0) += 1;
        }
        Occupancy {
            sets: self.sets,
            ways: self.ways,
            accesses: self.seen,
            lines: lines.into_iter().collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    fn at(address: u64) -> Access {
        Access { vaddr: address + (5 << 12), paddr: address, size: 8, store: false, huge: false }
    }

    #[test]
    fn each_line_counts_once_in_its_set() {
        let mut counter = OccupancyCounter::new(&machine(&[]), 8);
        // 16 sets of 64 bytes; the fourth access reaches into the next line.
        let addresses = [0, 8, 1024, 2 * 64 - 4, 0, 2048];
        counter.run(&addresses.map(at));
        assert!(!counter.is_full());
        let expected = Occupancy { sets: 16, ways: 2, accesses: 6, lines: vec![(0, 3), (1, 1), (2, 1)] };
        assert_eq!(counter.finish(), expected);
    }

    #[test]
    fn what_is_beyond_the_limit_does_not_count() {
        let mut counter = OccupancyCounter::new(&machine(&[]), 3);
        counter.run(&[at(0), at(64)]);
        counter.run(&[at(128), at(192), at(256)]);
        assert!(counter.is_full());
        counter.run(&[at(320)]);
        assert_eq!(counter.finish().accesses, 3);
        assert_eq!(counter.finish().lines, [(0, 1), (1, 1), (2, 1)]);
    }
}
