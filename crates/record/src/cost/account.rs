//! What the plugin writes: one account a boot, as JSON.

use std::{collections::BTreeMap, ops::Add, ops::Sub};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// All regions of one boot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The version of the plugin's interface that it was made with.
    pub api: u32,
    /// The nonce of the boot that it is of.
    pub nonce: u64,
    /// The names of the machines that were modelled, in the order in which they were asked for.
    pub machines: Vec<String>,
    /// The regions by name, in the order in which they first ended.
    pub regions: Vec<RegionAccount>,
    /// What was wrong with the marks, in words: a region that never ended, a name that is none. Where there is
    /// any, no region's numbers count.
    pub faults: Vec<String>,
}

/// One region: all times it was entered, in all threads, together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RegionAccount {
    /// Its name, for example `cost/stencil-24x4632KiB`.
    pub name: String,
    /// How often it was entered.
    pub entered: u64,
    /// Loads in it and in the regions inside it. An access is one of the emulator's: at most 16 bytes.
    pub loads: u64,
    /// Stores, likewise.
    pub stores: u64,
    /// Accesses whose last byte lies in another 4 KiB page than the first; the physical address of that page is
    /// taken for the one behind the first's.
    pub crossings: u64,
    /// What each machine's model counted: name → counts.
    pub machines: BTreeMap<String, Counts>,
    /// Where the lines lay in each machine's second-level cache, of the first stretch of accesses.
    pub occupancy: BTreeMap<String, Occupancy>,
}

/// What one machine's model counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Counts {
    /// Accesses to lines: an access that spans two lines counts twice.
    pub l1_accesses: u64,
    /// Those that the first level did not have.
    pub l1_misses: u64,
    /// Those of them that the second level did not have.
    pub l2_misses: u64,
    /// Those of them that the third level did not have; equal to `l2_misses` where there is no third level.
    pub l3_misses: u64,
    /// Lines that the next-line prefetcher brought in.
    pub prefetches: u64,
    /// Translations that the first-level TLB did not have.
    pub dtlb_misses: u64,
    /// Those of them that the second-level TLB did not have: page walks.
    pub walks: u64,
    /// Entries of page tables that the walks read, after the paging-structure caches.
    pub walk_references: u64,
}

/// How the lines of the first accesses of a region share the sets of a cache.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Occupancy {
    /// The cache's sets.
    pub sets: u32,
    /// The cache's ways.
    pub ways: u32,
    /// How many accesses were looked at.
    pub accesses: u32,
    /// How many different lines fell into each set, for the sets with at least one: (set, lines), by set.
    pub lines: Vec<(u32, u32)>,
}

impl Counts {
    fn with(self, other: Self, each: impl Fn(u64, u64) -> u64) -> Self {
        Self {
            l1_accesses: each(self.l1_accesses, other.l1_accesses),
            l1_misses: each(self.l1_misses, other.l1_misses),
            l2_misses: each(self.l2_misses, other.l2_misses),
            l3_misses: each(self.l3_misses, other.l3_misses),
            prefetches: each(self.prefetches, other.prefetches),
            dtlb_misses: each(self.dtlb_misses, other.dtlb_misses),
            walks: each(self.walks, other.walks),
            walk_references: each(self.walk_references, other.walk_references),
        }
    }
}

impl Add for Counts {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }
}

impl Sub for Counts {
    type Output = Self;

    fn sub(self, other: Self) -> Self {
        self.with(other, u64::saturating_sub)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_in_between_is_the_difference() {
        let before = Counts { l1_accesses: 10, walks: 2, ..Counts::default() };
        let inside = Counts { l1_accesses: 5, walks: 1, prefetches: 7, ..Counts::default() };
        assert_eq!(before + inside - before, inside);
    }
}
