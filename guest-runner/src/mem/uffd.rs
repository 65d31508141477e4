//! userfaultfd: page faults and changes of the address space, seen and answered by the process itself.

use std::{
    io,
    ops::Range,
    os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd},
};

use anyhow::{Context, Result};
use nix::libc;

use super::Area;

/// Tell of writes to write-protected pages.
pub const FLAG_WP: u64 = 1 << 0;
/// Tell of parts that `MADV_DONTNEED` gives up.
pub const EVENT_REMOVE: u64 = 1 << 3;

const UFFD_API: u64 = 0xaa;
const UFFD_USER_MODE_ONLY: i32 = 1;
const UFFDIO_API: libc::c_ulong = 0xc018_aa3f;
const UFFDIO_REGISTER: libc::c_ulong = 0xc020_aa00;
const UFFDIO_COPY: libc::c_ulong = 0xc028_aa03;
const UFFDIO_WRITEPROTECT: libc::c_ulong = 0xc018_aa06;
const WRITEPROTECT_MODE_WP: u64 = 1;
/// The size of `struct uffd_msg`.
const MESSAGE: usize = 32;

/// What the kernel shall do with faults of a range.
#[derive(Clone, Copy, Debug)]
pub enum Mode {
    /// Report faults of pages that are not there.
    Missing,
    /// Report writes to pages that are write-protected.
    WriteProtect,
}

/// One userfaultfd of this process.
#[derive(Debug)]
pub struct Userfaultfd(OwnedFd);

impl Userfaultfd {
    /// Opens one with these features.
    ///
    /// # Errors
    /// The kernel's, among them that it lacks a feature.
    pub fn open(features: u64) -> io::Result<Self> {
        let flags = libc::O_CLOEXEC | libc::O_NONBLOCK | UFFD_USER_MODE_ONLY;
        // SAFETY: the call takes a plain number and gives a new descriptor or none.
        let raw = unsafe { libc::syscall(libc::SYS_userfaultfd, flags) };
        if raw < 0 {
            return Err(io::Error::last_os_error());
        }
        let raw = i32::try_from(raw).map_err(io::Error::other)?;
        // SAFETY: the descriptor is new, so nothing else owns it.
        let opened = Self(unsafe { OwnedFd::from_raw_fd(raw) });
        opened.call(UFFDIO_API, &mut [UFFD_API, features, 0])?;
        Ok(opened)
    }

    /// Watches a range.
    ///
    /// # Errors
    /// The kernel's.
    pub fn register(&self, range: &Range<usize>, mode: Mode) -> io::Result<()> {
        let mode = match mode {
            Mode::Missing => 1,
            Mode::WriteProtect => 2,
        };
        let [start, len] = bounds(range)?;
        self.call(UFFDIO_REGISTER, &mut [start, len, mode, 0])
    }

    /// Write-protects a watched range.
    ///
    /// # Errors
    /// The kernel's.
    pub fn write_protect(&self, range: &Range<usize>) -> Result<()> {
        let [start, len] = bounds(range)?;
        self.call(UFFDIO_WRITEPROTECT, &mut [start, len, WRITEPROTECT_MODE_WP])
            .context("failed to write-protect a range")
    }

    /// Fills a watched range with a copy of as many bytes of `source`. Beside the outcome it gives the field in
    /// which the kernel says how many bytes it copied; it was `untouched` before.
    ///
    /// # Errors
    /// When the range cannot be expressed.
    pub fn copy(&self, range: &Range<usize>, source: &Area, untouched: i64) -> Result<(io::Result<()>, i64)> {
        let [start, len] = bounds(range)?;
        let mut arg = [start, u64::try_from(source.start)?, len, 0, untouched.cast_unsigned()];
        let result = self.call(UFFDIO_COPY, &mut arg);
        Ok((result, arg[4].cast_signed()))
    }

    /// Takes the next message from the kernel, which is there.
    ///
    /// # Errors
    /// The kernel's, among them that there is none.
    pub fn take_message(&self) -> Result<()> {
        let mut message = [0; MESSAGE];
        nix::unistd::read(&self.0, &mut message).context("failed to read a message of userfaultfd")?;
        Ok(())
    }

    fn call<const N: usize>(&self, request: libc::c_ulong, arg: &mut [u64; N]) -> io::Result<()> {
        // SAFETY: each request here takes a structure of N 64-bit numbers, which the array is. Ranges that are
        // filled or protected are those of areas that callers own.
        let status = unsafe { libc::ioctl(self.0.as_raw_fd(), request, arg.as_mut_ptr()) };
        if status < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

impl AsFd for Userfaultfd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn bounds(range: &Range<usize>) -> io::Result<[u64; 2]> {
    let number = |value: usize| u64::try_from(value).map_err(io::Error::other);
    Ok([number(range.start)?, number(range.len())?])
}
