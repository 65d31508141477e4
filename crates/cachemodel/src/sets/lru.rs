//! Least recently used, exactly: each set is kept in the order of use.

use super::Key;

#[derive(Clone, Debug)]
pub(crate) struct Lru<K> {
    ways: usize,
    /// All sets, one behind the other; in each the entry used last comes first, what is empty comes last.
    entries: Vec<K>,
}

impl<K: Key> Lru<K> {
    pub(super) fn new(sets: usize, ways: usize) -> Self {
        Self { ways, entries: vec![K::NOTHING; sets * ways] }
    }

    pub(super) fn clear(&mut self) {
        self.entries.fill(K::NOTHING);
    }

    /// Puts the entry in front. Those that were before it move back by one place; if it was not there the last
    /// one falls out.
    #[inline]
    pub(super) fn access(&mut self, set: usize, key: K) -> bool {
        let mut moved = key;
        for entry in &mut self.entries[set * self.ways..][..self.ways] {
            std::mem::swap(entry, &mut moved);
            if moved == key {
                return true;
            }
        }
        false
    }

    pub(super) fn holds(&self, set: usize, key: K) -> bool {
        self.entries[set * self.ways..][..self.ways].contains(&key)
    }
}
