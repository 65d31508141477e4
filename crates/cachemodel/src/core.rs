//! One vCPU's private part of one machine.

use mthp_record::cost::Counts;

use crate::{
    access::{Access, Place},
    cache::Cache,
    machine::{Machine, PageSize, Prefetch},
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
    page: Place,
    size: PageSize,
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
            page: Place::NOWHERE,
            size: PageSize::Small,
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
        self.page = Place::NOWHERE;
    }

    /// Takes accesses, in their order, and adds to `counts` what they did. `l3` is [`Machine::new_l3`]'s, shared by
    /// all cores of the machine.
    pub fn run(&mut self, mut l3: Option<&mut Cache>, batch: &[Access], counts: &mut Counts) {
        let mut done = Counts::default();
        for access in batch {
            self.translate(access, &mut done);
            let mut line = access.line();
            self.fetch(line, l3.as_deref_mut(), &mut done);
            for _ in 0..access.lines_behind() {
                line = line.next();
                self.fetch(line, l3.as_deref_mut(), &mut done);
            }
        }
        *counts = *counts + done;
    }

    #[inline]
    fn translate(&mut self, access: &Access, counts: &mut Counts) {
        let (size, page) = (access.page_size(), access.page());
        self.look_up(size, page, counts);
        if access.spans_pages() {
            self.look_up(size, page.next(), counts);
        }
    }

    #[inline]
    fn look_up(&mut self, size: PageSize, page: Place, counts: &mut Counts) {
        if page == self.page && size == self.size {
            return;
        }
        self.page = page;
        self.size = size;
        if self.dtlb.access(size, page) {
            return;
        }
        counts.dtlb_misses += 1;
        if self.stlb.access(size, page) {
            return;
        }
        counts.walks += 1;
        counts.walk_references += self.walker.walk(page.virt << size.shift(), size);
    }

    #[inline]
    fn fetch(&mut self, line: Place, l3: Option<&mut Cache>, counts: &mut Counts) {
        counts.l1_accesses += 1;
        if line == self.line {
            return;
        }
        self.line = line;
        if !self.l1d.access(line) {
            self.miss(line, l3, counts);
        }
    }

    /// A line that the first level did not have.
    fn miss(&mut self, line: Place, mut l3: Option<&mut Cache>, counts: &mut Counts) {
        counts.l1_misses += 1;
        if !self.l2.access(line) {
            counts.l2_misses += 1;
            if !l3.as_deref_mut().is_some_and(|l3| l3.access(line)) {
                counts.l3_misses += 1;
            }
        }
        if self.prefetch == Prefetch::NextLine {
            self.prefetch(line, l3, counts);
        }
    }

    /// Brings the line behind into the second level, through the third, unless it is there already.
    fn prefetch(&mut self, line: Place, l3: Option<&mut Cache>, counts: &mut Counts) {
        let next = line.next();
        if next.phys >> PAGE_LINES != line.phys >> PAGE_LINES || self.l2.holds(next) {
            return;
        }
        counts.prefetches += 1;
        self.l2.access(next);
        if let Some(l3) = l3 {
            l3.access(next);
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
