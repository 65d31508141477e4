//! Maps in the place of others.

use std::{io, os::fd::AsRawFd};

use nix::libc;

use super::{Area, mmap};

/// Puts a private map of a file in the place of an area, which is gone whether or not that works.
///
/// # Errors
/// The kernel's.
pub fn map_file_over(area: Area, file: &impl AsRawFd) -> io::Result<Area> {
    let flags = libc::MAP_PRIVATE | libc::MAP_FIXED;
    let start = mmap(area.start, area.len, libc::PROT_READ | libc::PROT_WRITE, flags, file.as_raw_fd())?;
    Ok(Area { start, len: area.len })
}

/// Maps one page at address 0.
///
/// # Errors
/// The kernel's.
pub fn map_lowest_page() -> io::Result<Area> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    let start = mmap(0, super::PAGE, libc::PROT_READ | libc::PROT_WRITE, flags, -1)?;
    Ok(Area { start, len: super::PAGE })
}

/// Moves an area to the place of another, which is gone.
///
/// # Errors
/// The kernel's.
pub fn move_over(area: Area, other: Area) -> io::Result<Area> {
    remap(area, other.start)
}

/// Moves an area to an address that is the caller's.
pub(super) fn remap(area: Area, to: usize) -> io::Result<Area> {
    // SAFETY: the area is consumed, and callers pass addresses of an area that is consumed too, or reserved ones.
    let moved = unsafe {
        libc::mremap(
            std::ptr::with_exposed_provenance_mut(area.start),
            area.len,
            area.len,
            libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED,
            std::ptr::with_exposed_provenance_mut::<libc::c_void>(to),
        )
    };
    if moved == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(Area { start: moved.expose_provenance(), len: area.len })
}
