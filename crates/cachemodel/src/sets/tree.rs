//! Tree-PLRU: a binary tree over the ways of a set, whose nodes each remember in which half the last use was not.

use super::Key;

#[derive(Clone, Debug)]
pub(crate) struct Tree<K> {
    ways: usize,
    entries: Vec<K>,
    /// Of each set the nodes' bits: the root is bit 1, below bit n are 2n (lower half of the ways) and 2n + 1.
    /// A bit that is set says: the upper half makes room.
    nodes: Vec<u64>,
    /// What a use of each way writes.
    paths: Vec<Path>,
}

/// The nodes on the way to a leaf, and what they say afterwards.
#[derive(Clone, Copy, Debug)]
struct Path {
    mask: u64,
    away: u64,
}

impl<K: Key> Tree<K> {
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        let entries = vec![K::NOTHING; sets * ways];
        Self {
            ways,
            entries,
            nodes: vec![0; sets],
            paths: (0..ways).map(|way| Path::to(way, ways)).collect(),
        }
    }

    pub(super) fn clear(&mut self) {
        self.entries.fill(K::NOTHING);
        self.nodes.fill(0);
    }

    /// An entry that was not there takes the lowest empty way, or the one that the tree leads to.
    #[inline]
    pub(super) fn access(&mut self, set: usize, key: K) -> bool {
        let entries = &mut self.entries[set * self.ways..][..self.ways];
        let nodes = &mut self.nodes[set];
        let found = entries.iter().position(|entry| *entry == key);
        let way = found.unwrap_or_else(|| {
            // Ways fill up from below, and none gets empty again.
            let full = entries.last() != Some(&K::NOTHING);
            let empty = if full { None } else { entries.iter().position(|entry| *entry == K::NOTHING) };
            empty.unwrap_or_else(|| leaf(*nodes, self.ways))
        });
        entries[way] = key;
        let path = self.paths[way];
        *nodes = *nodes & !path.mask | path.away;
        found.is_some()
    }

    pub(super) fn holds(&self, set: usize, key: K) -> bool {
        self.entries[set * self.ways..][..self.ways].contains(&key)
    }
}

impl Path {
    fn to(way: usize, ways: usize) -> Self {
        let mut path = Self { mask: 0, away: 0 };
        let mut node = ways + way;
        while node > 1 {
            let bit = 1_u64 << (node / 2);
            path.mask |= bit;
            if node.is_multiple_of(2) {
                path.away |= bit;
            }
            node /= 2;
        }
        path
    }
}

/// The way that the nodes lead to.
fn leaf(nodes: u64, ways: usize) -> usize {
    let mut node = 1;
    while node < ways {
        node = 2 * node + (nodes >> node & 1) as usize;
    }
    node - ways
}
