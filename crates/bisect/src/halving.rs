//! Which candidate to try next.

use std::collections::VecDeque;

use crate::{graph::Graph, search::Answers};

/// The candidate whose answer leaves the fewest candidates, weighed by the chance that there is an answer; among
/// equals, the oldest.
///
/// A break of the build or the boot lasts for some revisions, and nobody knows for how many. Where one revision
/// could not be tried, one that is `d` steps away is in the same break with a chance of about `1 / (d + 1)`. So
/// a try is worth the number of candidates that it rules out for certain, times `d / (d + 1)`: next to a revision
/// that was skipped this halves the worth, while a step of `d` to the side costs only `d` candidates. Hence the
/// search goes far away while many candidates are left, and near when they are few.
///
/// `candidates`: places, in order. None where all were tried.
pub(crate) fn best(graph: &Graph, candidates: &[usize], answers: &Answers) -> Option<usize> {
    let distances = distances(graph, answers);
    let mut best: Option<(Worth, usize)> = None;
    for (&place, weight) in candidates.iter().zip(weights(graph, candidates)) {
        let worth = Worth::new(weight.min(candidates.len() - weight), distances[place]);
        if answers.is_open(place) && best.as_ref().is_none_or(|(best, _)| worth.exceeds(best)) {
            best = Some((worth, place));
        }
    }
    best.map(|(_, place)| place)
}

/// A fraction.
struct Worth {
    numerator: u128,
    denominator: u128,
}

impl Worth {
    fn new(ruled_out: usize, distance: Option<usize>) -> Self {
        match distance.map(|distance| distance as u128) {
            Some(distance) => Self { numerator: ruled_out as u128 * distance, denominator: distance + 1 },
            None => Self { numerator: ruled_out as u128, denominator: 1 },
        }
    }

    fn exceeds(&self, other: &Self) -> bool {
        self.numerator * other.denominator > other.numerator * self.denominator
    }
}

/// Of each candidate, how many candidates are its ancestors or itself.
///
/// Sixty-four candidates at a time are followed to their descendants, a bit each: the time of that is quadratic
/// with a small factor, the memory linear. Every path between two candidates must lead over candidates.
fn weights(graph: &Graph, candidates: &[usize]) -> Vec<usize> {
    let mut weights = vec![0; candidates.len()];
    let mut reached = vec![0u64; graph.len()];
    for (start, block) in (0..).step_by(64).zip(candidates.chunks(64)) {
        for (offset, &place) in candidates[start..].iter().enumerate() {
            let own = if offset < 64 { 1 << offset } else { 0 };
            let bits = graph.parents_at(place).iter().fold(own, |bits, &parent| bits | reached[parent]);
            reached[place] = bits;
            weights[start + offset] += bits.count_ones() as usize;
        }
        block.iter().for_each(|&place| reached[place] = 0);
    }
    weights
}

/// Of each place, how many steps (to a parent or a child) it is away from the nearest that was skipped. No break
/// reaches across a revision that had an answer.
fn distances(graph: &Graph, answers: &Answers) -> Vec<Option<usize>> {
    let mut distances = vec![None; graph.len()];
    let mut open = VecDeque::new();
    for place in answers.skipped() {
        distances[place] = Some(0);
        open.push_back((place, 0));
    }
    while let Some((place, distance)) = open.pop_front() {
        for &next in graph.parents_at(place).iter().chain(graph.children_at(place)) {
            if distances[next].is_none() && !answers.is_answered(next) {
                distances[next] = Some(distance + 1);
                open.push_back((next, distance + 1));
            }
        }
    }
    distances
}
