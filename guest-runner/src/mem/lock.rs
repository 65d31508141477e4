//! Locked memory.

use std::{io, ops::Range};

use anyhow::{Context, Result};
use nix::{
    libc,
    sys::mman::{MlockAllFlags, mlockall},
};

use super::{Area, mmap};

/// Since Linux 6.11; not in every libc.
const MAP_DROPPABLE: i32 = 0x08;

/// Locks an area, which makes its pages present.
///
/// # Errors
/// The kernel's.
pub fn lock(area: &Area) -> io::Result<()> {
    // SAFETY: mlock changes no contents.
    let status = unsafe { libc::mlock(std::ptr::with_exposed_provenance(area.start), area.len) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Locks what will once be present of these addresses.
///
/// # Errors
/// The kernel's.
pub fn lock_on_fault(range: &Range<usize>) -> io::Result<()> {
    let start = std::ptr::with_exposed_provenance(range.start);
    // SAFETY: mlock2 changes no contents.
    let status = unsafe { libc::mlock2(start, range.len(), libc::MLOCK_ONFAULT) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Locks whatever the process maps from now on.
///
/// # Errors
/// The kernel's.
pub fn lock_future() -> Result<()> {
    mlockall(MlockAllFlags::MCL_FUTURE).context("failed to lock what will be mapped")
}

/// Maps memory that the kernel may drop whenever it likes.
///
/// # Errors
/// The kernel's.
pub fn map_droppable(len: usize) -> io::Result<Area> {
    let flags = MAP_DROPPABLE | libc::MAP_ANONYMOUS;
    let start = mmap(0, len, libc::PROT_READ | libc::PROT_WRITE, flags, -1)?;
    Ok(Area { start, len })
}
