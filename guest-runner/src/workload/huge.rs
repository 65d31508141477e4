//! How much of a range another process has in PMD-sized pages, by `PAGEMAP_SCAN` (Linux 6.7).

use std::{fs::File, io, ops::Range, os::fd::AsRawFd};

use anyhow::{Context, Result};
use nix::{errno::Errno, libc, unistd::Pid};

use crate::mem::pagemap::{PAGEMAP_SCAN, Region, ScanArg};

/// The page belongs to a PMD-sized page.
const PAGE_IS_HUGE: u64 = 1 << 6;
/// Regions that one call may give.
const REGIONS: usize = 256;

/// A process's pagemap.
#[derive(Debug)]
pub struct Pagemap(File);

impl Pagemap {
    /// Opens it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn of(program: Pid) -> Result<Self> {
        let path = format!("/proc/{program}/pagemap");
        File::open(&path).map(Self).with_context(|| format!("failed to open {path}"))
    }

    /// The bytes of `range` that lie in PMD-sized pages; `None` where the kernel has no such call.
    ///
    /// # Errors
    /// The kernel's.
    pub fn huge_bytes(&self, range: &Range<usize>) -> Result<Option<usize>> {
        let mut sum = 0;
        let mut from = u64::try_from(range.start)?;
        let end = u64::try_from(range.end)?;
        while from < end {
            let mut regions = [Region::default(); REGIONS];
            let mut argument = ScanArg {
                size: u64::try_from(size_of::<ScanArg>())?,
                start: from,
                end,
                vec: u64::try_from(regions.as_mut_ptr().expose_provenance())?,
                vec_len: u64::try_from(REGIONS)?,
                category_mask: PAGE_IS_HUGE,
                return_mask: PAGE_IS_HUGE,
                ..ScanArg::default()
            };
            // SAFETY: the call writes into `argument` and at most REGIONS regions, both of which outlive it.
            let found = unsafe { libc::ioctl(self.0.as_raw_fd(), PAGEMAP_SCAN, &raw mut argument) };
            let Ok(found) = usize::try_from(found) else {
                let error = io::Error::last_os_error();
                let unknown = [Errno::ENOTTY, Errno::EINVAL].map(|errno| errno as i32);
                if error.raw_os_error().is_some_and(|number| unknown.contains(&number)) {
                    return Ok(None);
                }
                return Err(error).context("failed to scan a pagemap");
            };
            for region in regions.iter().take(found) {
                sum += usize::try_from(region.end - region.start)?;
            }
            // The walk stops early when the regions are full.
            if argument.walk_end <= from {
                break;
            }
            from = argument.walk_end;
        }
        Ok(Some(sum))
    }
}
