//! What skips cost on a line of 64.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{Shape, follow, skip};
use mthp_bisect::finding::Finding;
use mthp_bisect::search::{Next, Search};

const LENGTH: usize = 64;
const RUN: usize = 8;
const LAYOUTS: usize = 12;

/// A generator (xorshift), so that the table is the same each time.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % end as u64).unwrap()
    }

    /// Skips that are alone, and runs of them; the head is not among them.
    fn layout(&mut self, alone: usize, runs: usize) -> Vec<bool> {
        let mut skipped = vec![false; LENGTH];
        for width in std::iter::repeat_n(RUN, runs).chain(std::iter::repeat_n(1, alone)) {
            let start = loop {
                let start = self.below(LENGTH - width);
                let around = start.saturating_sub(1)..=start + width;
                if !skipped[around].contains(&true) {
                    break start;
                }
            };
            skipped[start..start + width].fill(true);
        }
        skipped
    }
}

#[test]
fn skips_cost_little_beyond_themselves() {
    let graph = Shape::line(LENGTH).graph();
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    println!("alone runs  answers at most  tries at most  tries on average");
    for runs in 0..=2 {
        for alone in 0..=4 {
            let (mut answers, mut tries, mut sum) = (0, 0, 0);
            for _ in 0..LAYOUTS {
                let skipped = dice.layout(alone, runs);
                for culprit in 0..LENGTH {
                    let course = follow(&mut Search::new(&graph), |place| match place {
                        _ if skipped[place] => skip(),
                        _ if place >= culprit => Finding::Bad,
                        _ => Finding::Good,
                    });
                    let what = || format!("culprit {culprit}, skips {skipped:?}: {course:?}");
                    assert!(course.answers() <= 7 && course.tries() <= 6 + course.skips + 1, "{}", what());
                    // Where neither it nor its parent is skipped, nothing hides it.
                    if !skipped[culprit] && !skipped[culprit.saturating_sub(1)] {
                        assert!(matches!(course.end, Next::Culprit { .. }), "{}", what());
                    }
                    answers = answers.max(course.answers());
                    tries = tries.max(course.tries());
                    sum += course.tries();
                }
            }
            let average = sum as f64 / (LAYOUTS * LENGTH) as f64;
            println!("{alone:5} {runs:4}  {answers:15}  {tries:13}  {average:16.2}");
        }
    }
}

#[test]
fn one_skip_costs_one_try_and_at_most_one_more() {
    let graph = Shape::line(LENGTH).graph();
    for skipped in 0..LENGTH - 1 {
        for culprit in 0..LENGTH {
            let course = follow(&mut Search::new(&graph), |place| match place {
                _ if place == skipped => skip(),
                _ if place >= culprit => Finding::Bad,
                _ => Finding::Good,
            });
            assert!(course.tries() <= 6 + 2 * course.skips, "{skipped} {culprit}: {course:?}");
        }
    }
}

#[test]
fn a_long_break_is_left_in_a_few_leaps() {
    for (length, broken) in [(1024, 362..662), (1024, 100..500), (4096, 1000..3000)] {
        let graph = Shape::line(length).graph();
        for culprit in [10, broken.start - 60, broken.end + 60, length - 30] {
            let course = follow(&mut Search::new(&graph), |place| match place {
                _ if broken.contains(&place) => skip(),
                _ if place >= culprit => Finding::Bad,
                _ => Finding::Good,
            });
            assert_eq!(course.end, Next::Culprit { revision: common::id(culprit) });
            assert!(course.skips <= 31 && course.answers() <= 12, "{culprit}: {course:?}");
        }
    }
}
