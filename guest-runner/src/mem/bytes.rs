//! What stands in a mapping, byte by byte.

use anyhow::{Result, ensure};

use super::{Area, PAGE};

impl Area {
    /// The number of its pages.
    pub fn pages(&self) -> usize {
        self.len / PAGE
    }

    /// Writes `value(page)` to every byte of each of its pages.
    pub fn fill(&self, value: impl Fn(usize) -> u8) {
        for page in 0..self.pages() {
            // SAFETY: the page is inside this mapping, which is writable while `self` lives; nothing else in the
            // process refers to its bytes.
            unsafe {
                std::ptr::write_bytes(
                    std::ptr::with_exposed_provenance_mut::<u8>(self.start + page * PAGE),
                    value(page),
                    PAGE,
                );
            }
        }
    }

    /// The first byte of one of its pages; `None` beyond its end.
    pub fn first_byte(&self, page: usize) -> Option<u8> {
        // SAFETY: the address is inside this mapping, which is readable while `self` lives.
        (page < self.pages()).then(|| unsafe {
            std::ptr::read_volatile(std::ptr::with_exposed_provenance(self.start + page * PAGE))
        })
    }

    /// How many of its pages begin with `value(page)`.
    pub fn pages_that_hold(&self, value: impl Fn(usize) -> u8) -> usize {
        (0..self.pages()).filter(|&page| self.first_byte(page) == Some(value(page))).count()
    }

    /// Reads one byte, which makes its page present.
    ///
    /// # Errors
    /// When `offset` lies outside of the area.
    pub fn byte(&self, offset: usize) -> Result<u8> {
        ensure!(offset < self.len, "offset {offset:x} lies outside of the area");
        // SAFETY: the address is inside this mapping, which is readable while `self` lives.
        Ok(unsafe { std::ptr::read_volatile(std::ptr::with_exposed_provenance(self.start + offset)) })
    }

    /// Writes one byte.
    ///
    /// # Errors
    /// When `offset` lies outside of the area.
    pub fn set_byte(&self, offset: usize, value: u8) -> Result<()> {
        ensure!(offset < self.len, "offset {offset:x} lies outside of the area");
        // SAFETY: the address is inside this mapping, which is writable while `self` lives; nothing else in the
        // process refers to its bytes.
        unsafe {
            std::ptr::write_volatile(std::ptr::with_exposed_provenance_mut(self.start + offset), value)
        };
        Ok(())
    }
}
