use std::{num::NonZeroUsize, ptr::NonNull};

use nix::sys::mman::{MapFlags, MmapAdvise, ProtFlags, madvise, mmap_anonymous, munmap};
use proptest::prelude::*;

use super::*;

/// An anonymous mapping of some blocks, and one block more to align it in: the first is advised to stay small, the others
/// to be huge.
struct Memory {
    start: NonNull<std::ffi::c_void>,
    bytes: usize,
}

impl Memory {
    fn new(blocks: usize) -> Self {
        let bytes = (blocks + 1) * BLOCK;
        let size = NonZeroUsize::new(bytes).unwrap();
        let protection = ProtFlags::PROT_READ | ProtFlags::PROT_WRITE;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps nothing.
        let start = unsafe { mmap_anonymous(None, size, protection, MapFlags::MAP_PRIVATE) }.unwrap();
        // SAFETY: the mapping is this one.
        unsafe { madvise(start, bytes, MmapAdvise::MADV_HUGEPAGE) }.unwrap();
        let memory = Self { start, bytes };
        let small = NonNull::new(start.as_ptr().with_addr(memory.first_block())).unwrap();
        // SAFETY: the block lies in the mapping.
        unsafe { madvise(small, BLOCK, MmapAdvise::MADV_NOHUGEPAGE) }.unwrap();
        memory
    }

    fn first_block(&self) -> usize {
        self.start.as_ptr().addr().next_multiple_of(BLOCK)
    }

    fn touch(&self, address: usize) {
        // SAFETY: the address lies in this mapping, which is writable.
        unsafe { self.start.as_ptr().with_addr(address).cast::<u8>().write_volatile(1) };
    }

    /// What smaps says of huge pages behind its first block, in KiB.
    fn huge_kib(&self) -> usize {
        let smaps = fs::read_to_string("/proc/self/smaps").unwrap();
        let address = self.first_block() + BLOCK;
        let mut inside = false;
        let mut kib = 0;
        for line in smaps.lines() {
            let range = line.split(' ').next().and_then(|range| range.split_once('-'));
            let number = |text| usize::from_str_radix(text, 16).ok();
            if let Some((start, end)) = range.and_then(|(start, end)| Some((number(start)?, number(end)?))) {
                inside = (start..end).contains(&address);
            } else if let Some(rest) = line.strip_prefix("AnonHugePages:").filter(|_| inside) {
                kib += rest.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap();
            }
        }
        kib
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: the mapping is this one, whole, and no reference into it exists.
        unsafe { munmap(self.start, self.bytes) }.unwrap();
    }
}

#[test]
fn a_block_that_smaps_calls_huge_is_found_and_no_other() {
    let memory = Memory::new(4);
    let first = memory.first_block();
    memory.touch(first);
    memory.touch(first + BLOCK);
    memory.touch(first + 3 * BLOCK + 7);
    let inside = memory.start.as_ptr().addr()..memory.start.as_ptr().addr() + memory.bytes;
    let found: Vec<usize> = blocks().unwrap().into_iter().filter(|it| inside.contains(it)).collect();
    // A kernel that gives none for want of memory, or has none, gives none here too.
    assert_eq!(found.len() * BLOCK / 1024, memory.huge_kib());
    assert!(found.iter().all(|it| [first + BLOCK, first + 3 * BLOCK].contains(it)), "{found:x?}");
}

#[test]
fn only_whole_blocks_of_readable_mappings_are_looked_at() {
    let maps = "\
        7f0000001000-7f0000401000 rw-p 00000000 00:00 0 \n\
        7f0000600000-7f0000a00000 r--p 00000000 fe:01 7    /usr/lib/a b\n\
        7f0000a00000-7f0000e00000 ---p 00000000 00:00 0 \n\
        7f0001000000-7f00011ff000 rw-p 00000000 00:00 0 [heap]\n\
        ffffffffff600000-ffffffffffa00000 r-xp 00000000 00:00 0 [vsyscall]\n";
    assert_eq!(ranges(maps), [0x7f00_0020_0000..0x7f00_0040_0000, 0x7f00_0060_0000..0x7f00_00a0_0000]);
}

#[test]
fn frames_must_follow_each_other_from_a_border_on() {
    let entries = |from: u64| (from..from + 512).map(|frame| ENTRY_PRESENT | frame).collect::<Vec<_>>();
    assert_eq!(whole_frame(&entries(1024)).unwrap(), Some(1024));
    assert_eq!(whole_frame(&entries(1025)).unwrap(), None);
    let mut torn = entries(1024);
    torn[511] = ENTRY_PRESENT | 7;
    assert_eq!(whole_frame(&torn).unwrap(), None);
    torn[511] = 1535;
    assert_eq!(whole_frame(&torn).unwrap(), None, "the last page is not present");
    assert_eq!(whole_frame(&[0; 512]).unwrap(), None);
    assert_eq!(whole_frame(&[]).unwrap(), None);
    let hidden = whole_frame(&[ENTRY_PRESENT; 512]).unwrap_err();
    assert_eq!(hidden.kind(), io::ErrorKind::PermissionDenied);
}

#[test]
fn frames_tell_what_the_scan_tells_where_they_may_be_seen() {
    let memory = Memory::new(3);
    let first = memory.first_block();
    for page in 0..PAGES {
        memory.touch(first + page * PAGE);
    }
    memory.touch(first + BLOCK);
    let ranges = [first..first + BLOCK, first + BLOCK..first + 3 * BLOCK];
    let pagemap = File::open("/proc/self/pagemap").unwrap();
    let Ok(kpageflags) = File::open("/proc/kpageflags") else { return };
    match (by_scan(&pagemap, &ranges), by_frames(&pagemap, &kpageflags, &ranges)) {
        (Ok(scanned), Ok(framed)) => assert_eq!(scanned, framed),
        (Err(error), _) => assert!(is_unknown(&error), "{error}"),
        (_, Err(error)) => assert_eq!(error.kind(), io::ErrorKind::PermissionDenied),
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in any::<String>()) {
        ranges(&text);
    }

    #[test]
    fn a_range_is_made_of_blocks_inside_the_mapping(start in 0..2 * USER_END, end in 0..2 * USER_END) {
        for range in ranges(&format!("{start:x}-{end:x} rw-p 00000000 00:00 0")) {
            prop_assert!(start <= range.start && range.end <= end && range.end <= USER_END);
            prop_assert!(!range.is_empty() && range.start % BLOCK == 0 && range.end % BLOCK == 0);
        }
    }
}
