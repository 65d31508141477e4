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
