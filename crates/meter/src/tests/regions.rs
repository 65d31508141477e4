//! Which accesses are booked on which region. Without machines: loads and stores are counted all the same.

use mthp_record::cost::Mark;

use super::{Guest, region};
use crate::Turn;

#[test]
fn only_accesses_inside_a_region_count() {
    let mut guest = Guest::new(1);
    guest.loads(0, 5);
    assert_eq!(guest.begin(0, "a/b"), Turn::Begins);
    guest.loads(0, 7);
    guest.access(0, 0x2000, 8, true);
    assert_eq!(guest.end(0), Turn::Ends);
    guest.loads(0, 11);
    assert_eq!(guest.regions(), [region("a/b", 1, 7, 1)]);
}

#[test]
fn more_than_a_batch_is_counted_to_the_last() {
    let mut guest = Guest::new(1);
    guest.begin(0, "a/b");
    guest.loads(0, 10_001);
    guest.end(0);
    assert_eq!(guest.regions(), [region("a/b", 1, 10_001, 0)]);
}

#[test]
fn an_outer_region_holds_what_its_inner_ones_hold() {
    let mut guest = Guest::new(1);
    assert_eq!(guest.begin(0, "a/b"), Turn::Begins);
    guest.loads(0, 1);
    for _ in 0..2 {
        assert_eq!(guest.begin(0, "a/b/c"), Turn::Same);
        guest.loads(0, 10);
        assert_eq!(guest.end(0), Turn::Same);
    }
    guest.loads(0, 100);
    assert_eq!(guest.end(0), Turn::Ends);
    let letters = 2 * "a/b/c".len() as u64;
    // The letters of an inner name are answers to marks, not accesses of the program's.
    assert_eq!(guest.regions(), [region("a/b/c", 2, 20, 0), region("a/b", 1, 121, 0)], "{letters} letters");
}

#[test]
fn another_task_on_the_same_cpu_is_not_counted() {
    let mut guest = Guest::new(1);
    guest.switch(0, 7);
    guest.begin(0, "a/b");
    guest.loads(0, 3);
    guest.switch(0, 8);
    guest.loads(0, 1000);
    guest.switch(0, 7);
    guest.loads(0, 4);
    guest.end(0);
    assert_eq!(guest.regions(), [region("a/b", 1, 7, 0)]);
}

#[test]
fn two_threads_take_turns_in_regions_of_their_own() {
    let mut guest = Guest::new(1);
    guest.switch(0, 1);
    assert_eq!(guest.begin(0, "a/b/one"), Turn::Begins);
    guest.switch(0, 2);
    assert_eq!(guest.begin(0, "a/b/two"), Turn::Same);
    for _ in 0..3 {
        guest.loads(0, 10);
        guest.switch(0, 1);
        guest.loads(0, 1);
        guest.switch(0, 2);
    }
    guest.switch(0, 1);
    assert_eq!(guest.end(0), Turn::Same, "the other thread's region is open");
    guest.switch(0, 2);
    assert_eq!(guest.end(0), Turn::Ends);
    assert_eq!(guest.regions(), [region("a/b/one", 1, 3, 0), region("a/b/two", 1, 30, 0)]);
}

#[test]
fn a_task_takes_its_region_to_another_cpu() {
    let mut guest = Guest::new(2);
    guest.switch(0, 5);
    guest.begin(0, "a/b");
    guest.loads(0, 2);
    guest.switch(0, 6);
    guest.switch(1, 5);
    guest.loads(1, 3);
    guest.loads(0, 100);
    guest.end(1);
    assert_eq!(guest.regions(), [region("a/b", 1, 5, 0)]);
}

#[test]
fn a_switch_between_a_mark_and_its_answer_does_not_lose_it() {
    let mut guest = Guest::new(1);
    guest.switch(0, 1);
    guest.mark(0, Mark::Letter);
    guest.switch(0, 2);
    guest.access(0, 0x9999, 8, false);
    guest.switch(0, 1);
    guest.access(0, 0x40_0000 + u64::from(b'x'), 1, false);
    guest.mark(0, Mark::Begin);
    guest.end(0);
    assert_eq!(guest.regions(), [region("x", 1, 0, 0)]);
}
