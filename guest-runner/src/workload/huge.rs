//! How much of a range another process has in PMD-sized pages, by `PAGEMAP_SCAN` (Linux 6.7).

use std::{fs::File, ops::Range};

use anyhow::{Context, Result};
use mthp_mark::pagemap::{HUGE, is_unknown, scan};
use nix::unistd::Pid;

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
        match scan(&self.0, range, HUGE, HUGE) {
            Ok(regions) => {
                let bytes = regions.iter().map(|region| region.end - region.start).sum::<u64>();
                Ok(Some(usize::try_from(bytes)?))
            }
            Err(error) if is_unknown(&error) => Ok(None),
            Err(error) => Err(error).context("failed to scan a pagemap"),
        }
    }
}
