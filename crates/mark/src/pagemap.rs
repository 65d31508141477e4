//! A pagemap's scan: which pages of a range are of some kind (`PAGEMAP_SCAN`, since Linux 6.7).

use std::{fs::File, io, ops::Range, os::fd::AsRawFd};

use nix::{errno::Errno, libc};

/// Written to since it was write-protected.
pub const WRITTEN: u64 = 1 << 1;
/// Present in memory.
pub const PRESENT: u64 = 1 << 3;
/// Zero page.
pub const PFNZERO: u64 = 1 << 5;
/// Mapped by an entry of a page middle directory, or part of hugetlb.
pub const HUGE: u64 = 1 << 6;

/// `_IOWR('f', 16, struct pm_scan_arg)`.
const PAGEMAP_SCAN: libc::c_ulong = 0xc060_6610;
/// Regions that one call may give.
const ROOM: usize = 256;

/// A run of pages with the same categories: `struct page_region`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Region {
    /// Its first address.
    pub start: u64,
    /// The address behind it.
    pub end: u64,
    /// Those categories that were asked for.
    pub categories: u64,
}

/// `struct pm_scan_arg`.
#[repr(C)]
#[derive(Debug, Default)]
struct ScanArg {
    size: u64,
    flags: u64,
    start: u64,
    end: u64,
    walk_end: u64,
    vec: u64,
    vec_len: u64,
    max_pages: u64,
    category_inverted: u64,
    category_mask: u64,
    category_anyof_mask: u64,
    return_mask: u64,
}

/// The pages of `range` that have all categories of `required`, and which of `returned` they have. The scan changes no
/// page.
///
/// # Errors
/// The kernel's; [`is_unknown`] tells whether it has no scan.
pub fn scan(pagemap: &File, range: &Range<usize>, required: u64, returned: u64) -> io::Result<Vec<Region>> {
    let number = |value: usize| u64::try_from(value).map_err(io::Error::other);
    let end = number(range.end)?;
    let mut from = number(range.start)?;
    let mut all = Vec::new();
    while from < end {
        let mut regions = [Region::default(); ROOM];
        let mut argument = ScanArg {
            size: number(size_of::<ScanArg>())?,
            start: from,
            end,
            vec: number(regions.as_mut_ptr().expose_provenance())?,
            vec_len: number(ROOM)?,
            category_mask: required,
            return_mask: returned,
            ..ScanArg::default()
        };
        // SAFETY: the argument is a whole pm_scan_arg, and its vector has room for as many regions as it says; both
        // live until the call is over. Without flags the scan changes no page.
        let found = unsafe { libc::ioctl(pagemap.as_raw_fd(), PAGEMAP_SCAN, &raw mut argument) };
        let found = usize::try_from(found).map_err(|_| io::Error::last_os_error())?;
        all.extend(regions.iter().take(found));
        // The walk stops early where the regions are full.
        if argument.walk_end <= from {
            break;
        }
        from = argument.walk_end;
    }
    Ok(all)
}

/// Does a scan's error mean that the kernel has none?
#[must_use]
pub fn is_unknown(error: &io::Error) -> bool {
    let unknown = [Errno::ENOTTY, Errno::EINVAL].map(|errno| errno as i32);
    error.raw_os_error().is_some_and(|number| unknown.contains(&number))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_argument_has_the_size_that_its_request_says() {
        assert_eq!(size_of::<ScanArg>(), usize::try_from((PAGEMAP_SCAN >> 16) & 0x3fff).unwrap());
    }

    #[test]
    fn what_is_no_pagemap_has_no_scan() {
        let file = File::open("/proc/self/maps").unwrap();
        let error = scan(&file, &(0x1000..0x2000), PRESENT, PRESENT).unwrap_err();
        assert!(is_unknown(&error), "{error}");
        assert_eq!(scan(&file, &(0x1000..0x1000), PRESENT, PRESENT).unwrap(), []);
    }
}
