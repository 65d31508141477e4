//! Which 2 MiB blocks of this process's memory are mapped by huge pages.

use std::{fs, fs::File, io, ops::Range, os::unix::fs::FileExt};

use crate::pagemap::{HUGE, PRESENT, is_unknown, scan};

/// A block: what one entry of a page middle directory maps.
pub const BLOCK: usize = 2 << 20;

const PAGE: usize = 4096;
/// Pages of a block.
const PAGES: usize = BLOCK / PAGE;
/// Behind the last address of user space (4-level tables): the vsyscall page lies above, and cannot be scanned.
const USER_END: usize = 1 << 47;

/// Of an entry of pagemap: the page is present.
const ENTRY_PRESENT: u64 = 1 << 63;
/// Of an entry of pagemap: the number of its page frame.
const ENTRY_FRAME: u64 = (1 << 55) - 1;
/// Of an entry of kpageflags: the frame belongs to hugetlb, or to a transparent huge page.
const FLAGS_HUGE: u64 = 1 << 17 | 1 << 22;

/// The first address of each huge block that this process may read, in ascending order: what
/// [`tell_huge`](crate::tell_huge) wants to be told. The kernel is asked by `PAGEMAP_SCAN`, and before Linux 6.7 by
/// pagemap and kpageflags, which show frames and not page tables: there a huge page that is mapped whole but page by
/// page is taken for huge.
///
/// # Errors
/// The kernel's: /proc is not mounted, or (before Linux 6.7) the process may not see frames (`CAP_SYS_ADMIN`).
pub fn blocks() -> io::Result<Vec<usize>> {
    let pagemap = File::open("/proc/self/pagemap")?;
    let ranges = ranges(&fs::read_to_string("/proc/self/maps")?);
    match by_scan(&pagemap, &ranges) {
        Err(error) if is_unknown(&error) => by_frames(&pagemap, &File::open("/proc/kpageflags")?, &ranges),
        known => known,
    }
}

/// The whole blocks within each readable mapping of `maps`, the text of /proc/PID/maps. A huge page lies within one
/// mapping.
fn ranges(maps: &str) -> Vec<Range<usize>> {
    maps.lines().filter_map(blocks_of).collect()
}

fn blocks_of(line: &str) -> Option<Range<usize>> {
    let (range, rest) = line.split_once(' ')?;
    let (start, end) = range.split_once('-')?;
    let address = |text| usize::from_str_radix(text, 16).ok();
    let start = address(start)?.checked_next_multiple_of(BLOCK)?;
    let end = address(end)? / BLOCK * BLOCK;
    (rest.starts_with('r') && start < end && end <= USER_END).then_some(start..end)
}

fn by_scan(pagemap: &File, ranges: &[Range<usize>]) -> io::Result<Vec<usize>> {
    let address = |number: u64| usize::try_from(number).map_err(io::Error::other);
    let mut blocks = Vec::new();
    for range in ranges {
        for region in scan(pagemap, range, HUGE | PRESENT, HUGE)? {
            blocks.extend((address(region.start)?..address(region.end)?).step_by(BLOCK));
        }
    }
    Ok(blocks)
}

fn by_frames(pagemap: &File, kpageflags: &File, ranges: &[Range<usize>]) -> io::Result<Vec<usize>> {
    let mut blocks = Vec::new();
    for block in ranges.iter().flat_map(|range| range.clone().step_by(BLOCK)) {
        let entries = entries::<PAGES>(pagemap, block / PAGE)?;
        let Some(frame) = whole_frame(&entries)? else { continue };
        let [flags] = self::entries::<1>(kpageflags, frame)?;
        if flags & FLAGS_HUGE != 0 {
            blocks.push(block);
        }
    }
    Ok(blocks)
}

/// `N` entries of 8 bytes each, from the one with number `from`.
fn entries<const N: usize>(file: &File, from: usize) -> io::Result<[u64; N]> {
    let mut bytes = vec![0; N * 8];
    file.read_exact_at(&mut bytes, u64::try_from(from * 8).map_err(io::Error::other)?)?;
    let mut entries = [0; N];
    for (entry, bytes) in entries.iter_mut().zip(bytes.chunks_exact(8)) {
        *entry = u64::from_ne_bytes(bytes.try_into().map_err(io::Error::other)?);
    }
    Ok(entries)
}

/// The first frame of a block whose pages are all present, in frames that follow each other from a block's border on:
/// the only way a huge page can lie.
fn whole_frame(entries: &[u64]) -> io::Result<Option<usize>> {
    let Some(first) = entries.first().filter(|entry| *entry & ENTRY_PRESENT != 0) else { return Ok(None) };
    let first = first & ENTRY_FRAME;
    if first == 0 {
        let hidden = "the kernel does not show this process where its pages lie";
        return Err(io::Error::new(io::ErrorKind::PermissionDenied, hidden));
    }
    let frame = usize::try_from(first).map_err(io::Error::other)?;
    let follows = |(entry, frame): (&u64, u64)| *entry & ENTRY_PRESENT != 0 && *entry & ENTRY_FRAME == frame;
    Ok((frame % PAGES == 0 && entries.iter().zip(first..).all(follows)).then_some(frame))
}

#[cfg(test)]
mod tests;
