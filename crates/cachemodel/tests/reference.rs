//! The model against another one, written by the definitions and without a thought to speed.

use mthp_cachemodel::{Access, Core, Machine};
use mthp_record::cost::Counts;
use proptest::prelude::*;

/// Entries by set, the one used longest ago first.
struct Naive {
    sets: Vec<Vec<(u64, u64)>>,
    ways: usize,
}

impl Naive {
    fn new(sets: usize, ways: usize) -> Self {
        Self { sets: vec![Vec::new(); sets], ways }
    }

    fn holds(&self, set: u64, entry: (u64, u64)) -> bool {
        self.sets[set as usize].contains(&entry)
    }

    fn access(&mut self, set: u64, entry: (u64, u64)) -> bool {
        let there = self.holds(set, entry);
        let set = &mut self.sets[set as usize];
        set.retain(|other| *other != entry);
        set.push(entry);
        if set.len() > self.ways {
            set.remove(0);
        }
        there
    }
}

/// The machine of [`TEXT`].
struct Reference {
    l1d: Naive,
    l2: Naive,
    l3: Naive,
    dtlb_small: Naive,
    dtlb_huge: Naive,
    stlb: Naive,
    pde: Naive,
    pdpte: Naive,
    next_line: bool,
    counts: Counts,
}

const TEXT: &str = r#"
name = "reference"
title = "Reference"
kind = "what-if"
prefetch = "PREFETCH"
l1d = { size-kib = 1, ways = 2, sets = 8, index = "virtual", replacement = "lru", origin = {} }
l2 = { size-kib = 4, ways = 4, sets = 16, hash = true, index = "physical", replacement = "lru", origin = {} }
l3 = { size-kib = 9, ways = 3, sets = 48, index = "physical", replacement = "lru", origin = {} }
dtlb = [
    { pages = ["4KiB"], entries = 6, ways = 2, coalesce = 4, origin = {} },
    { pages = ["2MiB"], entries = 2, ways = 2, origin = {} },
]
stlb = [{ pages = ["4KiB", "2MiB"], entries = 20, ways = 20, origin = {} }]
walk = { pml4e = 0, pdpte = 1, pde = 2, origin = {} }
latency = { l1 = 1, l2 = 2, l3 = 3, memory = 4, stlb = 1, walk-reference = 1, origin = {} }
"#;

impl Reference {
    fn new(next_line: bool) -> Self {
        Self {
            l1d: Naive::new(8, 2),
            l2: Naive::new(16, 4),
            l3: Naive::new(48, 3),
            dtlb_small: Naive::new(3, 2),
            dtlb_huge: Naive::new(1, 2),
            stlb: Naive::new(1, 20),
            pde: Naive::new(1, 2),
            pdpte: Naive::new(1, 1),
            next_line,
            counts: Counts::default(),
        }
    }

    fn access(&mut self, access: &Access) {
        let last = u64::from(access.size) - 1;
        let page = if access.huge { 21 } else { 12 };
        for page_number in access.vaddr >> page..=(access.vaddr + last) >> page {
            let behind = page_number - (access.vaddr >> page);
            self.translate(access.huge, page_number, (access.paddr >> page) + behind);
        }
        for line in access.vaddr / 64..=(access.vaddr + last) / 64 {
            self.fetch(line, access.paddr / 64 + line - access.vaddr / 64);
        }
    }

    fn translate(&mut self, huge: bool, virt: u64, phys: u64) {
        let in_place = virt % 4 == phys % 4;
        let first = match (huge, in_place) {
            (true, _) => self.dtlb_huge.access(0, (virt, phys)),
            (false, true) => self.dtlb_small.access(virt / 4 % 3, (virt / 4, phys / 4)),
            // Apart from all groups.
            (false, false) => self.dtlb_small.access(virt / 4 % 3, (virt + (1 << 50), phys)),
        };
        if first {
            return;
        }
        self.counts.dtlb_misses += 1;
        if self.stlb.access(0, (virt + u64::from(huge) * (1 << 50), phys)) {
            return;
        }
        self.counts.walks += 1;
        let gib = if huge { virt >> 9 } else { virt >> 18 };
        // Page directory pointers are looked for only where no directory entry was kept.
        self.counts.walk_references += if !huge && self.pde.access(0, (virt >> 9, 0)) {
            1
        } else {
            let upper = if self.pdpte.access(0, (gib, 0)) { 0 } else { 2 };
            let lower = if huge { 1 } else { 2 };
            upper + lower
        };
    }

    fn fetch(&mut self, virt: u64, phys: u64) {
        self.counts.l1_accesses += 1;
        if self.l1d.access(virt % 8, (phys, 0)) {
            return;
        }
        self.counts.l1_misses += 1;
        if !self.l2.access(hash(phys), (phys, 0)) {
            self.counts.l2_misses += 1;
            self.counts.l3_misses += u64::from(!self.l3.access(phys % 48, (phys, 0)));
        }
        let next = phys + 1;
        if self.next_line && !next.is_multiple_of(64) && !self.l2.holds(hash(next), (next, 0)) {
            self.counts.prefetches += 1;
            self.l2.access(hash(next), (next, 0));
            self.l3.access(next % 48, (next, 0));
        }
    }
}

/// The digits to the base 16, exclusive-or.
fn hash(line: u64) -> u64 {
    (0..16).map(|digit| line >> (4 * digit) & 15).fold(0, |all, digit| all ^ digit)
}

/// Four regions of 2 MiB in two GiB, two of them huge; small pages lie where a mask says, so that some masks leave
/// groups in place and some do not. Small steps come often.
fn accesses() -> impl Strategy<Value = Vec<Access>> {
    let step = (0_u64..4, 0_u64..6, prop_oneof![0_u64..300, 0_u64..4096, 4080_u64..4096], 1_u8..17);
    (prop::collection::vec(step, 0..800), 0_u64..16).prop_map(|(steps, mask)| {
        let place = |(region, page, offset, size): (u64, u64, u64, u8)| {
            let huge = region % 2 == 1;
            let vaddr = (region << 29) + (page << 12) + offset;
            let paddr = if huge { vaddr ^ 0x60_0000 } else { vaddr ^ mask << 12 };
            Access { vaddr, paddr, size, store: size % 2 == 0, huge }
        };
        steps.into_iter().map(place).collect()
    })
}

proptest! {
    #[test]
    fn all_counts_agree(batch in accesses(), next_line: bool, part in 1_usize..50) {
        let text = TEXT.replace("PREFETCH", if next_line { "next-line" } else { "none" });
        let machine = Machine::parse(&text).map_err(|error| TestCaseError::fail(error.to_string()))?;
        let mut reference = Reference::new(next_line);
        batch.iter().for_each(|access| reference.access(access));
        let (mut core, mut l3) = (Core::new(&machine), machine.new_l3());
        let mut counts = Counts::default();
        batch.chunks(part).for_each(|part| core.run(l3.as_mut(), part, &mut counts));
        prop_assert_eq!(counts, reference.counts);
    }
}
