//! The soft-dirty bits of this process: which pages were written since they were cleared.

use std::{fs::File, os::unix::fs::FileExt};

use anyhow::{Context, Result};

use super::{Area, PAGE};

/// The page was written since the bits were last cleared.
pub const SOFT_DIRTY: u64 = 1 << 55;

/// The words of an area's pages.
///
/// # Errors
/// The kernel's.
pub fn of(area: &Area) -> Result<Vec<u64>> {
    let file = File::open("/proc/self/pagemap").context("failed to open /proc/self/pagemap")?;
    let mut bytes = vec![0; area.pages() * size_of::<u64>()];
    let offset = (area.start() / PAGE * size_of::<u64>()) as u64;
    file.read_exact_at(&mut bytes, offset).context("failed to read /proc/self/pagemap")?;
    Ok(bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect())
}

/// How many of an area's pages have that bit.
///
/// # Errors
/// The kernel's.
pub fn pages_with(area: &Area, bit: u64) -> Result<usize> {
    Ok(of(area)?.into_iter().filter(|word| word & bit != 0).count())
}

/// Clears the soft-dirty bits of this process.
///
/// # Errors
/// The kernel's.
pub fn clear_soft_dirty() -> Result<()> {
    std::fs::write("/proc/self/clear_refs", "4").context("failed to clear the soft-dirty bits")
}
