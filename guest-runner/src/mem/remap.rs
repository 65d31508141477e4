//! Moving parts of areas, to addresses that are reserved for them.

use std::{io, ops::Range};

use nix::libc;

use super::{Area, Reserved};

/// What becomes of the old addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Old {
    /// They are free.
    Free,
    /// They stay mapped, and hold nothing (`MREMAP_DONTUNMAP`).
    Mapped,
}

/// Moves the part of an area that lies at these of its offsets, to an offset of reserved addresses.
///
/// # Errors
/// The kernel's, and that the part does not lie in the area or does not fit there.
pub fn move_part(area: Area, part: Range<usize>, to: &Reserved, offset: usize, old: Old) -> io::Result<Area> {
    let len = part.len();
    if part.end > area.len || offset + len > to.len {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    let kept = if old == Old::Mapped { libc::MREMAP_DONTUNMAP } else { 0 };
    // SAFETY: the area is consumed. What is replaced is a part of reserved addresses, to which nothing refers.
    let moved = unsafe {
        libc::mremap(
            std::ptr::with_exposed_provenance_mut(area.start + part.start),
            len,
            len,
            libc::MREMAP_MAYMOVE | libc::MREMAP_FIXED | kept,
            std::ptr::with_exposed_provenance_mut::<libc::c_void>(to.start + offset),
        )
    };
    if moved == libc::MAP_FAILED {
        return Err(io::Error::last_os_error());
    }
    Ok(Area { start: moved.expose_provenance(), len })
}
