//! What vCPUs tell, and what the account says of it. Without machines: loads and stores are counted all the same.

use mthp_cachemodel::Access;
use mthp_record::cost::{Account, Mark, mark::MAX_NAME};

use super::{Lane, Meter, Turn};

/// A machine with some vCPUs, as QEMU would drive the meter.
struct Guest {
    meter: Meter,
    lanes: Vec<Lane>,
}

impl Guest {
    fn new(cpus: usize) -> Self {
        Self { meter: Meter::new(Vec::new(), cpus), lanes: (0..cpus).map(|_| Lane::new()).collect() }
    }

    fn switch(&mut self, cpu: usize, task: u64) {
        self.meter.switched(cpu, &mut self.lanes[cpu], task);
    }

    fn mark(&mut self, cpu: usize, mark: Mark) -> Turn {
        self.meter.marked(cpu, &mut self.lanes[cpu], mark)
    }

    /// An access of user space, as the plugin handles it.
    fn access(&mut self, cpu: usize, vaddr: u64, store: bool) {
        let lane = &mut self.lanes[cpu];
        if lane.is_asked() {
            return self.meter.told(cpu, lane, vaddr);
        }
        if lane.records() && lane.push(Access { vaddr, paddr: vaddr, size: 8, store, huge: false }) {
            self.meter.collect(cpu, lane);
        }
    }

    fn loads(&mut self, cpu: usize, count: u64) {
        for at in 0..count {
            self.access(cpu, 0x1000 + 8 * at, false);
        }
    }

    fn begin(&mut self, cpu: usize, name: &str) -> Turn {
        for byte in name.bytes() {
            self.mark(cpu, Mark::Letter);
            self.access(cpu, 0x40_0000 + u64::from(byte), false);
        }
        self.mark(cpu, Mark::Begin)
    }

    fn end(&mut self, cpu: usize) -> Turn {
        self.mark(cpu, Mark::End)
    }

    /// Name, times entered, loads, stores.
    fn regions(&self) -> Vec<(String, u64, u64, u64)> {
        let regions = self.account().regions;
        regions.into_iter().map(|it| (it.name, it.entered, it.loads, it.stores)).collect()
    }

    fn account(&self) -> Account {
        self.meter.account(1, 7)
    }
}

fn region(name: &str, entered: u64, loads: u64, stores: u64) -> (String, u64, u64, u64) {
    (name.to_owned(), entered, loads, stores)
}

#[test]
fn only_accesses_inside_a_region_count() {
    let mut guest = Guest::new(1);
    guest.loads(0, 5);
    assert_eq!(guest.begin(0, "a/b"), Turn::Begins);
    guest.loads(0, 7);
    guest.access(0, 0x2000, true);
    assert_eq!(guest.end(0), Turn::Ends);
    guest.loads(0, 11);
    assert_eq!(guest.regions(), [region("a/b", 1, 7, 1)]);
    assert!(guest.account().faults.is_empty());
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
    guest.access(0, 0x9999, false);
    guest.switch(0, 1);
    guest.access(0, 0x40_0000 + u64::from(b'x'), false);
    guest.mark(0, Mark::Begin);
    guest.end(0);
    assert_eq!(guest.regions(), [region("x", 1, 0, 0)]);
}

#[test]
fn what_a_dead_task_left_open_is_not_the_next_ones() {
    let mut guest = Guest::new(1);
    guest.switch(0, 1);
    guest.begin(0, "dead/one");
    guest.loads(0, 9);
    // It dies; another task is made at the same place, and starts by telling its huge pages.
    assert_eq!(guest.mark(0, Mark::Small), Turn::Ends);
    assert_eq!(guest.begin(0, "a/b"), Turn::Begins);
    guest.loads(0, 2);
    assert_eq!(guest.end(0), Turn::Ends);
    assert_eq!(guest.regions(), [region("a/b", 1, 2, 0)]);
}

#[test]
fn wrong_marks_are_faults_and_count_nothing() {
    let mut guest = Guest::new(1);
    guest.end(0);
    assert_eq!(guest.account().faults, ["a region ended that had not begun"]);
    guest.begin(0, "");
    guest.end(0);
    guest.begin(0, "a b");
    guest.end(0);
    guest.begin(0, &"x".repeat(2 * MAX_NAME));
    guest.end(0);
    let faults = guest.account().faults;
    assert_eq!(faults.len(), 4, "{faults:?}");
    assert!(faults[3].len() < 2 * MAX_NAME);
    assert!(guest.regions().is_empty());
}

#[test]
fn a_guest_that_begins_without_end_is_bounded() {
    let mut guest = Guest::new(1);
    for _ in 0..1000 {
        guest.begin(0, "a");
    }
    assert!(guest.account().faults.len() < 100);
    let mut guest = Guest::new(1);
    for number in 0..10_000 {
        guest.begin(0, &format!("a/{number}"));
        guest.end(0);
    }
    let account = guest.account();
    assert!(account.regions.len() < 10_000 && account.faults.len() < 100);
}
