//! Parents before their children.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, HashMap},
};

use super::Revision;

/// Who is next to whom: of each revision, the places of its neighbours within the graph.
#[derive(Clone, Debug)]
pub(super) struct Edges {
    pub parents: Vec<Vec<usize>>,
    pub children: Vec<Vec<usize>>,
}

impl Edges {
    pub(super) fn new(revisions: &[Revision], places: &HashMap<String, usize>) -> Self {
        let mut children = vec![Vec::new(); revisions.len()];
        let mut parents = Vec::with_capacity(revisions.len());
        for (revision, place) in revisions.iter().zip(0..) {
            let mut mine: Vec<usize> =
                revision.parents.iter().filter_map(|id| places.get(id).copied()).collect();
            mine.sort_unstable();
            mine.dedup();
            mine.iter().for_each(|&parent| children[parent].push(place));
            parents.push(mine);
        }
        Self { parents, children }
    }

    /// The places so that parents come before their children, and otherwise as they are.
    ///
    /// # Errors
    /// A place that is its own ancestor.
    pub(super) fn oldest_first(&self) -> Result<Vec<usize>, usize> {
        let mut missing: Vec<usize> = self.parents.iter().map(Vec::len).collect();
        let mut ready: BinaryHeap<Reverse<usize>> =
            (0..missing.len()).filter(|&place| missing[place] == 0).map(Reverse).collect();
        let mut order = Vec::with_capacity(missing.len());
        while let Some(Reverse(place)) = ready.pop() {
            order.push(place);
            for &child in &self.children[place] {
                missing[child] -= 1;
                if missing[child] == 0 {
                    ready.push(Reverse(child));
                }
            }
        }
        match missing.iter().position(|&missing| missing > 0) {
            Some(place) => Err(self.in_cycle(place, &missing)),
            None => Ok(order),
        }
    }

    /// From a place that waits for a parent upwards along those that wait, until one comes again.
    fn in_cycle(&self, mut place: usize, missing: &[usize]) -> usize {
        let mut seen = vec![false; missing.len()];
        while !std::mem::replace(&mut seen[place], true) {
            let waiting = self.parents[place].iter().find(|&&parent| missing[parent] > 0);
            place = waiting.copied().unwrap_or(place);
        }
        place
    }
}
