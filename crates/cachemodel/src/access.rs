//! What the model is fed with.

use crate::machine::PageSize;

/// The size of a line in bytes, on every machine.
pub const LINE: u64 = 64;

/// One access of a program in user space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The virtual address of its first byte.
    pub vaddr: u64,
    /// The physical address of its first byte.
    pub paddr: u64,
    /// Its length in bytes, at least 1.
    pub size: u8,
    /// Does it write? To the model a store is a load.
    pub store: bool,
    /// Is it mapped by one entry for 2 MiB?
    pub huge: bool,
}

/// A place in memory, by its virtual and by its physical number: addresses over the size of a line or of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) virt: u64,
    pub(crate) phys: u64,
}

impl Place {
    /// No line and no page is there: numbers are addresses without their lowest bits.
    pub(crate) const NOWHERE: Self = Self { virt: u64::MAX, phys: u64::MAX };

    /// The one behind, in both address spaces.
    pub(crate) const fn next(self) -> Self {
        Self { virt: self.virt.wrapping_add(1), phys: self.phys.wrapping_add(1) }
    }
}

/// A page: the numbers are in its own size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Page {
    pub(crate) size: PageSize,
    pub(crate) place: Place,
}

impl Page {
    pub(crate) const NOWHERE: Self = Self { size: PageSize::Small, place: Place::NOWHERE };

    /// The one behind, of the same size.
    pub(crate) const fn next(self) -> Self {
        Self { size: self.size, place: self.place.next() }
    }
}

impl Access {
    /// The line of the first byte.
    #[inline]
    pub(crate) const fn line(&self) -> Place {
        Place { virt: self.vaddr / LINE, phys: self.paddr / LINE }
    }

    /// How many lines lie behind the first one that it reaches.
    #[inline]
    pub(crate) const fn lines_behind(&self) -> u64 {
        (self.vaddr % LINE + self.length() - 1) / LINE
    }

    /// How large the page is that it lies in.
    #[inline]
    const fn page_size(&self) -> PageSize {
        if self.huge { PageSize::Huge } else { PageSize::Small }
    }

    /// The page of the first byte.
    #[inline]
    pub(crate) const fn page(&self) -> Page {
        let size = self.page_size();
        let place = Place { virt: self.vaddr >> size.shift(), phys: self.paddr >> size.shift() };
        Page { size, place }
    }

    /// Does its last byte lie in another page than its first?
    #[inline]
    pub(crate) const fn spans_pages(&self) -> bool {
        let size = 1_u64 << self.page_size().shift();
        self.vaddr % size + self.length() > size
    }

    const fn length(&self) -> u64 {
        if self.size == 0 { 1 } else { self.size as u64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_access_reaches_what_its_last_byte_lies_in() {
        for (vaddr, size, huge, lines, pages) in [
            (0, 64, false, 0, false),
            (56, 8, false, 0, false),
            (57, 8, false, 1, false),
            (63, 66, false, 2, false),
            (63, 0, false, 0, false),
            (0xff8, 8, false, 0, false),
            (0xff9, 8, false, 1, true),
            (0xff9, 8, true, 1, false),
            (0x1f_fff9, 8, true, 1, true),
        ] {
            let access = Access { vaddr, paddr: vaddr, size, store: false, huge };
            assert_eq!((access.lines_behind(), access.spans_pages()), (lines, pages), "{access:x?}");
        }
    }
}
