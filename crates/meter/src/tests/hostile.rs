//! A guest that says what is wrong, or too much: the account says so, and the host stays as small as it is.

use mthp_cachemodel::Machine;
use mthp_record::cost::{Mark, mark::MAX_NAME};

use super::{Guest, models::small, region};
use crate::Turn;

#[test]
fn a_region_that_never_ended_is_a_fault() {
    let mut guest = Guest::new(2);
    guest.switch(0, 1);
    guest.begin(0, "cost/b");
    guest.loads(0, 1);
    guest.begin(0, "cost/b/part");
    guest.end(0);
    guest.switch(1, 2);
    guest.begin(1, "cost/a");
    assert_eq!(guest.faults(), ["the region cost/a never ended", "the region cost/b never ended"]);
}

#[test]
fn a_region_that_a_dead_task_left_open_is_a_fault_whoever_comes_next() {
    let ends = |next: &dyn Fn(&mut Guest)| {
        let mut guest = Guest::new(1);
        guest.switch(0, 1);
        guest.begin(0, "cost/dead");
        guest.loads(0, 9);
        next(&mut guest);
        guest.begin(0, "cost/next");
        guest.loads(0, 2);
        guest.end(0);
        guest.faults()
    };
    let fault = ["the region cost/dead never ended"];
    assert_eq!(ends(&|_| {}), fault, "a task at the same place");
    assert_eq!(ends(&|guest| guest.tell_huge(0, &[])), fault, "one that tells its huge pages");
    assert_eq!(ends(&|guest| guest.switch(0, 2)), fault, "a task elsewhere");
    let elsewhere = |guest: &mut Guest| {
        guest.switch(0, 2);
        guest.tell_huge(0, &[0x40_0000]);
    };
    assert_eq!(ends(&elsewhere), fault, "one elsewhere that tells its huge pages");
}

#[test]
fn a_task_that_tells_huge_pages_is_in_no_region_and_has_said_nothing() {
    let mut guest = Guest::new(1);
    guest.begin(0, "dead/one");
    guest.begin(0, "dead/two");
    guest.say(0, b"dead");
    assert_eq!(guest.mark(0, Mark::Small), Turn::Ends);
    guest.loads(0, 100);
    assert_eq!(guest.begin(0, "a/b"), Turn::Begins);
    guest.loads(0, 2);
    assert_eq!(guest.end(0), Turn::Ends);
    let account = guest.account();
    assert_eq!(account.faults, ["the region dead/one never ended", "the region dead/two never ended"]);
    let [only] = &account.regions[..] else { panic!("{:?}", account.regions) };
    assert_eq!((only.name.as_str(), only.loads), ("a/b", 2));
}

#[test]
fn what_is_wrong_is_told_once_in_short_plain_words() {
    let mut guest = Guest::new(1);
    for _ in 0..3 {
        guest.end(0);
        for name in [&b""[..], b"a b", b"\x1b[31m\n", &[0xff; 2 * MAX_NAME], &[b'x'; MAX_NAME + 1]] {
            guest.say(0, name);
            guest.mark(0, Mark::Begin);
            guest.end(0);
        }
    }
    guest.say(0, b"\xe2\x80\xae");
    guest.mark(0, Mark::Begin);
    guest.meter.fault("too much");
    let account = guest.account();
    assert!(account.regions.is_empty());
    let long = "x".repeat(40);
    let faults = [
        "a region ended that had not begun",
        r#"a region's name is none: """#,
        r#"a region's name is none: "a b""#,
        r#"a region's name is none: "\x1b[31m\n""#,
        &format!(r#"a region's name is none: "{}"..."#, r"\xff".repeat(10)),
        &format!(r#"a region's name is none: "{long}"..."#),
        r#"a region's name is none: "\xe2\x80\xae""#,
        "too much",
        r#"the region "\xe2\x80\xae" never ended"#,
    ];
    assert_eq!(account.faults, faults);
}

#[test]
fn a_huge_page_that_cannot_be_told_is_a_fault() {
    let mut guest = Guest::new(1);
    guest.tell_huge(0, &[0x7fff_ffe0_0000]);
    assert!(guest.faults().is_empty());
    let mut guest = Guest::new(1);
    guest.tell_huge(0, &[0x8000_0000_0000]);
    assert_eq!(guest.faults(), ["a huge page at 0x800000000000, where none can be told"]);
}

#[test]
fn regions_may_lie_in_one_another_up_to_a_depth() {
    for (depth, faults) in [(32, &[][..]), (33, &["a: more than 32 regions, one in the other"])] {
        let mut guest = Guest::new(1);
        for _ in 0..depth {
            guest.begin(0, "a");
        }
        for _ in 0..depth.min(32) {
            guest.end(0);
        }
        assert_eq!(guest.faults(), faults, "{depth}");
    }
}

#[test]
fn so_many_regions_are_kept_and_one_more_is_a_fault() {
    for (count, faults) in [(4096, &[][..]), (4200, &["more than 4096 regions"])] {
        let mut guest = Guest::new(1);
        for number in 0..count {
            guest.begin(0, &format!("a/{number}"));
            guest.end(0);
        }
        guest.begin(0, "a/0");
        guest.end(0);
        let account = guest.account();
        assert_eq!((account.regions.len(), account.regions[0].entered), (4096, 2));
        assert_eq!(account.faults, faults);
    }
}

#[test]
fn only_the_first_regions_have_an_occupancy() {
    let pictured = |machines: &[&Machine], around: u64| {
        let mut guest = Guest::with(machines, 1);
        for number in 0..around {
            guest.begin(0, &format!("around/{number}"));
        }
        for number in (0..200).chain(0..200) {
            guest.begin(0, &format!("a/{number}"));
            guest.loads(0, 1);
            guest.end(0);
        }
        for _ in 0..around {
            guest.end(0);
        }
        let account = guest.account();
        assert!(account.faults.is_empty(), "{:?}", account.faults);
        let pictured: Vec<bool> = account.regions.iter().map(|it| !it.occupancy.is_empty()).collect();
        assert!(
            account.regions[..200].iter().all(|it| it.entered == 2 && it.machines.len() == machines.len())
        );
        pictured
    };
    let expected = |around: usize| (0..200 + around).map(move |at| at < 128 - around || at >= 200);
    assert_eq!(pictured(&[&small()], 0), expected(0).collect::<Vec<_>>());
    assert_eq!(pictured(&[&small()], 30), expected(30).collect::<Vec<_>>());
    assert_eq!(pictured(&[], 0), [false; 200]);
}

#[test]
fn so_many_tasks_are_known_and_one_more_is_a_fault() {
    for (count, faults) in [(256, 0), (257, 1), (1000, 1)] {
        let mut guest = Guest::new(1);
        for task in 1..=count {
            guest.switch(0, task);
            guest.say(0, b"x");
        }
        for task in 1..=count {
            guest.switch(0, task);
            guest.mark(0, Mark::Begin);
            guest.loads(0, 1);
            guest.end(0);
        }
        let seen = guest.faults();
        assert_eq!(
            seen.contains(&"more than 256 tasks in regions at a time".to_owned()),
            faults > 0,
            "{seen:?}"
        );
        assert_eq!(seen.is_empty(), faults == 0, "{seen:?}");
    }
}

#[test]
fn tasks_that_are_done_are_forgotten() {
    let mut guest = Guest::new(1);
    guest.switch(0, 1);
    guest.begin(0, "outer");
    for task in 2..10_000 {
        guest.switch(0, task);
        guest.tell_huge(0, &[0x40_0000]);
        guest.begin(0, "a");
        guest.loads(0, 1);
        guest.end(0);
    }
    guest.switch(0, 1);
    guest.loads(0, 3);
    guest.end(0);
    assert_eq!(guest.regions(), [region("a", 9998, 9998, 0), region("outer", 1, 3, 0)]);
}

#[test]
fn an_account_is_given_once() {
    let mut guest = Guest::new(1);
    guest.begin(0, "a");
    guest.end(0);
    guest.begin(0, "b");
    let first = guest.meter.account(1, 7);
    assert_eq!((first.regions.len(), first.faults.len()), (1, 1));
    let second = guest.meter.account(1, 7);
    assert_eq!(second.regions, []);
    assert_eq!(second.faults, first.faults, "what was wrong stays wrong");
}
