//! Giving up what an area holds.

use anyhow::{Context, Result};
use nix::libc;

use super::{Area, advise};

/// `MADV_DONTNEED` of the part `[offset, offset + len)` that lies in the area: it reads as zeros from now on.
///
/// # Errors
/// The kernel's.
pub fn discard(area: &Area, offset: usize, len: usize) -> Result<()> {
    let len = len.min(area.len.saturating_sub(offset));
    advise(area.start + offset, len, libc::MADV_DONTNEED).context("failed to discard a part of an area")
}
