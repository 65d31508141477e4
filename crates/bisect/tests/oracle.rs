//! The search against what is known of a graph.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{Shape, follow, id, place, skip};
use mthp_bisect::finding::Finding;
use mthp_bisect::search::{Next, Search};
use proptest::{prelude::*, sample::Index};

fn answer(bad: bool) -> Finding {
    if bad { Finding::Bad } else { Finding::Good }
}

fn any_finding() -> impl Strategy<Value = Finding> {
    prop_oneof![Just(Finding::Good), Just(Finding::Bad), Just(skip())]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_culprit_is_found_or_is_in_the_range(
        shape in Shape::any(40), culprit in any::<Index>(), skipped in prop::collection::vec(0usize..10, 41), often in 0usize..10,
    ) {
        let culprit = culprit.index(shape.len());
        let bad = shape.containing(culprit);
        let is_skipped = |place: usize| skipped[place] < often;
        let graph = shape.graph();
        let mut search = Search::new(&graph);
        let course = follow(&mut search, |place| if is_skipped(place) { skip() } else { answer(bad[place]) });
        prop_assert!(course.tries() < shape.len());
        match &course.end {
            Next::Culprit { revision } => prop_assert_eq!(revision, &id(culprit)),
            Next::Range { candidates } => {
                prop_assert!(candidates.len() > 1 && candidates.contains(&id(culprit)));
                let (last, before) = candidates.split_last().unwrap();
                prop_assert!(bad[place(last)]);
                prop_assert!(before.iter().all(|id| course.findings.get(&place(id)) == Some(&skip())));
            }
            other => prop_assert!(false, "{:?}", other),
        }
        if course.skips == 0 {
            prop_assert_eq!(course.end, Next::Culprit { revision: id(culprit) });
        }
    }

    #[test]
    fn the_candidates_are_those_that_fit_every_answer(
        shape in Shape::any(40), culprit in any::<Index>(), tries in 0usize..8,
    ) {
        let bad = shape.containing(culprit.index(shape.len()));
        let graph = shape.graph();
        let mut search = Search::new(&graph);
        let mut found = vec![(shape.len() - 1, true)];
        for _ in 0..tries {
            let Next::Try { revision, left, .. } = search.next() else { break };
            let place = place(&revision);
            found.push((place, bad[place]));
            search.record(&revision, answer(bad[place])).unwrap();
            prop_assert!(search.candidates().len() < left || left == 1);
        }
        let fits = |&place: &usize| {
            let contain = shape.containing(place);
            found.iter().all(|&(found, bad)| contain[found] == bad)
        };
        let mut fitting: Vec<String> = (0..shape.len()).filter(fits).map(id).collect();
        let mut candidates: Vec<String> = search.candidates().iter().map(|r| r.id.clone()).collect();
        fitting.sort();
        candidates.sort();
        prop_assert_eq!(candidates, fitting);
    }

    #[test]
    fn whatever_is_found_no_culprit_is_named_without_its_own_and_its_parents_answers(
        shape in Shape::any(40),
        before in prop::collection::vec((any::<Index>(), any_finding()), 0..6),
        findings in prop::collection::vec(any_finding(), 41),
    ) {
        let graph = shape.graph();
        let mut search = Search::new(&graph);
        let mut good = vec![false; shape.len()];
        let mut bad = good.clone();
        bad[shape.len() - 1] = true;
        let mut note = |place: usize, finding: &Finding| {
            good[place] |= *finding == Finding::Good;
            bad[place] |= *finding == Finding::Bad;
        };
        for (index, finding) in before {
            let place = index.index(shape.len());
            note(place, &finding);
            search.record(&id(place), finding).unwrap();
        }
        let course = follow(&mut search, |place| {
            note(place, &findings[place]);
            findings[place].clone()
        });
        let contradicts = |b: usize| bad[b] && shape.containing(b).iter().zip(&good).any(|(c, g)| *c && *g);
        prop_assert_eq!(
            matches!(course.end, Next::Contradiction { .. }),
            (0..shape.len()).any(contradicts)
        );
        match &course.end {
            Next::Culprit { revision } => {
                prop_assert!(bad[place(revision)]);
                prop_assert!(shape.0[place(revision)].iter().flatten().all(|&parent| good[parent]));
            }
            Next::Range { candidates } => prop_assert!(bad[place(candidates.last().unwrap())]),
            Next::Contradiction { good: g, bad: b } => {
                prop_assert!(good[place(g)] && bad[place(b)] && shape.containing(place(b))[place(g)]);
            }
            Next::Try { .. } => prop_assert!(false),
        }
    }
}

#[test]
fn a_long_history_with_merges_is_searched_in_few_tries() {
    // Of ten, four are of the main line and five of a branch, which forks up to 300 back and is merged by the tenth.
    let parents = |place: usize| match place % 10 {
        0 => vec![place.checked_sub(6), place.checked_sub(1)],
        5 => vec![place.checked_sub(1 + place / 10 % 30 * 10)],
        _ => vec![place.checked_sub(1)],
    };
    let shape = Shape((0..=20_000).map(parents).collect());
    let graph = shape.graph();
    for culprit in [0, 77, 9_990, 10_006, 19_998, 20_000] {
        let bad = shape.containing(culprit);
        let course = follow(&mut Search::new(&graph), |place| answer(bad[place]));
        assert_eq!(course.end, Next::Culprit { revision: id(culprit) });
        assert!(course.tries() <= 17, "{}", course.tries());
    }
}
