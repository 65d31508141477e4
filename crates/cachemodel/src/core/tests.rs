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
    let kept = "pml4e = 1\npdpte = 1\npde = 1\norigin = {}";
    let mut core = Core::new(&machine(&[("walk", kept)]));
    for batch in [lines(&[1]), lines(&[1, 1, 2, 65, 1])] {
        core.clear();
        let first = counts(&mut core, None, &batch);
        assert_ne!(counts(&mut core, None, &batch), first, "it was warm");
        core.clear();
        assert_eq!(counts(&mut core, None, &batch), first);
    }
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
