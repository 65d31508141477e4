//! Files in memory whose further changes can be forbidden (`F_ADD_SEALS`).

use std::{
    fs::File,
    io,
    os::fd::{AsRawFd, FromRawFd, OwnedFd},
};

use nix::libc;

use super::mmap;

/// No writes from now on.
pub const WRITE: i32 = libc::F_SEAL_WRITE;
/// No change of the mode's executable bits, and of an executable file no writes. Since Linux 6.3.
pub const EXEC: i32 = 0x20;

/// Since Linux 6.3.
const MFD_EXEC: u32 = 0x10;

/// A new file of `len` bytes that can be sealed.
///
/// # Errors
/// The kernel's.
pub fn file(len: usize) -> io::Result<File> {
    create(len, libc::MFD_ALLOW_SEALING)
}

/// The same, with its mode's executable bits set.
///
/// # Errors
/// The kernel's, among them that it knows no such kind.
pub fn executable_file(len: usize) -> io::Result<File> {
    create(len, libc::MFD_ALLOW_SEALING | MFD_EXEC)
}

fn create(len: usize, flags: u32) -> io::Result<File> {
    // SAFETY: the name is a constant with its end; the call gives a new descriptor or none.
    let raw = unsafe { libc::memfd_create(c"sealed".as_ptr(), flags) };
    if raw < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor is new, so nothing else owns it.
    let file = File::from(unsafe { OwnedFd::from_raw_fd(raw) });
    file.set_len(u64::try_from(len).map_err(io::Error::other)?)?;
    Ok(file)
}

/// Adds seals.
///
/// # Errors
/// The kernel's.
pub fn add(file: &File, seals: i32) -> io::Result<()> {
    // SAFETY: F_ADD_SEALS takes a plain number.
    let status = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, seals) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Maps the file shared, to be read, and written too if `writable`. The map lives as long as the process.
///
/// # Errors
/// The kernel's.
pub fn map_shared(file: &File, len: usize, writable: bool) -> io::Result<()> {
    let protection = if writable { libc::PROT_READ | libc::PROT_WRITE } else { libc::PROT_READ };
    mmap(0, len, protection, libc::MAP_SHARED, file.as_raw_fd()).map(|_| ())
}
