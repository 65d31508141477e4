//! System V shared memory of pages from the hugetlb pool.

use std::{fs, io};

use anyhow::{Context, Result};
use nix::libc;

use super::Area;

/// A segment, which is gone when it is dropped and no longer attached.
#[derive(Debug)]
pub struct Segment(i32);

impl Segment {
    /// Makes one of `len` bytes.
    ///
    /// # Errors
    /// The kernel's.
    pub fn huge(len: usize) -> Result<Self> {
        // SAFETY: the call takes plain numbers.
        let id = unsafe { libc::shmget(libc::IPC_PRIVATE, len, libc::IPC_CREAT | libc::SHM_HUGETLB | 0o600) };
        if id < 0 {
            return Err(io::Error::last_os_error()).context("failed to make a segment of huge pages");
        }
        Ok(Self(id))
    }

    /// Attaches its first `len` bytes, which are all.
    ///
    /// # Errors
    /// The kernel's.
    pub fn attach(&self, len: usize) -> Result<Area> {
        // SAFETY: without an address no mapping is replaced.
        let start = unsafe { libc::shmat(self.0, std::ptr::null(), 0) };
        if start.addr() == usize::MAX {
            return Err(io::Error::last_os_error()).context("failed to attach a segment");
        }
        Ok(Area { start: start.expose_provenance(), len })
    }

    /// How much of it is in memory, as `/proc/sysvipc/shm` says.
    ///
    /// # Errors
    /// When the file cannot be read or does not list it.
    pub fn resident_bytes(&self) -> Result<u64> {
        let text = fs::read_to_string("/proc/sysvipc/shm").context("failed to read /proc/sysvipc/shm")?;
        resident(&text, self.0)
            .with_context(|| format!("/proc/sysvipc/shm says nothing of segment {}", self.0))
    }
}

impl Drop for Segment {
    fn drop(&mut self) {
        // SAFETY: IPC_RMID takes no structure; memory that is attached stays until it is not.
        unsafe { libc::shmctl(self.0, libc::IPC_RMID, std::ptr::null_mut()) };
    }
}

/// The column `rss` of the line of that `shmid`.
fn resident(text: &str, id: i32) -> Option<u64> {
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let header = lines.next()?;
    let column = |name| header.iter().position(|word| *word == name);
    let (id_column, rss_column) = (column("shmid")?, column("rss")?);
    let id = id.to_string();
    lines.find(|words| words.get(id_column) == Some(&id.as_str()))?.get(rss_column)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_is_found_by_its_number() {
        let text =
            "       key      shmid perms  size  rss  swap\n 0 3 600 4096 0 0\n 0 32 1600 8192 4096 0\n";
        assert_eq!(resident(text, 32), Some(4096));
        assert_eq!(resident(text, 2), None);
        assert_eq!(resident("", 2), None);
    }
}
