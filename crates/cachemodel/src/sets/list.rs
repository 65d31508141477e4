//! Least recently used for one large set: a list in the order of use, and a hash table to find an entry in it.

use super::Key;

/// No slot.
const END: u16 = u16::MAX;

#[derive(Clone, Debug)]
pub(crate) struct List<K> {
    slots: Vec<Slot<K>>,
    /// For each hash the first slot of its chain.
    buckets: Vec<u16>,
    /// How far a hash is shifted to be one of a bucket.
    shift: u32,
    /// The slot used last.
    first: u16,
    /// The slot used longest ago.
    last: u16,
}

#[derive(Clone, Copy, Debug)]
struct Slot<K> {
    key: K,
    /// The slot used next after it.
    newer: u16,
    /// The slot used just before it.
    older: u16,
    /// The next slot with the same hash.
    chained: u16,
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
        let number = |at: usize| if at < count { at as u16 } else { END };
        for (at, slot) in self.slots.iter_mut().enumerate() {
            let newer = at.checked_sub(1).map_or(END, number);
            *slot = Slot { key: K::NOTHING, newer, older: number(at + 1), chained: END };
        }
        self.first = 0;
        self.last = number(count - 1);
    }

    #[inline]
    pub(super) fn access(&mut self, key: K) -> bool {
        if self.slots[usize::from(self.first)].key == key {
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
    fn find(&self, key: K) -> u16 {
        let mut at = self.buckets[self.bucket(key)];
        while at != END && self.slots[usize::from(at)].key != key {
            at = self.slots[usize::from(at)].chained;
        }
        at
    }

    /// Takes a slot out of the order of use.
    fn unlink(&mut self, slot: u16) {
        let Slot { newer, older, .. } = self.slots[usize::from(slot)];
        match newer {
            END => self.first = older,
            newer => self.slots[usize::from(newer)].older = older,
        }
        match older {
            END => self.last = newer,
            older => self.slots[usize::from(older)].newer = newer,
        }
    }

    fn link_first(&mut self, slot: u16) {
        let second = self.first;
        self.slots[usize::from(slot)].newer = END;
        self.slots[usize::from(slot)].older = second;
        match second {
            END => self.last = slot,
            second => self.slots[usize::from(second)].newer = slot,
        }
        self.first = slot;
    }

    /// Gives a slot to another entry.
    fn rename(&mut self, slot: u16, key: K) {
        let old = self.slots[usize::from(slot)];
        if old.key != K::NOTHING {
            let bucket = self.bucket(old.key);
            let mut at = self.buckets[bucket];
            if at == slot {
                self.buckets[bucket] = old.chained;
            } else {
                while self.slots[usize::from(at)].chained != slot {
                    at = self.slots[usize::from(at)].chained;
                }
                self.slots[usize::from(at)].chained = old.chained;
            }
        }
        let bucket = self.bucket(key);
        self.slots[usize::from(slot)].key = key;
        self.slots[usize::from(slot)].chained = self.buckets[bucket];
        self.buckets[bucket] = slot;
    }
}
