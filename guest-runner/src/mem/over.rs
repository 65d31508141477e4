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

/// Maps memory from address 0 on.
///
/// # Errors
/// The kernel's.
pub fn map_lowest(len: usize) -> io::Result<Area> {
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
    let start = mmap(0, len, libc::PROT_READ | libc::PROT_WRITE, flags, -1)?;
    Ok(Area { start, len })
}

/// Moves an area to the place of another, which is gone.
///
/// # Errors
/// The kernel's.
pub fn move_over(area: Area, other: Area) -> io::Result<Area> {
    remap(area, other.start)
}

/// Takes `len` bytes from the middle of an area and moves them where the kernel likes. It gives back the part
/// before them, that part, and the part behind them.
///
/// # Errors
/// The kernel's, and that the middle does not lie inside.
pub fn move_middle(area: Area, offset: usize, len: usize) -> io::Result<[Area; 3]> {
    if offset + len > area.len {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let start = std::ptr::with_exposed_provenance_mut(area.start + offset);
    // SAFETY: the area is consumed, and without MREMAP_FIXED no mapping is replaced. The new length differs, for
    // which the kernel must find another place.
    let moved = unsafe { libc::mremap(start, len, 2 * len, libc::MREMAP_MAYMOVE) };
    if moved == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    let end = area.start + area.len;
    Ok([
        Area { start: area.start, len: offset },
        Area { start: moved.expose_provenance(), len: 2 * len },
        Area { start: area.start + offset + len, len: end - (area.start + offset + len) },
    ])
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
