//! `madvise(2)` on whole mappings.

use anyhow::{Context, Result};
use nix::libc;

use super::Area;

impl Area {
    /// `MADV_HUGEPAGE`: huge pages are wanted here.
    ///
    /// # Errors
    /// The kernel's.
    pub fn want_huge(&self) -> Result<()> {
        self.advise_all(libc::MADV_HUGEPAGE, "MADV_HUGEPAGE")
    }

    /// `MADV_MERGEABLE`: KSM may merge its pages.
    ///
    /// # Errors
    /// The kernel's.
    pub fn mergeable(&self) -> Result<()> {
        self.advise_all(libc::MADV_MERGEABLE, "MADV_MERGEABLE")
    }

    /// `MADV_FREE`: its contents are no longer needed. What it holds until it is written again is either what it held
    /// or zeros.
    ///
    /// # Errors
    /// The kernel's.
    pub fn lazyfree(&self) -> Result<()> {
        self.advise_all(libc::MADV_FREE, "MADV_FREE")
    }

    /// `MADV_PAGEOUT`: its pages are reclaimed now, where that is possible.
    ///
    /// # Errors
    /// The kernel's.
    pub fn pageout(&self) -> Result<()> {
        self.advise_all(libc::MADV_PAGEOUT, "MADV_PAGEOUT")
    }

    fn advise_all(&self, advice: i32, name: &str) -> Result<()> {
        super::advise(self.start, self.len, advice)
            .with_context(|| format!("failed to give the advice {name}"))
    }
}
