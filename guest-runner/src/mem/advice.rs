//! What a program tells the kernel of a mapping (`madvise(2)`).

use anyhow::{Context, Result};
use nix::libc;

use super::{Area, advise};

impl Area {
    /// `MADV_HUGEPAGE`: huge pages are wanted here.
    ///
    /// # Errors
    /// The kernel's.
    pub fn want_huge(&self) -> Result<()> {
        advise(self.start(), self.range().len(), libc::MADV_HUGEPAGE)
            .context("failed to advise huge pages (MADV_HUGEPAGE)")
    }
}
