//! Where the numbers of an input tensor lie.

use std::{
    ffi::c_void,
    fs::{File, OpenOptions},
    num::NonZeroUsize,
    os::unix::fs::OpenOptionsExt,
    ptr::NonNull,
    slice,
};

use anyhow::{Context, Result};
use mthp_record::workload::Tensors;
use nix::{
    libc,
    sys::{
        memfd::{MFdFlags, memfd_create},
        mman::{MapFlags, ProtFlags, mmap, munmap},
    },
};

/// Memory for the numbers of one tensor.
pub enum Buffer {
    /// The allocator's.
    Heap(Vec<f32>),
    /// A shared mapping.
    Shared(Mapping),
}

impl Buffer {
    /// Zeros, at least one, in the memory that `tensors` names.
    ///
    /// # Errors
    /// When the kernel refuses the memory.
    pub fn new(tensors: &Tensors, numbers: usize) -> Result<Self> {
        let file = match tensors {
            Tensors::Heap => return Ok(Self::Heap(vec![0.0; numbers])),
            Tensors::Memfd => File::from(
                memfd_create(c"tensor", MFdFlags::MFD_CLOEXEC).context("failed to create a memfd")?,
            ),
            // A file without a name goes with its mapping.
            Tensors::Tmpfs { folder } => OpenOptions::new()
                .read(true)
                .write(true)
                .custom_flags(libc::O_TMPFILE)
                .open(folder)
                .with_context(|| format!("failed to create a file in {folder}"))?,
        };
        Mapping::new(&file, numbers).context("failed to map a tensor").map(Self::Shared)
    }

    /// The numbers.
    pub fn numbers(&self) -> &[f32] {
        match self {
            Self::Heap(numbers) => numbers,
            Self::Shared(mapping) => mapping.numbers(),
        }
    }

    /// The numbers, to write.
    pub fn numbers_mut(&mut self) -> &mut [f32] {
        match self {
            Self::Heap(numbers) => numbers,
            Self::Shared(mapping) => mapping.numbers_mut(),
        }
    }
}

/// A shared mapping of a whole file that nobody else has.
pub struct Mapping {
    start: NonNull<c_void>,
    numbers: usize,
}

// SAFETY: the memory belongs to the process, not to a thread, and writing needs `&mut`.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: &File, numbers: usize) -> Result<Self> {
        let bytes =
            numbers.checked_mul(size_of::<f32>()).and_then(NonZeroUsize::new).context("it has no size")?;
        file.set_len(u64::try_from(bytes.get())?).context("failed to size the file")?;
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let start = unsafe { mmap(None, bytes, protection, MapFlags::MAP_SHARED, file, 0) }?;
        Ok(Self { start, numbers })
    }

    fn numbers(&self) -> &[f32] {
        // SAFETY: the mapping starts on a page, has this many numbers, and lives as long as `self`; its file has this
        // size and is reachable by no name or other descriptor. Every bit pattern is an `f32`.
        unsafe { slice::from_raw_parts(self.start.as_ptr().cast(), self.numbers) }
    }

    fn numbers_mut(&mut self) -> &mut [f32] {
        // SAFETY: as above, and `&mut self` is the only way to it.
        unsafe { slice::from_raw_parts_mut(self.start.as_ptr().cast(), self.numbers) }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one, whole, and no slice of it outlives `self`.
        let unmapped = unsafe { munmap(self.start, self.numbers * size_of::<f32>()) };
        debug_assert_eq!(unmapped, Ok(()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_memory_starts_as_zeros_and_keeps_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let tmpfs = Tensors::Tmpfs { folder: folder.path().display().to_string() };
        for tensors in [Tensors::Heap, Tensors::Memfd, tmpfs] {
            let mut buffer = Buffer::new(&tensors, 5000).unwrap();
            assert_eq!(buffer.numbers(), [0.0; 5000]);
            buffer.numbers_mut()[4999] = 1.5;
            assert_eq!(buffer.numbers()[4999], 1.5);
        }
        assert_eq!(folder.path().read_dir().unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_is_none_is_an_error_with_its_name() {
        let tensors = Tensors::Tmpfs { folder: "/nowhere".into() };
        let error = Buffer::new(&tensors, 1).err().unwrap();
        assert!(format!("{error:#}").contains("/nowhere"), "{error:#}");
    }
}
