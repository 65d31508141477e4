use mthp_ktap::{State, parse};
use proptest::prelude::*;

use super::*;
use crate::{cases::tests as samples, sample};

#[test]
fn a_regression() {
    let report = sample::report(&sample::swapped(sample::demonstration()), &sample::gates());
    insta::assert_snapshot!("regressed", render(&report));
}

#[test]
fn every_ending() {
    insta::assert_snapshot!("every-ending", render(&samples::every_ending()));
}

#[test]
fn a_patched_kernel_that_panics() {
    insta::assert_snapshot!("panic", render(&samples::a_panic()));
}

#[test]
fn an_unfinished_run() {
    insta::assert_snapshot!("unfinished", render(&samples::unfinished()));
}

#[test]
fn an_empty_shard() {
    insta::assert_snapshot!("empty", render(&samples::empty()));
}

#[test]
fn a_hash_of_a_guest_turns_no_failure_into_a_skip() {
    let text = render(&samples::every_ending());
    let errs = text.lines().find(|line| line.contains("ENOMEM") && line.contains("ok")).unwrap();
    assert!(errs.contains("not ok 1 completes # ERROR") && !errs.contains("# SKIP"), "{errs}");
}

fn state(ending: &Ending) -> State {
    match ending {
        Ending::Passed => State::Passed,
        Ending::Failed(_) | Ending::Undecided(_) => State::Failed,
        Ending::Skipped(_) => State::Skipped,
    }
}

proptest! {
    #[test]
    fn whatever_a_guest_says_it_is_read_back_as_it_was_meant(report in samples::reports()) {
        let text = render(&report);
        let read = parse(&text);
        prop_assert!(read.is_ktap && read.problems.is_empty(), "{:?}\n{}", read.problems, text);
        prop_assert!(read.skipped.is_none() && read.bail_out.is_none(), "{}", text);
        let mut expected = Vec::new();
        for (group, number) in cases::of(&report).iter().zip(1..) {
            for (case, inner) in group.cases.iter().zip(1..) {
                expected.push((vec![number, inner], state(&case.ending)));
            }
            expected.push((vec![number], state(&together(&group.cases))));
        }
        let points: Vec<(Vec<u32>, State)> =
            read.points.into_iter().map(|point| (point.path, point.state)).collect();
        prop_assert_eq!(points, expected, "{}", text);
    }
}
