//! The mappings of a program and the holes between them. Pure.

use std::ops::Range;

use crate::{mem::PMD, smaps};

/// An address space in numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Its areas.
    pub vmas: i64,
    /// Holes smaller than a PMD between neighbouring areas above the heap: what alignment leaves behind. The hole
    /// behind an arena's reservation (private, anonymous, no access) is none: the C library trimmed it to its own size.
    pub gaps: i64,
    /// Those together.
    pub gap_bytes: usize,
}

/// Reads the text of a `maps` file.
pub fn of(maps: &str) -> Space {
    let mut space = Space::default();
    let mut end_before = None;
    let mut reserved_before = false;
    // The program's own image and its heap lie where the loader put them.
    let heap_at = maps.lines().position(|line| line.ends_with("[heap]"));
    let lines = maps.lines().enumerate();
    for (at, line) in lines {
        let Some(Range { start, end }) = smaps::header(line) else { continue };
        // The vsyscall page lies in the kernel's half and belongs to every process.
        if line.ends_with("[vsyscall]") {
            continue;
        }
        space.vmas += 1;
        let above = heap_at.is_none_or(|heap| at > heap + 1);
        if let Some(before) = end_before
            && !reserved_before
            && above
            && start > before
            && start - before < PMD
        {
            space.gaps += 1;
            space.gap_bytes += start - before;
        }
        end_before = Some(end);
        reserved_before = is_reserved(line);
    }
    space
}

fn is_reserved(line: &str) -> bool {
    let mut fields = line.split_whitespace().skip(1);
    fields.next() == Some("---p") && fields.nth(2) == Some("0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hole_behind_an_arenas_reservation_is_the_c_librarys() {
        let arena = "\
7fffe93d1000-7fffec000000 ---p 00000000 00:00 0 
7fffec01c000-7fffec09c000 rwxp 00000000 00:00 0 
";
        assert_eq!(of(arena), Space { vmas: 2, gaps: 0, gap_bytes: 0 });
        let file = arena.replacen("00:00 0", "fe:00 7", 1);
        assert_eq!(of(&file).gaps, 1);
    }

    #[test]
    fn small_holes_above_the_heap_are_gaps() {
        let maps = "\
400000-401000 r-xp 00000000 fe:00 1 /bin/x
500000-600000 rw-p 00000000 00:00 0 [heap]
700000-800000 rw-p 00000000 00:00 0 
880000-900000 rw-p 00000000 00:00 0 
900000-901000 r--p 00000000 fe:00 2 /lib/y
7ffff0000000-7ffff0001000 rw-p 00000000 00:00 0 [stack]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]
";
        assert_eq!(of(maps), Space { vmas: 6, gaps: 1, gap_bytes: 0x80000 });
        assert_eq!(of("odd\n"), Space::default());
    }
}
