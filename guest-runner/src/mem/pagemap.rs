//! `/proc/self/pagemap`: an entry for each page, and the scan of a range (`PAGEMAP_SCAN`, since Linux 6.7).

use std::{
    fs::File,
    io,
    ops::Range,
    os::{fd::AsRawFd, unix::fs::FileExt},
};

use anyhow::{Context, Result};
use mthp_mark::pagemap::scan;
use nix::libc;

use super::PAGE;

pub use mthp_mark::pagemap::{PFNZERO, PRESENT, Region, WRITTEN};

/// Of an entry: write-protected by userfaultfd.
pub const ENTRY_UFFD_WP: u64 = 1 << 57;

/// Of an entry: present in memory.
const ENTRY_PRESENT: u64 = 1 << 63;
/// Of an entry: the number of the page's frame.
const ENTRY_FRAME: u64 = (1 << 55) - 1;

/// `_IO('f', 255)`, which no pagemap knows.
const UNKNOWN: libc::c_ulong = 0x66ff;

/// This process's pagemap.
#[derive(Debug)]
pub struct Pagemap(File);

impl Pagemap {
    /// Opens it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn open() -> Result<Self> {
        File::open("/proc/self/pagemap").map(Self).context("failed to open /proc/self/pagemap")
    }

    /// The entry of the page at `address`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn entry(&self, address: usize) -> Result<u64> {
        let mut entry = [0; 8];
        let at = u64::try_from(address / PAGE * 8)?;
        self.0.read_exact_at(&mut entry, at).context("failed to read an entry of pagemap")?;
        Ok(u64::from_ne_bytes(entry))
    }

    /// The pages of `range` that have all categories of `required`, and which of `returned` they have.
    ///
    /// # Errors
    /// The kernel's.
    pub fn scan(&self, range: &Range<usize>, required: u64, returned: u64) -> io::Result<Vec<Region>> {
        scan(&self.0, range, required, returned)
    }

    /// Asks for an operation that no pagemap has.
    ///
    /// # Errors
    /// Always, by a kernel in its right mind.
    pub fn unknown_operation(&self) -> io::Result<()> {
        // SAFETY: the request takes no argument, so the kernel has nothing to read or write.
        let status = unsafe { libc::ioctl(self.0.as_raw_fd(), UNKNOWN, 0) };
        if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// The frame of the page with this entry; `None` where it is not present, or hidden from who may not know.
pub fn frame(entry: u64) -> Option<u64> {
    let frame = entry & ENTRY_FRAME;
    (entry & ENTRY_PRESENT != 0 && frame != 0).then_some(frame)
}

/// Does the kernel know the scan?
pub fn can_scan() -> bool {
    Pagemap::open().is_ok_and(|pagemap| pagemap.scan(&(PAGE..2 * PAGE), PRESENT, PRESENT).is_ok())
}

/// The numbers of the pages of `range` that lie in `regions`, in words.
pub fn pages_in_words(regions: &[Region], range: &Range<usize>) -> String {
    let numbers: Vec<_> = range
        .clone()
        .step_by(PAGE)
        .enumerate()
        .filter(|(_, address)| {
            u64::try_from(*address).is_ok_and(|address| {
                regions.iter().any(|region| (region.start..region.end).contains(&address))
            })
        })
        .map(|(number, _)| number.to_string())
        .collect();
    if numbers.is_empty() { "none".to_owned() } else { numbers.join(",") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_named_by_their_numbers() {
        let region = |start, end| Region { start, end, categories: 0 };
        let range = 0x1000..0x5000;
        assert_eq!(pages_in_words(&[region(0x2000, 0x3000), region(0x4000, 0x9000)], &range), "1,3");
        assert_eq!(pages_in_words(&[], &range), "none");
    }

    #[test]
    fn a_page_that_is_not_present_has_no_frame() {
        assert_eq!(frame(ENTRY_PRESENT | 0x1234), Some(0x1234));
        assert_eq!(frame(ENTRY_PRESENT | ENTRY_UFFD_WP | 1 << 55 | 0x1234), Some(0x1234));
        assert_eq!(frame(0x1234), None, "of a page in swap these bits say where");
        assert_eq!(frame(ENTRY_PRESENT), None, "without CAP_SYS_ADMIN");
    }
}
