//! Reads and writes of single bytes of an area.

use anyhow::{Result, ensure};

use super::Area;

/// Reads one byte, which makes its page present.
///
/// # Errors
/// When `offset` lies outside of the area.
pub fn byte(area: &Area, offset: usize) -> Result<u8> {
    ensure!(offset < area.len, "offset {offset:x} lies outside of the area");
    // SAFETY: the address is inside this mapping, which is readable while `area` lives; nothing else in the
    // process refers to its bytes.
    Ok(unsafe { std::ptr::read_volatile(std::ptr::with_exposed_provenance::<u8>(area.start + offset)) })
}

/// Writes one byte.
///
/// # Errors
/// When `offset` lies outside of the area.
pub fn set_byte(area: &Area, offset: usize, value: u8) -> Result<()> {
    ensure!(offset < area.len, "offset {offset:x} lies outside of the area");
    // SAFETY: the address is inside this mapping, which is writable while `area` lives; nothing else in the
    // process refers to its bytes.
    unsafe {
        std::ptr::write_volatile(std::ptr::with_exposed_provenance_mut::<u8>(area.start + offset), value)
    };
    Ok(())
}
