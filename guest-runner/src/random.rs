//! Numbers that look random and are the same in every boot.

/// xorshift64.
#[derive(Debug)]
pub struct Random(u64);

impl Random {
    /// The sequence that belongs to `seed`.
    pub fn seeded(seed: u64) -> Self {
        // Odd multiples of an odd number are never zero, at which xorshift would stay.
        Self(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(seed.wrapping_mul(2).wrapping_add(1)))
    }

    /// The next number below `limit`, or 0.
    pub fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 33).unwrap_or(0) % limit.max(1)
    }

    /// Puts `items` into a random order (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last + 1));
        }
    }

    /// For each of `len` places the one that comes next, so that all of them form one cycle (Sattolo).
    pub fn cycle(&mut self, len: usize) -> Vec<usize> {
        let mut next: Vec<_> = (0..len).collect();
        for last in (1..len).rev() {
            next.swap(last, self.below(last));
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn a_sequence_is_fixed_by_its_seed_and_bounded() {
        let draw = |seed| {
            let mut random = Random::seeded(seed);
            (0..50).map(|_| random.below(7)).collect::<Vec<_>>()
        };
        assert_eq!(draw(0), draw(0));
        assert_ne!(draw(0), draw(1));
        assert!(draw(0).iter().all(|value| *value < 7));
        assert_eq!(Random::seeded(1).below(0), 0);
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<_> = (0..1000).collect();
        Random::seeded(3).shuffle(&mut items);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert_eq!(items, (0..1000).collect::<Vec<_>>());
        Random::seeded(3).shuffle::<u8>(&mut []);
    }

    #[test]
    fn a_cycle_visits_every_place_once_and_comes_back() {
        for len in [1, 2, 3, 256, 1000] {
            let next = Random::seeded(5).cycle(len);
            let mut seen = BTreeSet::new();
            let mut at = 0;
            while seen.insert(at) {
                at = next[at];
            }
            assert_eq!((at, seen.len()), (0, len));
        }
        assert!(Random::seeded(5).cycle(0).is_empty());
    }
}
