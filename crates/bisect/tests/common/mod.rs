//! Graphs, and searches in which the answers are known.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::collections::HashMap;

use mthp_bisect::{
    finding::Finding,
    graph::Graph,
    search::{Next, Search},
};
use proptest::prelude::*;

/// The parents of each revision, which come before it; the last is the only head. `None` lies outside.
#[derive(Clone, Debug)]
pub struct Shape(pub Vec<Vec<Option<usize>>>);

impl Shape {
    /// A line.
    pub fn line(length: usize) -> Self {
        Self((0..length).map(|place| vec![place.checked_sub(1)]).collect())
    }

    /// Up to `most` revisions: each has one to three parents among those shortly before it or outside.
    pub fn any(most: usize) -> impl Strategy<Value = Self> {
        let steps = prop::collection::vec(prop_oneof![4 => 1usize..3, 2 => 1usize..12], 1..=3);
        prop::collection::vec(steps, 0..most).prop_map(|all| Self::of(&all))
    }

    fn of(steps: &[Vec<usize>]) -> Self {
        let mut parents: Vec<Vec<Option<usize>>> = Vec::new();
        for (place, steps) in steps.iter().enumerate() {
            // Most commits are no merges.
            let many = if place % 3 == 0 { steps.len() } else { 1 };
            parents.push(steps[..many].iter().map(|&step| place.checked_sub(step)).collect());
        }
        let childless =
            (0..parents.len()).filter(|place| !parents.iter().flatten().any(|p| *p == Some(*place)));
        let mut last: Vec<Option<usize>> = childless.map(Some).collect();
        if last.is_empty() {
            last.push(None);
        }
        parents.push(last);
        Self(parents)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// What git would print of it, the newest first.
    pub fn log(&self) -> String {
        let line = |(place, parents): (usize, &Vec<Option<usize>>)| {
            let parents: Vec<String> = parents.iter().map(|p| p.map_or("base".to_owned(), id)).collect();
            format!("{}\t{}\tmm: change {place}\n", id(place), parents.join(" "))
        };
        self.0.iter().enumerate().rev().map(line).collect()
    }

    pub fn graph(&self) -> Graph {
        Graph::parse(&self.log()).unwrap()
    }

    /// Which revisions contain one: it and its descendants.
    pub fn containing(&self, place: usize) -> Vec<bool> {
        let mut contain = vec![false; self.len()];
        contain[place] = true;
        for place in place + 1..self.len() {
            contain[place] = self.0[place].iter().flatten().any(|&parent| contain[parent]);
        }
        contain
    }
}

pub fn id(place: usize) -> String {
    format!("r{place}")
}

pub fn place(id: &str) -> usize {
    id.strip_prefix('r').unwrap().parse().unwrap()
}

pub fn skip() -> Finding {
    Finding::Skipped { reason: "does not build".to_owned() }
}

/// What a search came to.
#[derive(Debug)]
pub struct Course {
    pub end: Next,
    pub findings: HashMap<usize, Finding>,
    pub skips: usize,
}

impl Course {
    pub fn tries(&self) -> usize {
        self.findings.len()
    }

    pub fn answers(&self) -> usize {
        self.tries() - self.skips
    }
}

/// Follows a search to its end, and sees that it asks for each revision at most once and counts down what is left.
pub fn follow(search: &mut Search<'_>, mut find: impl FnMut(usize) -> Finding) -> Course {
    let mut findings = HashMap::new();
    let mut skips = 0;
    let mut before = usize::MAX;
    loop {
        match search.next() {
            Next::Try { revision, left, steps } => {
                assert_eq!((left, steps), (search.candidates().len(), search.steps_left()));
                assert!(left <= before && steps >= 1);
                before = left;
                let finding = find(place(&revision));
                skips += usize::from(matches!(finding, Finding::Skipped { .. }));
                assert!(
                    findings.insert(place(&revision), finding.clone()).is_none(),
                    "{revision} comes again"
                );
                search.record(&revision, finding).unwrap();
            }
            end => return Course { end, findings, skips },
        }
    }
}
