//! Logs and series, and what is none.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use common::{Shape, id};
use mthp_bisect::graph::{Graph, GraphError, Parent, Revision};
use proptest::prelude::*;

fn ids(graph: &Graph) -> Vec<&str> {
    graph.iter().map(|revision| revision.id.as_str()).collect()
}

#[test]
fn a_log_is_read_oldest_first() {
    let graph = Graph::parse("d\tc b\tMerge\nc\ta x\tc\nb\ta\tb\ttab\x1b[31m\na\tx y\t\n").unwrap();
    assert_eq!(ids(&graph), ["a", "b", "c", "d"]);
    assert_eq!((graph.len(), graph.head().id.as_str()), (4, "d"));
    assert_eq!(graph.get("b").unwrap().subject, "b tab\u{fffd}[31m");
    assert_eq!(graph.get("x"), None);
    assert!(graph.is_boundary("x") && graph.is_boundary("y") && !graph.is_boundary("a"));
    let c = graph.get("c").unwrap();
    let parents: Vec<Parent<'_>> = graph.parents(c).collect();
    assert_eq!(parents, [Parent::Inside(graph.get("a").unwrap()), Parent::Outside("x")]);
}

#[test]
fn a_series_is_a_line_on_its_base() {
    let patches = ["0001-a b.patch", "0002-c.patch"].map(|name| (name.to_owned(), "s".to_owned()));
    let graph = Graph::line(patches.to_vec(), "base".to_owned()).unwrap();
    let expected = Revision {
        id: "0002-c.patch".to_owned(),
        parents: vec!["0001-a b.patch".to_owned()],
        subject: "s".to_owned(),
    };
    assert_eq!(graph.head(), &expected);
    let first = graph.get("0001-a b.patch").unwrap();
    assert_eq!(graph.parents(first).collect::<Vec<_>>(), [Parent::Outside("base")]);
    let twice = |names: &[&str]| {
        let names = names.iter().map(|name| ((*name).to_owned(), String::new())).collect();
        Graph::line(names, "base".to_owned()).unwrap_err()
    };
    assert_eq!(twice(&["a", "a"]), GraphError::Twice("a".to_owned()));
    assert_eq!(twice(&["a", "base"]), GraphError::Twice("base".to_owned()));
    assert_eq!(twice(&[]), GraphError::Empty);
    assert_eq!(twice(&["a\nb"]), GraphError::Id("a\nb".to_owned()));
    assert_eq!(twice(&[""]), GraphError::Id(String::new()));
}

#[test]
fn what_is_no_graph_is_refused_and_says_why() {
    let start = "failed to order the revisions: ";
    for (log, why) in [
        ("", "there is none between good and bad (are the two swapped?)"),
        ("a\tb\ts\n\n", "line 2 of the log has no three fields"),
        ("a b s\n", "line 1 of the log has no three fields"),
        ("a\tb\n", "line 1 of the log has no three fields"),
        ("\tb\ts\n", "line 1 of the log names no commit"),
        ("--all\tb\ts\n", "line 1 of the log names no commit"),
        ("a c\tb\ts\n", "line 1 of the log names no commit"),
        ("a\tb -c\ts\n", "line 1 of the log names no commit"),
        ("a\x1b\tb\ts\n", "'a\u{fffd}' cannot name one"),
        ("a\tb\ts\na\tb\ts\n", "a comes twice"),
        ("a\tx\ts\nb\tx\ts\n", "more than one has no child: b, a"),
        ("d\tc\ts\nc\tb\ts\nb\tc\ts\n", "b is an ancestor of itself"),
        ("a\ta\ts\n", "a is an ancestor of itself"),
    ] {
        assert_eq!(Graph::parse(log).unwrap_err().to_string(), format!("{start}{why}"), "{log:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_it_panic(log in "(?s)([ab\\-\t \n\r\u{85}é]|.){0,300}") {
        let _ = Graph::parse(&log);
    }

    #[test]
    fn any_order_of_the_lines_gives_the_same_graph(
        (shape, lines) in Shape::any(30).prop_flat_map(|shape| {
            let lines: Vec<String> = shape.log().lines().map(str::to_owned).collect();
            (Just(shape), Just(lines).prop_shuffle())
        })
    ) {
        let graph = Graph::parse(&lines.join("\n")).unwrap();
        let order = ids(&graph);
        let at = |name: &str| order.iter().position(|other| *other == name);
        prop_assert_eq!(order.len(), shape.len());
        for revision in graph.iter() {
            for parent in graph.parents(revision) {
                if let Parent::Inside(parent) = parent {
                    prop_assert!(at(&parent.id) < at(&revision.id));
                }
            }
        }
        // As git has them, the order is git's.
        let graph = shape.graph();
        prop_assert_eq!(ids(&graph), (0..shape.len()).map(id).collect::<Vec<_>>());
    }
}
