//! Which set of a cache a line falls into.

use crate::{
    access::Place,
    machine::{CacheSpec, IndexBy},
    sets::GOLDEN,
};

/// Which set of a cache a line falls into, by its number n = address / 64, virtual or physical.
///
/// - `set(n) = n mod sets`: for a power of two these are the lowest bits.
/// - With `hash`, for 2ᵇ sets: `set(n) = n ⊕ (n >> b) ⊕ (n >> 2b) ⊕ …` up to the last bit, `mod 2ᵇ`: all digits of
///   n to the base 2ᵇ, exclusive-or.
/// - With more than one slice: `slice(n) = (n · 0x9e3779b97f4a7c15 mod 2⁶⁴) · slices >> 64`, and the set in it as
///   above. What CPUs take is a like mix of the upper bits and no vendor's document says it; this one is even for
///   any number of slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Index {
    by: IndexBy,
    sets: u64,
    slices: u64,
    rule: Rule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    Lowest { mask: u64 },
    Fold { bits: u32, mask: u64 },
    Modulo,
}

impl Index {
    /// That of a cache.
    #[must_use]
    pub fn new(cache: &CacheSpec) -> Self {
        let sets = u64::from(cache.sets);
        let mask = sets - 1;
        let rule = match (cache.hash, sets.is_power_of_two()) {
            (true, _) => Rule::Fold { bits: sets.trailing_zeros(), mask },
            (false, true) => Rule::Lowest { mask },
            (false, false) => Rule::Modulo,
        };
        Self { by: cache.index, sets, slices: u64::from(cache.slices), rule }
    }

    /// The set of the line at a virtual and a physical address: below slices × sets, those of one slice together.
    #[must_use]
    pub fn set_of(&self, vaddr: u64, paddr: u64) -> usize {
        self.set(Place { virt: vaddr / crate::LINE, phys: paddr / crate::LINE })
    }

    #[inline]
    pub(crate) fn set(&self, line: Place) -> usize {
        let number = match self.by {
            IndexBy::Virtual => line.virt,
            IndexBy::Physical => line.phys,
        };
        let set = match self.rule {
            Rule::Lowest { mask } => number & mask,
            Rule::Fold { bits, mask } => fold(number, bits, mask),
            Rule::Modulo => number % self.sets,
        };
        match self.slices {
            1 => set as usize,
            slices => (slice(number, slices) * self.sets + set) as usize,
        }
    }
}

fn fold(number: u64, bits: u32, mask: u64) -> u64 {
    if bits == 0 {
        return 0;
    }
    let mut folded = 0;
    let mut rest = number;
    while rest != 0 {
        folded ^= rest;
        rest >>= bits;
    }
    folded & mask
}

fn slice(number: u64, slices: u64) -> u64 {
    ((u128::from(number.wrapping_mul(GOLDEN)) * u128::from(slices)) >> 64) as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    fn index(of: &str) -> Index {
        let l2 = format!("index = \"physical\"\nreplacement = \"lru\"\norigin = {{}}\n{of}");
        Index::new(&machine(&[("l2", &l2)]).l2)
    }

    #[test]
    fn sets_by_hand() {
        let plain = "size-kib = 8\nways = 2\nsets = 64";
        let hashed = "size-kib = 8\nways = 2\nsets = 64\nhash = true";
        let odd = "size-kib = 6\nways = 2\nsets = 48";
        let one = "size-kib = 1\nways = 16\nsets = 1\nhash = true";
        for (of, line, set) in [
            (plain, 0, 0),
            (plain, 63, 63),
            (plain, 64 + 5, 5),
            (hashed, 5, 5),
            (hashed, 64 + 5, 5 ^ 1),
            (hashed, 7 << 12 | 3 << 6 | 5, 7 ^ 3 ^ 5),
            (hashed, 1 << 57 | 9, 9 ^ 1 << 3),
            (odd, 47, 47),
            (odd, 48, 0),
            (odd, 1_000_003, 1_000_003 % 48),
            (one, 1_000_003, 0),
        ] {
            assert_eq!(index(of).set_of(0, line * 64 + 63), set, "line {line:#x} of {of:?}");
        }
    }

    #[test]
    fn a_cache_is_indexed_by_the_address_it_says() {
        let physical = index("size-kib = 8\nways = 2\nsets = 64");
        let virt = Index { by: IndexBy::Virtual, ..physical };
        assert_eq!(physical.set_of(0x40, 0x80), 2);
        assert_eq!(virt.set_of(0x40, 0x80), 1);
    }

    #[test]
    fn slices_are_even_for_lines_that_only_differ_in_upper_bits() {
        let sliced = index("size-kib = 1920\nways = 15\nsets = 256\nslices = 8");
        // By hand: 3 · 0x9e37… = 0x1daa66d2b…, its lowest 64 bits times 8 over 2⁶⁴ is 6.
        assert_eq!(sliced.set_of(0, 3 * 64), 6 * 256 + 3);
        let mut lines = [0; 8];
        for n in 0..8000_u64 {
            let set = sliced.set_of(0, n << 21);
            assert_eq!(set % 256, 0);
            lines[set / 256] += 1;
        }
        assert!(lines.iter().all(|lines| (900..1100).contains(lines)), "{lines:?}");
    }
}
