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
mod tests;
