//! A search as `git bisect log` would tell it.

use std::fmt::Write as _;

use crate::{
    finding::Finding,
    graph::{Graph, Revision},
    search::{Next, Search},
};

/// What `git bisect log` would print after the same answers: `git bisect replay` takes it. It ends in the culprit or
/// in what may be it. Where the findings contradict each other, which git does not notice, a comment says so.
///
/// `good`: the revision from which the search began, outside its graph.
#[must_use]
pub fn bisect_log(search: &Search<'_>, good: &Revision) -> String {
    let graph = search.graph();
    let bad = graph.head();
    let mut log = comment("bad", bad) + &comment("good", good);
    let _ = writeln!(log, "git bisect start '{}' '{}'", bad.id, good.id);
    for (id, finding) in search.history() {
        let word = match finding {
            Finding::Good => "good",
            Finding::Bad => "bad",
            Finding::Skipped { .. } => "skip",
        };
        log += &comment(word, &known(graph, good, id));
        let _ = writeln!(log, "git bisect {word} {id}");
    }
    match search.next() {
        Next::Try { .. } => {}
        Next::Culprit { revision } => log += &comment("first bad commit", &known(graph, good, &revision)),
        Next::Range { candidates } => {
            log += "# only skipped commits left to test\n";
            // git lists the newest first.
            for id in candidates.iter().rev() {
                log += &comment("possible first bad commit", &known(graph, good, id));
            }
        }
        Next::Contradiction { good, bad } => {
            let _ = writeln!(log, "# contradiction: {good} is good and contains {bad}, which is bad");
        }
    }
    log
}

/// A revision with what is known of it.
fn known(graph: &Graph, good: &Revision, id: &str) -> Revision {
    match graph.get(id) {
        Some(revision) => revision.clone(),
        None if id == good.id => good.clone(),
        None => Revision { id: id.to_owned(), parents: Vec::new(), subject: String::new() },
    }
}

fn comment(word: &str, revision: &Revision) -> String {
    format!("# {word}: [{}] {}\n", revision.id, mthp_judge::text::harmless(&revision.subject))
}
