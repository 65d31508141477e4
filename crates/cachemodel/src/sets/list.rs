//! Least recently used for one large set: a list in the order of use, and a hash table to find an entry in it.

use super::Key;

/// No slot. (The largest cache that a machine may have is of 2²⁴ lines.)
const END: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(crate) struct List<K> {
    slots: Vec<Slot<K>>,
    /// For each hash the first slot of its chain.
    buckets: Vec<u32>,
    /// How far a hash is shifted to be one of a bucket.
    shift: u32,
    /// The slot used last.
    first: u32,
    /// The slot used longest ago.
    last: u32,
}

#[derive(Clone, Copy, Debug)]
struct Slot<K> {
    key: K,
    /// The slot used next after it.
    newer: u32,
    /// The slot used just before it.
    older: u32,
    /// The next slot with the same hash.
    chained: u32,
}

impl<K: Key> List<K> {
    pub(super) fn new(ways: usize) -> Self {
        let buckets = (4 * ways).next_power_of_two();
        let empty = Slot { key: K::NOTHING, newer: END, older: END, chained: END };
        let mut list = Self {
            slots: vec![empty; ways],
            buckets: vec![END; buckets],
            shift: u64::BITS - buckets.trailing_zeros(),
            first: 0,
            last: 0,
        };
        list.clear();
        list
    }

    pub(super) fn clear(&mut self) {
        self.buckets.fill(END);
        let count = self.slots.len();
        let number = |at: usize| if at < count { at as u32 } else { END };
        for (at, slot) in self.slots.iter_mut().enumerate() {
            let newer = at.checked_sub(1).map_or(END, number);
            *slot = Slot { key: K::NOTHING, newer, older: number(at + 1), chained: END };
        }
        self.first = 0;
        self.last = number(count - 1);
    }

    #[inline]
    pub(super) fn access(&mut self, key: K) -> bool {
        if self.slots[self.first as usize].key == key {
            return true;
        }
        let found = self.find(key);
        let slot = if found == END { self.last } else { found };
        self.unlink(slot);
        if found == END {
            self.rename(slot, key);
        }
        self.link_first(slot);
        found != END
    }

    pub(super) fn holds(&self, key: K) -> bool {
        self.find(key) != END
    }

    #[inline]
    fn bucket(&self, key: K) -> usize {
        (key.spread() >> self.shift) as usize
    }

    #[inline]
    fn find(&self, key: K) -> u32 {
        let mut at = self.buckets[self.bucket(key)];
        while at != END && self.slots[at as usize].key != key {
            at = self.slots[at as usize].chained;
        }
        at
    }

    /// Takes a slot out of the order of use.
    fn unlink(&mut self, slot: u32) {
        let Slot { newer, older, .. } = self.slots[slot as usize];
        match newer {
            END => self.first = older,
            newer => self.slots[newer as usize].older = older,
        }
        match older {
            END => self.last = newer,
            older => self.slots[older as usize].newer = newer,
        }
    }

    fn link_first(&mut self, slot: u32) {
        let second = self.first;
        self.slots[slot as usize].newer = END;
        self.slots[slot as usize].older = second;
        match second {
            END => self.last = slot,
            second => self.slots[second as usize].newer = slot,
        }
        self.first = slot;
    }

    /// Gives a slot to another entry.
    fn rename(&mut self, slot: u32, key: K) {
        let old = self.slots[slot as usize];
        if old.key != K::NOTHING {
            let bucket = self.bucket(old.key);
            let mut at = self.buckets[bucket];
            if at == slot {
                self.buckets[bucket] = old.chained;
            } else {
                while self.slots[at as usize].chained != slot {
                    at = self.slots[at as usize].chained;
                }
                self.slots[at as usize].chained = old.chained;
            }
        }
        let bucket = self.bucket(key);
        self.slots[slot as usize].key = key;
        self.slots[slot as usize].chained = self.buckets[bucket];
        self.buckets[bucket] = slot;
    }
}
