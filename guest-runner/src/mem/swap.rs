//! Swap on a disk in memory (brd), which is empty before and after.

use std::{
    ffi::CString,
    fs::File,
    io::{self, Seek, SeekFrom, Write},
    os::fd::AsRawFd,
};

use anyhow::{Context, Result, ensure};
use nix::libc;

use super::PAGE;

/// The disk.
pub const DISK: &str = "/dev/ram0";
/// `BLKDISCARD` of `linux/fs.h`, which no libc has.
const BLKDISCARD: u64 = 0x1277;
/// Where the header's fields begin, and where its last ten bytes do (`union swap_header` of `linux/swap.h`).
const FIELDS: usize = 1024;
const MAGIC: &[u8; 10] = b"SWAPSPACE2";

/// Swap that is on. It goes off when dropped.
#[derive(Debug)]
pub struct Swap(u64);

impl Swap {
    /// Writes a header to [`DISK`] and swaps to it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn on() -> Result<Self> {
        let mut disk =
            File::options().write(true).open(DISK).with_context(|| format!("failed to open {DISK}"))?;
        let size = disk.seek(SeekFrom::End(0)).with_context(|| format!("failed to measure {DISK}"))?;
        let last_page = u32::try_from(size / PAGE as u64 - 1).context("the disk is too large")?;
        disk.rewind()
            .and_then(|()| disk.write_all(&header(last_page)))
            .and_then(|()| disk.sync_all())
            .with_context(|| format!("failed to write a swap header to {DISK}"))?;
        drop(disk);
        let swap = Self(size);
        let path = CString::new(DISK)?;
        // SAFETY: the path is a C string that outlives the call.
        let status = unsafe { libc::swapon(path.as_ptr(), 0) };
        ensure!(status == 0, "failed to swap to {DISK}: {}", io::Error::last_os_error());
        Ok(swap)
    }
}

impl Drop for Swap {
    fn drop(&mut self) {
        let _ = off();
        // The disk's pages are given back, as far as the kernel's driver can.
        if let Ok(disk) = File::options().write(true).open(DISK) {
            let range = [0_u64, self.0];
            // SAFETY: BLKDISCARD reads two numbers from that address and empties a disk that is this test's.
            unsafe { libc::ioctl(disk.as_raw_fd(), BLKDISCARD as _, range.as_ptr()) };
        }
    }
}

/// Swaps to [`DISK`] no longer.
///
/// # Errors
/// The kernel's.
pub fn off() -> Result<()> {
    let path = CString::new(DISK)?;
    // SAFETY: the path is a C string that outlives the call.
    let status = unsafe { libc::swapoff(path.as_ptr()) };
    ensure!(status == 0, "failed to stop swapping to {DISK}: {}", io::Error::last_os_error());
    Ok(())
}

fn header(last_page: u32) -> Vec<u8> {
    let mut page = vec![0; FIELDS];
    for field in [1_u32, last_page, 0] {
        page.extend(field.to_ne_bytes());
    }
    page.resize(PAGE - MAGIC.len(), 0);
    page.extend(MAGIC);
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_one_page_that_ends_with_its_magic() {
        let page = header(16383);
        assert_eq!(page.len(), PAGE);
        assert!(page.ends_with(MAGIC));
        assert_eq!(page[FIELDS..FIELDS + 8], [1, 0, 0, 0, 0xff, 0x3f, 0, 0]);
    }
}
