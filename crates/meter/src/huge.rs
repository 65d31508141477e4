//! Which 2 MiB blocks of the measured address space are mapped by huge pages.

/// Bits of a user-space address on x86-64 with four-level page tables.
const ADDRESS_BITS: u32 = 47;
const BLOCK_BITS: u32 = 21;
const WORDS: usize = 1 << (ADDRESS_BITS - BLOCK_BITS - u64::BITS.trailing_zeros());

/// One bit for every block there can be: looked up for each access.
#[derive(Debug)]
pub(crate) struct HugeBlocks {
    bits: Vec<u64>,
    /// The words that are not zero, each once.
    told: Vec<usize>,
}

impl HugeBlocks {
    pub(crate) fn new() -> Self {
        Self { bits: vec![0; WORDS], told: Vec::new() }
    }

    /// Is there such a block? If not nothing is kept.
    #[must_use]
    pub(crate) fn insert(&mut self, address: u64) -> bool {
        let (word, bit) = place(address);
        let Some(bits) = self.bits.get_mut(word) else { return false };
        if *bits == 0 {
            self.told.push(word);
        }
        *bits |= bit;
        true
    }

    pub(crate) fn contains(&self, address: u64) -> bool {
        let (word, bit) = place(address);
        self.bits.get(word).is_some_and(|bits| bits & bit != 0)
    }

    pub(crate) fn clear(&mut self) {
        for word in self.told.drain(..) {
            if let Some(bits) = self.bits.get_mut(word) {
                *bits = 0;
            }
        }
    }
}

fn place(address: u64) -> (usize, u64) {
    let block = address >> BLOCK_BITS;
    (usize::try_from(block >> 6).unwrap_or(usize::MAX), 1 << (block & 63))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_huge_as_a_whole_and_its_neighbours_are_not() {
        let mut blocks = HugeBlocks::new();
        assert!(blocks.insert(0x7fff_ffe0_0000));
        assert!(blocks.insert(0x40_1234));
        for (address, huge) in [
            (0x7fff_ffe0_0000, true),
            (0x7fff_ffff_ffff, true),
            (0x7fff_ffdf_ffff, false),
            (0x3f_ffff, false),
            (0x40_0000, true),
            (0x5f_ffff, true),
            (0x60_0000, false),
            (u64::MAX, false),
        ] {
            assert_eq!(blocks.contains(address), huge, "{address:#x}");
        }
        blocks.clear();
        assert!(!blocks.contains(0x40_0000));
    }

    #[test]
    fn an_address_beyond_user_space_is_none() {
        let mut blocks = HugeBlocks::new();
        for address in [0x8000_0000_0000, 0xffff_8880_0000_0000, u64::MAX] {
            assert!(!blocks.insert(address));
            assert!(!blocks.contains(address));
        }
    }

    #[test]
    fn what_is_told_again_is_not_kept_again() {
        let mut blocks = HugeBlocks::new();
        for at in 0..1000 {
            assert!(blocks.insert((at % 64) << BLOCK_BITS));
        }
        assert_eq!(blocks.told, [0]);
        blocks.clear();
        assert!(blocks.told.is_empty());
        assert!((0..64).all(|block| !blocks.contains(block << BLOCK_BITS)));
    }
}
