//! Sets of entries, and which entry of a full set makes room.

mod list;
mod lru;
mod tree;

use std::fmt::Debug;

use list::List;
use lru::Lru;
use tree::Tree;

use crate::{access::Place, machine::Replacement};

/// More ways than this in a single set are found by a hash and not one after the other.
const LONG: usize = 16;

/// What an entry is known by.
pub(crate) trait Key: Copy + PartialEq + Debug {
    /// That of an entry that holds nothing; never looked up.
    const NOTHING: Self;

    /// A number that spreads.
    fn spread(self) -> u64;
}

impl Key for u64 {
    const NOTHING: Self = Self::MAX;

    fn spread(self) -> u64 {
        self.wrapping_mul(GOLDEN)
    }
}

impl Key for Place {
    const NOTHING: Self = Self::NOWHERE;

    fn spread(self) -> u64 {
        (self.virt ^ self.phys.rotate_left(32)).wrapping_mul(GOLDEN)
    }
}

/// 2⁶⁴ over the golden ratio: multiplying by it carries every bit of a number into the upper ones.
pub(crate) const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// An associative memory: sets, each with the same number of ways.
#[derive(Clone, Debug)]
pub(crate) enum Sets<K> {
    Lru(Lru<K>),
    List(List<K>),
    Tree(Tree<K>),
}

impl<K: Key> Sets<K> {
    pub(crate) fn new(sets: usize, ways: usize, replacement: Replacement) -> Self {
        match replacement {
            Replacement::Lru if sets == 1 && ways > LONG => Self::List(List::new(ways)),
            Replacement::Lru => Self::Lru(Lru::new(sets, ways)),
            Replacement::TreePlru => Self::Tree(Tree::new(sets, ways)),
        }
    }

    /// Forgets everything.
    pub(crate) fn clear(&mut self) {
        match self {
            Self::Lru(lru) => lru.clear(),
            Self::List(list) => list.clear(),
            Self::Tree(tree) => tree.clear(),
        }
    }

    /// Uses an entry: was it there? If not it is now.
    #[inline]
    pub(crate) fn access(&mut self, set: usize, key: K) -> bool {
        match self {
            Self::Lru(lru) => lru.access(set, key),
            Self::List(list) => list.access(key),
            Self::Tree(tree) => tree.access(set, key),
        }
    }

    /// Is an entry there? Nobody has used it by that.
    pub(crate) fn holds(&self, set: usize, key: K) -> bool {
        match self {
            Self::Lru(lru) => lru.holds(set, key),
            Self::List(list) => list.holds(key),
            Self::Tree(tree) => tree.holds(set, key),
        }
    }
}

#[cfg(test)]
mod tests;
