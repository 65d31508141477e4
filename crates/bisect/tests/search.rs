//! Findings that were not asked for, that contradict each other, or that are of no use.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{Shape, id, skip};
use mthp_bisect::{
    finding::Finding::{self, Bad, Good},
    graph::{Graph, Revision},
    log::bisect_log,
    search::{Next, Search, UnknownRevision},
};

/// Where a search of a line of eight stands after these findings.
fn after(findings: &[(usize, Finding)]) -> Next {
    let graph = Shape::line(8).graph();
    let mut search = Search::new(&graph);
    for (place, finding) in findings {
        search.record(&id(*place), finding.clone()).unwrap();
    }
    search.next()
}

fn clash(good: usize, bad: usize) -> Next {
    Next::Contradiction { good: id(good), bad: id(bad) }
}

fn attempt(place: usize, left: usize, steps: usize) -> Next {
    Next::Try { revision: id(place), left, steps }
}

#[test]
fn findings_narrow_what_is_left() {
    for (findings, next) in [
        (vec![], attempt(3, 8, 3)),
        (vec![(3, Good)], attempt(5, 4, 2)),
        (vec![(3, Bad)], attempt(1, 4, 2)),
        (vec![(3, Bad), (1, Good)], attempt(2, 2, 1)),
        (vec![(3, Bad), (2, Good)], Next::Culprit { revision: id(3) }),
        (vec![(0, Bad)], Next::Culprit { revision: id(0) }),
        (vec![(6, Good)], Next::Culprit { revision: id(7) }),
        // The oldest bad and the newest good count.
        (vec![(5, Bad), (4, Bad), (6, Bad), (1, Good), (3, Good)], Next::Culprit { revision: id(4) }),
        (vec![(3, Bad), (1, Good), (2, skip())], Next::Range { candidates: vec![id(2), id(3)] }),
        (
            vec![(2, skip()), (1, skip()), (0, skip()), (3, Bad)],
            Next::Range { candidates: (0..4).map(id).collect() },
        ),
        // An answer stands against a skip, before and after.
        (vec![(6, Good), (6, skip())], Next::Culprit { revision: id(7) }),
        (vec![(6, skip()), (6, Good)], Next::Culprit { revision: id(7) }),
        (vec![(7, skip()), (6, Good)], Next::Culprit { revision: id(7) }),
    ] {
        assert_eq!(after(&findings), next, "{findings:?}");
    }
}

#[test]
fn a_check_that_comes_and_goes_names_no_culprit() {
    for (findings, next) in [
        (vec![(3, Bad), (5, Good)], clash(5, 3)),
        (vec![(5, Good), (3, Bad)], clash(5, 3)),
        (vec![(3, Bad), (3, Good)], clash(3, 3)),
        (vec![(7, Good)], clash(7, 7)),
        // A culprit's parent that does not hold when it is tried again.
        (vec![(3, Bad), (2, Good), (2, Bad)], clash(2, 2)),
        // The oldest bad one, and the oldest good one that contains it.
        (vec![(1, Bad), (2, Bad), (0, Good), (5, Good), (4, Good)], clash(4, 1)),
    ] {
        assert_eq!(after(&findings), next, "{findings:?}");
    }
}

#[test]
fn nothing_is_left_where_findings_contradict_each_other() {
    let graph = Shape::line(8).graph();
    let mut search = Search::new(&graph);
    search.record("r7", Good).unwrap();
    assert_eq!((search.candidates(), search.steps_left()), (Vec::new(), 0));
    let good = Revision { id: "base".to_owned(), parents: Vec::new(), subject: "s".to_owned() };
    assert!(
        bisect_log(&search, &good).ends_with("# contradiction: r7 is good and contains r7, which is bad\n")
    );
}

#[test]
fn a_parent_outside_is_good_or_all_is_in_doubt() {
    let graph = Shape::line(8).graph();
    let mut search = Search::new(&graph);
    search.record("base", Good).unwrap();
    search.record("base", skip()).unwrap();
    assert_eq!((search.next(), search.history().len()), (attempt(3, 8, 3), 0));
    search.record("base", Bad).unwrap();
    let both = "base".to_owned();
    assert_eq!(search.next(), Next::Contradiction { good: both.clone(), bad: both });
}

#[test]
fn the_history_holds_what_was_news() {
    let graph = Shape::line(8).graph();
    let mut search = Search::new(&graph);
    for (place, finding) in
        [(7, Bad), (7, skip()), (3, skip()), (3, skip()), (3, Good), (3, skip()), (3, Good)]
    {
        search.record(&id(place), finding).unwrap();
    }
    assert_eq!(search.history(), [(id(3), skip()), (id(3), Good)]);
}

#[test]
fn a_revision_that_nobody_knows_is_refused() {
    let graph = Shape::line(8).graph();
    let mut search = Search::new(&graph);
    let unknown = search.record("other", Bad).unwrap_err();
    assert_eq!(unknown, UnknownRevision("other".to_owned()));
    assert_eq!(unknown.to_string(), "failed to find the revision other in the graph that is searched");
    assert_eq!((search.next(), search.history().len()), (attempt(3, 8, 3), 0));
}

/// `a` is the parent of `b` and of `c`; the head `d` merges both.
fn diamond() -> Graph {
    Graph::parse("d\tb c\td\nc\ta\tc\nb\ta\tb\na\tbase\ta\n").unwrap()
}

#[test]
fn a_merge_whose_parents_are_good_is_the_culprit() {
    let graph = diamond();
    let mut search = Search::new(&graph);
    search.record("b", Good).unwrap();
    search.record("c", Good).unwrap();
    assert_eq!(search.next(), Next::Culprit { revision: "d".to_owned() });
}

#[test]
fn a_parent_that_is_good_by_a_descendant_alone_is_tried_itself() {
    let graph = diamond();
    let mut search = Search::new(&graph);
    search.record("b", Good).unwrap();
    search.record("c", Bad).unwrap();
    // Only `c` is left, but nobody tried `a`.
    assert_eq!(search.next(), Next::Try { revision: "a".to_owned(), left: 1, steps: 1 });
    let with = |finding| {
        let mut search = search.clone();
        search.record("a", finding).unwrap();
        search.next()
    };
    assert_eq!(with(Good), Next::Culprit { revision: "c".to_owned() });
    assert_eq!(with(Bad), Next::Contradiction { good: "b".to_owned(), bad: "a".to_owned() });
    assert_eq!(with(skip()), Next::Range { candidates: vec!["a".to_owned(), "c".to_owned()] });
}

#[test]
fn of_two_bad_branches_one_is_followed_to_its_end() {
    let graph = diamond();
    let mut search = Search::new(&graph);
    for (id, finding) in [("b", Bad), ("c", Bad), ("a", Good)] {
        search.record(id, finding).unwrap();
    }
    assert_eq!(search.next(), Next::Culprit { revision: "b".to_owned() });
}

#[test]
fn a_finding_has_one_form_in_a_file() {
    let skipped = Finding::Skipped { reason: "does not build".to_owned() };
    for (finding, json) in [
        (Good, r#"{"kind":"good"}"#),
        (Bad, r#"{"kind":"bad"}"#),
        (skipped, r#"{"kind":"skipped","reason":"does not build"}"#),
    ] {
        assert_eq!(serde_json::to_string(&finding).unwrap(), json);
        assert_eq!(serde_json::from_str::<Finding>(json).unwrap(), finding);
    }
    for wrong in [r#"{"kind":"skipped"}"#, r#"{"kind":"fine"}"#, r#"{"kind":"skipped","reason":"a","b":1}"#] {
        assert!(serde_json::from_str::<Finding>(wrong).is_err(), "{wrong}");
    }
}
