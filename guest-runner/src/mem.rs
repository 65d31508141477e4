//! Safe wrappers of the memory system calls that the tests make.

pub mod advice;
pub mod bytes;
pub mod compat;
pub mod discard;
pub mod huge;
pub mod hugetlb;
pub mod lock;
pub mod numa;
pub mod outcome;
pub mod over;
pub mod pagemap;
pub mod protect;
pub mod remap;
pub mod seal;
pub mod soft_dirty;
pub mod swap;
pub mod sysv;
pub mod uffd;
pub mod words;

use std::{
    io,
    ops::Range,
    os::fd::{AsRawFd, BorrowedFd},
};

use anyhow::{Context, Result, bail, ensure};
use nix::{
    libc,
    sys::{
        mman::{MlockAllFlags, mlockall},
        resource::{UsageWho, getrusage},
    },
};

/// One KiB.
pub const KIB: usize = 1 << 10;
/// One MiB.
pub const MIB: usize = 1 << 20;
/// The page size of x86-64.
pub const PAGE: usize = 4 * KIB;
/// The size of a huge page at the PMD level.
pub const PMD: usize = 2 * MIB;

/// No test maps less than this; a smaller hole is never taken.
const PROBE: usize = MIB + 512 * KIB;

/// Since Linux 6.1; not in every libc.
const MADV_COLLAPSE: i32 = 25;

/// A readable and writable mapping. It is not unmapped when dropped: it lives as long as its process.
#[derive(Debug)]
pub struct Area {
    start: usize,
    len: usize,
}

impl Area {
    /// Its first address.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Its addresses.
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.len
    }

    /// Writes one byte to each of its pages, upwards, and does nothing else.
    pub fn touch(&self) {
        self.touch_every(PAGE);
    }

    /// Writes one byte every `step` bytes.
    pub fn touch_every(&self, step: usize) {
        self.write(self.range(), step);
    }

    /// Writes one byte to each page of the part `[offset, offset + len)` that lies in it.
    pub fn touch_part(&self, offset: usize, len: usize) {
        let whole = self.range();
        let start = (whole.start + offset).min(whole.end);
        self.write(start..(start + len).min(whole.end), PAGE);
    }

    fn write(&self, part: Range<usize>, step: usize) {
        let mut address = part.start;
        let end = part.end;
        while address < end {
            // SAFETY: the address is inside this mapping, which is writable while `self` lives; nothing
            // else in the process refers to its bytes.
            unsafe { std::ptr::write_volatile(std::ptr::with_exposed_provenance_mut::<u8>(address), 1) };
            address += step;
        }
    }

    /// Unmaps it.
    ///
    /// # Errors
    /// The kernel's.
    pub fn unmap(self) -> Result<()> {
        unmap(self.start, self.len)
    }
}

/// How a mapping is asked for; the rest of `mmap`'s arguments follow from it.
#[derive(Clone, Copy, Debug)]
pub enum Kind<'a> {
    /// `MAP_PRIVATE | MAP_ANONYMOUS`.
    Private,
    /// The same with `MAP_STACK`.
    Stack,
    /// `MAP_SHARED | MAP_ANONYMOUS`.
    Shared,
    /// `MAP_SHARED` of a file from its start.
    File(BorrowedFd<'a>),
}

/// Maps `len` bytes where the kernel likes.
///
/// # Errors
/// The kernel's.
pub fn map(kind: Kind<'_>, len: usize) -> Result<Area> {
    map_near(0, kind, len)
}

/// Maps `len` bytes with an address hint (0 for none). Never replaces a mapping.
///
/// # Errors
/// The kernel's.
pub fn map_near(hint: usize, kind: Kind<'_>, len: usize) -> Result<Area> {
    let (flags, file) = match kind {
        Kind::Private => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1),
        Kind::Stack => (libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_STACK, -1),
        Kind::Shared => (libc::MAP_SHARED | libc::MAP_ANONYMOUS, -1),
        Kind::File(file) => (libc::MAP_SHARED, file.as_raw_fd()),
    };
    let start = mmap(hint, len, libc::PROT_READ | libc::PROT_WRITE, flags, file)
        .with_context(|| format!("failed to map {len} bytes ({kind:?})"))?;
    Ok(Area { start, len })
}

/// Address space that is taken and holds nothing.
#[derive(Debug)]
pub struct Reserved {
    start: usize,
    len: usize,
}

impl Reserved {
    /// Takes `len` bytes of address space where the kernel likes.
    ///
    /// # Errors
    /// The kernel's.
    pub fn anywhere(len: usize) -> Result<Self> {
        let start = mmap(0, len, libc::PROT_NONE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS, -1)
            .context("failed to reserve address space")?;
        Ok(Self { start, len })
    }

    /// Takes exactly these addresses, which must be free.
    ///
    /// # Errors
    /// The kernel's, among them that they are not free.
    pub fn exactly(addresses: Range<usize>) -> Result<Self> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE;
        let len = addresses.len();
        let start = mmap(addresses.start, len, libc::PROT_NONE, flags, -1)
            .with_context(|| format!("failed to reserve {addresses:x?}"))?;
        ensure!(start == addresses.start, "the kernel reserved {start:x}, not {addresses:x?}");
        Ok(Self { start, len })
    }

    /// Its first address.
    pub fn start(&self) -> usize {
        self.start
    }

    /// Its addresses.
    pub fn range(&self) -> Range<usize> {
        self.start..self.start + self.len
    }

    /// Gives up the part `[offset, offset + len)`.
    ///
    /// # Errors
    /// The kernel's.
    pub fn punch(&self, offset: usize, len: usize) -> Result<()> {
        ensure!(offset + len <= self.len, "the hole lies outside of the reserved addresses");
        unmap(self.start + offset, len)
    }

    /// Maps memory over a part of it with `MAP_FIXED`, as a loader does.
    ///
    /// # Errors
    /// The kernel's.
    pub fn map_fixed(&self, offset: usize, len: usize) -> Result<Area> {
        ensure!(offset + len <= self.len, "the mapping lies outside of the reserved addresses");
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
        let start = mmap(self.start + offset, len, libc::PROT_READ | libc::PROT_WRITE, flags, -1)
            .context("failed to map at a fixed address")?;
        Ok(Area { start, len })
    }
}

/// Ends the free gap, in which the kernel places maps from the top, `phase` bytes past a PMD boundary.
/// Without it the gaps between maps depend on how much the process mapped before. Returns that end.
///
/// # Errors
/// When the kernel does not place a map of less than a PMD directly below the last one.
pub fn pin_gap(phase: usize) -> Result<usize> {
    // Maps shorter than a PMD are never aligned, by any kernel. Each turn also fills the highest hole that an
    // earlier map left, if the gap is not there yet.
    for _ in 0..8 {
        let top = Reserved::anywhere(PROBE)?.start();
        let end = (top - phase) / PMD * PMD + phase;
        if end < top && Reserved::exactly(end..top).is_err() {
            continue;
        }
        let probe = Reserved::anywhere(PROBE)?;
        probe.punch(0, probe.len)?;
        if probe.start + probe.len == end {
            return Ok(end);
        }
    }
    bail!("the free gap's end cannot be brought to {phase:#x} bytes past a PMD boundary")
}

/// Makes every page of the process present and writable, so that a measured region meets no fault but its own.
/// This also breaks the copy-on-write that a fork left.
///
/// # Errors
/// The kernel's.
pub fn settle_own_pages() -> Result<()> {
    mlockall(MlockAllFlags::MCL_CURRENT).context("failed to make the process's own pages present")
}

/// Minor faults of this process so far.
///
/// # Errors
/// The kernel's.
pub fn minor_faults() -> Result<i64> {
    Ok(getrusage(UsageWho::RUSAGE_SELF).context("failed to read the fault counter")?.minor_page_faults())
}

/// Forbids or allows huge pages by faults in this process, whatever sysfs says.
///
/// # Errors
/// The kernel's.
pub fn forbid_thp(forbid: bool) -> Result<()> {
    let zero: libc::c_ulong = 0;
    // SAFETY: PR_SET_THP_DISABLE takes four plain numbers.
    let status =
        unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, libc::c_ulong::from(forbid), zero, zero, zero) };
    ensure!(status == 0, "failed to set PR_SET_THP_DISABLE: {}", io::Error::last_os_error());
    Ok(())
}

/// Asks for one huge page at `block` now. `false` when the kernel refuses.
pub fn collapse(block: usize) -> bool {
    advise(block, PMD, MADV_COLLAPSE).is_ok()
}

fn advise(start: usize, len: usize, advice: i32) -> io::Result<()> {
    // SAFETY: the advice used here changes how memory is backed, or gives up contents to which nothing refers.
    let status = unsafe { libc::madvise(std::ptr::with_exposed_provenance_mut(start), len, advice) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

fn unmap(start: usize, len: usize) -> Result<()> {
    // SAFETY: callers pass addresses of an `Area` or a `Reserved` of theirs, and give them up with it.
    let status = unsafe { libc::munmap(std::ptr::with_exposed_provenance_mut(start), len) };
    ensure!(status == 0, "failed to unmap {len} bytes at {start:x}: {}", io::Error::last_os_error());
    Ok(())
}

fn mmap(hint: usize, len: usize, protection: i32, flags: i32, file: i32) -> io::Result<usize> {
    // SAFETY: without MAP_FIXED no mapping is replaced; callers that pass MAP_FIXED replace a part of their own
    // reserved addresses, or an area that they consume, to which nothing refers.
    let start =
        unsafe { libc::mmap(std::ptr::with_exposed_provenance_mut(hint), len, protection, flags, file, 0) };
    if start == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(start.expose_provenance()) }
}
