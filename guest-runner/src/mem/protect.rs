//! What may be done with an area.

use anyhow::{Result, ensure};
use nix::libc;

use super::Area;

/// Forbids writes to an area.
///
/// # Errors
/// The kernel's.
pub fn read_only(area: &Area) -> Result<()> {
    protect(area, libc::PROT_READ)
}

/// Allows reads and writes again.
///
/// # Errors
/// The kernel's.
pub fn read_write(area: &Area) -> Result<()> {
    protect(area, libc::PROT_READ | libc::PROT_WRITE)
}

fn protect(area: &Area, protection: i32) -> Result<()> {
    // SAFETY: no contents change; a write that is forbidden ends the process.
    let status =
        unsafe { libc::mprotect(std::ptr::with_exposed_provenance_mut(area.start), area.len, protection) };
    ensure!(status == 0, "failed to protect an area: {}", std::io::Error::last_os_error());
    Ok(())
}
