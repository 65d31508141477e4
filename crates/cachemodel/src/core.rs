//! One vCPU's private part of one machine.

use mthp_record::cost::Counts;

use crate::{
    access::{Access, Page, Place},
    cache::Cache,
    machine::{Machine, Prefetch},
    tlb::Tlb,
    walk::Walker,
};

/// The binary logarithm of the lines in 4 KiB: what a prefetcher never leaves.
const PAGE_LINES: u32 = 6;

/// One vCPU's private caches and TLBs on one machine.
#[derive(Clone, Debug)]
pub struct Core {
    l1d: Cache,
    l2: Cache,
    dtlb: Tlb,
    stlb: Tlb,
    walker: Walker,
    prefetch: Prefetch,
    /// The line used last: the newest of its set, so to use it again changes nothing.
    line: Place,
    /// The page translated last, likewise.
    page: Page,
    /// What the levels of a batch have left to look up: kept for its memory only.
    lines: Vec<Place>,
    pages: Vec<Page>,
}

impl Core {
    /// A cold one.
    #[must_use]
    pub fn new(machine: &Machine) -> Self {
        Self {
            l1d: Cache::new(&machine.l1d),
            l2: Cache::new(&machine.l2),
            dtlb: Tlb::new(&machine.dtlb),
            stlb: Tlb::new(&machine.stlb),
            walker: Walker::new(&machine.walk),
            prefetch: machine.prefetch,
            line: Place::NOWHERE,
            page: Page::NOWHERE,
            lines: Vec::new(),
            pages: Vec::new(),
        }
    }

    /// Makes it cold again.
    pub fn clear(&mut self) {
        self.l1d.clear();
        self.l2.clear();
        self.dtlb.clear();
        self.stlb.clear();
        self.walker.clear();
        self.line = Place::NOWHERE;
        self.page = Page::NOWHERE;
    }

    /// Takes accesses, in their order, and adds to `counts` what they did. `l3` is [`Machine::new_l3`]'s, shared by
    /// all cores of the machine.
    ///
    /// Each level is a filter: what it does not have goes on to the next, in the same order. So a level can take
    /// the whole batch before the next one sees any of it, and few levels' memory is touched at a time.
    pub fn run(&mut self, l3: Option<&mut Cache>, batch: &[Access], counts: &mut Counts) {
        let mut done = Counts::default();
        self.translate(batch, &mut done);
        self.fetch(batch, l3, &mut done);
        *counts = *counts + done;
    }

    fn translate(&mut self, batch: &[Access], counts: &mut Counts) {
        let mut pages = std::mem::take(&mut self.pages);
        pages.clear();
        for access in batch {
            let page = access.page();
            if page != self.page {
                pages.push(page);
                self.page = page;
            }
            if access.spans_pages() {
                let next = page.next();
                pages.push(next);
                self.page = next;
            }
        }
        pages.retain(|page| !self.dtlb.access(*page));
        counts.dtlb_misses += pages.len() as u64;
        pages.retain(|page| !self.stlb.access(*page));
        counts.walks += pages.len() as u64;
        counts.walk_references += pages.iter().map(|page| self.walker.walk(*page)).sum::<u64>();
        self.pages = pages;
    }

    fn fetch(&mut self, batch: &[Access], l3: Option<&mut Cache>, counts: &mut Counts) {
        let mut lines = std::mem::take(&mut self.lines);
        lines.clear();
        for access in batch {
            let mut line = access.line();
            let behind = access.lines_behind();
            counts.l1_accesses += 1 + behind;
            if line != self.line {
                lines.push(line);
            }
            for _ in 0..behind {
                line = line.next();
                lines.push(line);
            }
            self.line = line;
        }
        lines.retain(|line| !self.l1d.access_line(*line));
        counts.l1_misses += lines.len() as u64;
        match self.prefetch {
            Prefetch::None => self.fetch_behind(&mut lines, l3, counts),
            Prefetch::NextLine => self.fetch_and_prefetch(&lines, l3, counts),
        }
        self.lines = lines;
    }

    /// Lines that the first level did not have.
    fn fetch_behind(&mut self, lines: &mut Vec<Place>, l3: Option<&mut Cache>, counts: &mut Counts) {
        lines.retain(|line| !self.l2.access_line(*line));
        counts.l2_misses += lines.len() as u64;
        if let Some(l3) = l3 {
            lines.retain(|line| !l3.access_line(*line));
        }
        counts.l3_misses += lines.len() as u64;
    }

    /// The same; after each one the line behind is brought into the second level, through the third, unless it is
    /// there already.
    fn fetch_and_prefetch(&mut self, lines: &[Place], mut l3: Option<&mut Cache>, counts: &mut Counts) {
        let mut in_l3 = |line| l3.as_deref_mut().is_some_and(|l3| l3.access_line(line));
        for line in lines {
            if !self.l2.access_line(*line) {
                counts.l2_misses += 1;
                counts.l3_misses += u64::from(!in_l3(*line));
            }
            let next = line.next();
            if next.phys >> PAGE_LINES == line.phys >> PAGE_LINES && !self.l2.holds(next) {
                counts.prefetches += 1;
                self.l2.access_line(next);
                in_l3(next);
            }
        }
    }
}

impl Machine {
    /// The third level, empty, where there is one: one for all cores.
    #[must_use]
    pub fn new_l3(&self) -> Option<Cache> {
        self.l3.as_ref().map(Cache::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::machine;

    const L3: &str =
        "size-kib = 4\nways = 4\nsets = 16\nindex = \"physical\"\nreplacement = \"lru\"\norigin = {}";
    const LATENCY: &str = "l1 = 1\nl2 = 2\nl3 = 3\nmemory = 9\nstlb = 1\nwalk-reference = 2\norigin = {}";

    fn at(address: u64) -> Access {
        Access { vaddr: address, paddr: address, size: 8, store: false, huge: false }
    }

    fn lines(numbers: &[u64]) -> Vec<Access> {
        numbers.iter().map(|number| at(number * 64)).collect()
    }

    fn counts(core: &mut Core, l3: Option<&mut Cache>, batch: &[Access]) -> Counts {
        let mut counts = Counts::default();
        core.run(l3, batch, &mut counts);
        counts
    }

    #[test]
    fn a_line_is_looked_up_level_by_level() {
        let machine = machine(&[("l3", L3), ("latency", LATENCY)]);
        let (mut core, mut l3) = (Core::new(&machine), machine.new_l3());
        // L1 has 8 sets of 2, L2 16 of 2, L3 16 of 4. Lines 0, 8, 16 share the set of L1; 0, 16 and 32 that of all.
        let seen = counts(&mut core, l3.as_mut(), &lines(&[0, 0, 8, 16, 0, 32, 0, 16, 48, 64, 0]));
        // L1 has:           2nd 0, 7th 0. L2 has: 5th 0. (The 8th, 16, went from both by 0 and 32.)
        // L3 has:           8th 16, 11th 0 (of 0, 16, 32, 48, 64 it lost 0 … unless it was used: it lost it).
        let expected = Counts { l1_accesses: 11, l1_misses: 9, l2_misses: 8, l3_misses: 7, ..seen };
        assert_eq!(seen, expected);
    }

    #[test]
    fn without_a_third_level_the_second_is_the_last() {
        let mut core = Core::new(&machine(&[]));
        let seen = counts(&mut core, None, &lines(&[0, 16, 32, 0]));
        assert_eq!((seen.l1_misses, seen.l2_misses, seen.l3_misses), (4, 4, 4));
    }

    #[test]
    fn a_cleared_core_is_cold() {
        let mut core = Core::new(&machine(&[]));
        let batch = lines(&[1, 1, 2, 65, 1]);
        let first = counts(&mut core, None, &batch);
        assert_ne!(counts(&mut core, None, &batch), first, "it was warm");
        core.clear();
        assert_eq!(counts(&mut core, None, &batch), first);
    }

    #[test]
    fn an_access_to_two_lines_is_two() {
        let mut core = Core::new(&machine(&[]));
        let seen = counts(&mut core, None, &[at(60), at(64), at(0)]);
        assert_eq!((seen.l1_accesses, seen.l1_misses, seen.dtlb_misses), (4, 2, 1));
    }

    #[test]
    fn an_access_to_two_pages_is_translated_twice() {
        let mut core = Core::new(&machine(&[]));
        let seen = counts(&mut core, None, &[at(0xffc), at(0x1000), at(0xfc0)]);
        assert_eq!((seen.l1_accesses, seen.l1_misses), (4, 2));
        assert_eq!((seen.dtlb_misses, seen.walks, seen.walk_references), (2, 2, 8));
        // Within 2 MiB there is no other page.
        let mut core = Core::new(&machine(&[]));
        let seen = counts(&mut core, None, &[Access { huge: true, ..at(0xffc) }]);
        assert_eq!((seen.l1_accesses, seen.dtlb_misses, seen.walk_references), (2, 1, 3));
    }

    #[test]
    fn the_second_tlb_saves_the_walk() {
        let mut core = Core::new(&machine(&[]));
        // Two entries, then four.
        let pages = |numbers: &[u64]| numbers.iter().map(|number| at(number << 12)).collect::<Vec<_>>();
        let seen = counts(&mut core, None, &pages(&[0, 1, 2, 0, 1, 2, 3, 4, 0]));
        assert_eq!((seen.dtlb_misses, seen.walks, seen.walk_references), (9, 6, 24));
    }

    #[test]
    fn the_next_line_is_brought_in_after_a_miss_of_the_first_level() {
        let machine = machine(&[("", "prefetch = \"next-line\""), ("l3", L3), ("latency", LATENCY)]);
        let (mut core, mut l3) = (Core::new(&machine), machine.new_l3());
        for (line, l2_misses, prefetches) in [
            (0, 1, 1),  // brings 1
            (1, 0, 1),  // is there, brings 2
            (0, 0, 0),  // does not miss the first level
            (2, 0, 1),  // brings 3
            (63, 1, 0), // the last of its 4 KiB
            (62, 1, 0), // 63 is there
        ] {
            let seen = counts(&mut core, l3.as_mut(), &lines(&[line]));
            assert_eq!((seen.l2_misses, seen.l3_misses), (l2_misses, l2_misses), "line {line}");
            assert_eq!(seen.prefetches, prefetches, "line {line}");
        }
        // What was brought in went through the third level, too.
        assert!(l3.is_some_and(|mut l3| l3.access(3 * 64, 3 * 64)));
    }

    #[test]
    fn cores_share_the_third_level_only() {
        let machine = machine(&[("l3", L3), ("latency", LATENCY)]);
        let mut l3 = machine.new_l3();
        let batch = lines(&[1, 2, 3]);
        assert_eq!(counts(&mut Core::new(&machine), l3.as_mut(), &batch).l3_misses, 3);
        let seen = counts(&mut Core::new(&machine), l3.as_mut(), &batch);
        assert_eq!((seen.l1_misses, seen.l2_misses, seen.l3_misses), (3, 3, 0));
    }

    #[test]
    fn a_page_that_became_huge_is_translated_anew() {
        let mut core = Core::new(&machine(&[]));
        let seen = counts(&mut core, None, &[at(0), Access { huge: true, ..at(0) }, at(0)]);
        assert_eq!((seen.l1_misses, seen.dtlb_misses, seen.walks), (1, 2, 2));
    }

    #[test]
    fn a_line_that_moved_is_another_one() {
        let mut core = Core::new(&machine(&[]));
        let moved = Access { paddr: 1 << 20, ..at(0) };
        let seen = counts(&mut core, None, &[at(0), moved, at(0)]);
        assert_eq!((seen.l1_misses, seen.dtlb_misses), (2, 2));
    }
}
