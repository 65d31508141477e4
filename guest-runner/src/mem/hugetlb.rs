//! Maps of pages from the hugetlb pool.

use std::fs;

use anyhow::{Context, Result, ensure};
use nix::libc;

use super::{Area, Reserved, mmap, over};
use crate::{needs::HUGETLB_POOL, proc};

/// Asks for a pool of so many pages; it is given back after the test.
///
/// # Errors
/// When the kernel does not have so many.
pub fn fill_pool(pages: i64) -> Result<()> {
    fs::write(HUGETLB_POOL, pages.to_string()).context("failed to fill the hugetlb pool")?;
    let got = proc::number(HUGETLB_POOL)?;
    ensure!(got == pages, "the hugetlb pool has {got} pages, not {pages}");
    Ok(())
}

/// Maps private pages of the pool over a part of reserved addresses. Nothing is set aside for it.
///
/// # Errors
/// The kernel's.
pub fn map_fixed(reserved: &Reserved, offset: usize, len: usize) -> Result<Area> {
    ensure!(offset + len <= reserved.len, "the mapping lies outside of the reserved addresses");
    let flags =
        libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB | libc::MAP_NORESERVE | libc::MAP_FIXED;
    let start = mmap(reserved.start + offset, len, libc::PROT_READ | libc::PROT_WRITE, flags, -1)
        .context("failed to map pages of the hugetlb pool")?;
    Ok(Area { start, len })
}

/// Maps private pages of the pool where the kernel likes. They are set aside for this process.
///
/// # Errors
/// The kernel's, among them that the pool has too few.
pub fn map_reserved(len: usize) -> Result<Area> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB;
    let start = mmap(0, len, libc::PROT_READ | libc::PROT_WRITE, flags, -1)
        .context("failed to map pages of the hugetlb pool")?;
    Ok(Area { start, len })
}

/// Moves an area to a part of reserved addresses.
///
/// # Errors
/// The kernel's.
pub fn move_fixed(area: Area, reserved: &Reserved, offset: usize) -> Result<Area> {
    ensure!(offset + area.len <= reserved.len, "the mapping lies outside of the reserved addresses");
    over::remap(area, reserved.start + offset).context("failed to move an area")
}
