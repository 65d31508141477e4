//! What the machines' models are fed with, by counts that were worked out by hand.

use mthp_cachemodel::Machine;
use mthp_record::cost::{Counts, Mark, Occupancy, RegionAccount};

use super::Guest;

const CACHE: &str = "index = \"physical\"\nreplacement = \"lru\"\norigin = {}\n";

/// L1 has 8 sets of 2 lines, L2 16 of 2, L3 16 of 4; the TLBs hold 2 and 4 pages of any size. A walk keeps nothing: it
/// reads 4 entries, 3 for a huge page.
pub(super) fn small() -> Machine {
    let l3 = format!("[l3]\nsize-kib = 4\nways = 4\nsets = 16\n{CACHE}");
    machine("small", &format!("[l2]\nsize-kib = 2\nways = 2\nsets = 16\n{CACHE}{l3}"), "l3 = 3\n")
}

/// The same with an L2 as small as its L1, and no L3.
fn flat() -> Machine {
    machine("flat", &format!("[l2]\nsize-kib = 1\nways = 2\nsets = 8\n{CACHE}"), "")
}

fn machine(name: &str, behind: &str, latency: &str) -> Machine {
    let tlb = "pages = [\"4KiB\", \"2MiB\"]\norigin = {}\n";
    let text = format!(
        "name = \"{name}\"\ntitle = \"Tiny\"\nkind = \"what-if\"\n\
         [l1d]\nsize-kib = 1\nways = 2\nsets = 8\n{CACHE}{behind}\
         [[dtlb]]\nentries = 2\nways = 2\n{tlb}[[stlb]]\nentries = 4\nways = 4\n{tlb}\
         [walk]\npml4e = 0\npdpte = 0\npde = 0\norigin = {{}}\n\
         [latency]\nl1 = 1\nl2 = 2\nmemory = 9\nstlb = 1\nwalk-reference = 2\norigin = {{}}\n{latency}"
    );
    Machine::parse(&text).unwrap()
}

/// The one machine's counts in each region, of an account without faults.
fn counts(guest: Guest) -> Vec<(String, Counts)> {
    regions(guest).into_iter().map(|it| (it.name, it.machines["small"])).collect()
}

fn regions(guest: Guest) -> Vec<RegionAccount> {
    let account = guest.account();
    assert!(account.faults.is_empty(), "{:?}", account.faults);
    account.regions
}

/// Accesses to lines, misses of L1, L2, L3, then misses of the first TLB, walks, and what they read; 0 from where the
/// list ends.
fn all(name: &str, seen: &[u64]) -> (String, Counts) {
    let at = |place: usize| seen.get(place).copied().unwrap_or_default();
    let counts = Counts {
        l1_accesses: at(0),
        l1_misses: at(1),
        l2_misses: at(2),
        l3_misses: at(3),
        prefetches: 0,
        dtlb_misses: at(4),
        walks: at(5),
        walk_references: at(6),
    };
    (name.to_owned(), counts)
}

#[test]
fn the_outermost_region_begins_cold_and_one_inside_it_does_not() {
    let mut guest = Guest::with(&[&small()], 1);
    for name in ["a", "b"] {
        guest.begin(0, name);
        guest.lines(0, &[0, 1, 2]);
        guest.begin(0, &format!("{name}/warm"));
        guest.lines(0, &[0, 1, 2]);
        guest.end(0);
        guest.end(0);
    }
    let expected = [
        all("a/warm", &[3]),
        all("a", &[6, 3, 3, 3, 1, 1, 4]),
        all("b/warm", &[3]),
        all("b", &[6, 3, 3, 3, 1, 1, 4]),
    ];
    assert_eq!(counts(guest), expected);
}

#[test]
fn each_level_sees_what_the_one_before_does_not_have() {
    let mut guest = Guest::with(&[&small()], 1);
    guest.begin(0, "a");
    // Lines of one set in L1: 0, 8, 16, of which 0 and 16 share one in L2, and two fit in each.
    guest.lines(0, &[0, 8, 16, 0, 32, 16]);
    // L1 has none. L2 has the second 0, and loses 16, which L3 still has, to 32. All lie in one page.
    guest.end(0);
    assert_eq!(counts(guest), [all("a", &[6, 6, 5, 4, 1, 1, 4])]);
}

#[test]
fn a_block_is_huge_from_when_it_is_told_to_when_all_are_small_again() {
    let mut guest = Guest::with(&[&small()], 1);
    let pages = [0x40_0000, 0x40_1000, 0x60_0000].map(|page| page / 64);
    guest.tell_huge(0, &[0x40_1234]);
    for name in ["huge", "still"] {
        guest.begin(0, name);
        guest.lines(0, &pages);
        guest.end(0);
    }
    guest.mark(0, Mark::Small);
    guest.begin(0, "small");
    guest.lines(0, &pages);
    guest.end(0);
    let expected = [
        all("huge", &[3, 3, 3, 3, 2, 2, 3 + 4]),
        all("still", &[3, 3, 3, 3, 2, 2, 3 + 4]),
        all("small", &[3, 3, 3, 3, 3, 3, 4 + 4 + 4]),
    ];
    assert_eq!(counts(guest), expected);
}

#[test]
fn an_access_reaches_as_far_as_its_size() {
    let mut guest = Guest::with(&[&small()], 1);
    guest.begin(0, "a");
    for (vaddr, size, store) in [
        (0xffc, 8, false), // lines 63 and 64, pages 0 and 1
        (0xffc, 4, false),
        (0xff8, 16, false), // the same two again
        (0xfff, 1, false),
        (0x1fff, 2, true),  // lines 127 and 128, pages 1 and 2
        (0x103c, 8, false), // lines 64 and 65, one page
    ] {
        guest.access(0, vaddr, size, store);
    }
    guest.end(0);
    let regions = regions(guest);
    let region = &regions[0];
    assert_eq!((region.loads, region.stores, region.crossings), (5, 1, 3));
    // Lines 63 64, 63, 63 64, 63, 127 128, 64 65: five are new. Pages 0 1, 0, 0 1, 0, 1 2, 1: three are.
    assert_eq!(region.machines["small"], all("", &[10, 5, 5, 5, 3, 3, 12]).1);
}

#[test]
fn each_cpu_has_its_own_levels_and_all_share_the_third() {
    let mut guest = Guest::with(&[&small()], 2);
    guest.switch(0, 7);
    guest.begin(0, "a");
    guest.lines(0, &[0, 1, 2]);
    guest.switch(0, 8);
    guest.switch(1, 7);
    guest.lines(1, &[0, 1, 2]);
    guest.switch(1, 9);
    guest.switch(0, 7);
    guest.lines(0, &[0, 1, 2]);
    guest.end(0);
    assert_eq!(counts(guest), [all("a", &[9, 6, 6, 3, 2, 2, 8])]);
}

#[test]
fn tasks_in_regions_share_what_their_cpu_has() {
    let mut guest = Guest::with(&[&small()], 1);
    guest.switch(0, 1);
    guest.begin(0, "one");
    guest.lines(0, &[0, 1, 2]);
    guest.switch(0, 2);
    guest.begin(0, "two");
    guest.lines(0, &[2, 3]);
    guest.switch(0, 1);
    guest.lines(0, &[3]);
    guest.end(0);
    guest.switch(0, 2);
    guest.end(0);
    assert_eq!(counts(guest), [all("one", &[4, 3, 3, 3, 1, 1, 4]), all("two", &[2, 1, 1, 1])]);
}

#[test]
fn a_task_outside_regions_does_not_touch_the_models() {
    let mut guest = Guest::with(&[&small()], 1);
    guest.switch(0, 1);
    guest.begin(0, "a");
    guest.lines(0, &[0]);
    guest.switch(0, 2);
    // Enough to drive line 0 out of every level.
    guest.lines(0, &(0..1000).collect::<Vec<_>>());
    guest.switch(0, 1);
    guest.lines(0, &[0]);
    guest.end(0);
    assert_eq!(counts(guest), [all("a", &[2, 1, 1, 1, 1, 1, 4])]);
}

#[test]
fn the_counts_of_each_time_a_region_is_entered_are_summed() {
    let mut guest = Guest::with(&[&small()], 1);
    for lines in [&[0, 16, 1][..], &[0], &[0, 64]] {
        guest.begin(0, "a");
        guest.lines(0, lines);
        guest.end(0);
    }
    let regions = regions(guest);
    let region = &regions[0];
    assert_eq!((regions.len(), region.entered, region.loads), (1, 3, 6));
    // One page, one, two.
    assert_eq!(region.machines["small"], all("", &[6, 6, 6, 6, 4, 4, 16]).1);
    let first = Occupancy { sets: 16, ways: 2, accesses: 3, lines: vec![(0, 2), (1, 1)] };
    assert_eq!(region.occupancy["small"], first, "of the first time");
}

#[test]
fn each_machine_has_its_own_account() {
    let mut guest = Guest::with(&[&small(), &flat()], 1);
    guest.begin(0, "a");
    // One set of every level but the second of the small machine, where line 8 is alone.
    guest.lines(0, &[0, 8, 16, 0, 8, 16]);
    guest.end(0);
    let regions = regions(guest);
    let seen = |l2, l3| all("", &[6, 6, l2, l3, 1, 1, 4]).1;
    let machines = [("flat".to_owned(), seen(6, 6)), ("small".to_owned(), seen(3, 3))];
    assert_eq!(regions[0].machines, machines.into());
    let occupancy = |sets, lines| Occupancy { sets, ways: 2, accesses: 6, lines };
    let pictures = [
        ("flat".to_owned(), occupancy(8, vec![(0, 3)])),
        ("small".to_owned(), occupancy(16, vec![(0, 2), (8, 1)])),
    ];
    assert_eq!(regions[0].occupancy, pictures.into());
}
