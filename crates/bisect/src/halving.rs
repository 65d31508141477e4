//! Which candidate to try next.

use crate::{graph::Graph, search::Answers};

/// The candidate whose answer leaves the fewest candidates, weighed by the chance that there is an answer; among
/// equals, the oldest.
///
/// A break of the build or the boot begins at one revision, is inherited by its descendants, and is mended at
/// another: it lasts for some revisions, and nobody knows for how many. So a revision `d` steps below or above one
/// that was skipped gives an answer with a chance of about `d / (d + s)`, where `s`, the length that the break is
/// thought to have, is 1 after the first skip and grows by a half with each more. Between two skips both
/// count, for there it takes two breaks instead of one. A try is worth this chance times the candidates that either
/// answer rules out.
///
/// A step of `d` to the side costs `d` of these, so the search goes far away while many candidates are left and stays
/// near when they are few: a skip that is alone costs little beyond itself, and a long break is left in a few leaps.
///
/// `candidates`: places, oldest first. None where all were tried.
pub(crate) fn best(graph: &Graph, candidates: &[usize], answers: &Answers) -> Option<usize> {
    let skipped: Vec<usize> = candidates.iter().copied().filter(|&place| answers.is_skipped(place)).collect();
    let below = below(graph, candidates, &skipped);
    let above = above(graph, candidates, &skipped);
    let mut best: Option<(Worth, usize)> = None;
    for (&place, weight) in candidates.iter().zip(weights(graph, candidates)) {
        let worth = Worth::of(weight.min(candidates.len() - weight))
            .times_chance(below[place], skipped.len())
            .times_chance(above[place], skipped.len());
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
    fn of(ruled_out: usize) -> Self {
        Self { numerator: ruled_out as u128, denominator: 1 }
    }

    /// `distance`: steps to the nearest that was skipped.
    fn times_chance(self, distance: Option<usize>, skips: usize) -> Self {
        let Some(distance) = distance else { return self };
        // d / (d + s) with s = (skips + 1) / 2.
        let (distance, skips) = (2 * distance as u128, skips as u128);
        Self { numerator: self.numerator * distance, denominator: self.denominator * (distance + skips + 1) }
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

/// Of each place, how many steps it is from the nearest skipped ancestor; itself is at 0.
fn below(graph: &Graph, candidates: &[usize], skipped: &[usize]) -> Vec<Option<usize>> {
    let mut steps = vec![None; graph.len()];
    skipped.iter().for_each(|&place| steps[place] = Some(0));
    for &place in candidates {
        let nearest = graph.parents_at(place).iter().filter_map(|&parent| steps[parent]).min();
        steps[place] = steps[place].or(nearest.map(|steps| steps + 1));
    }
    steps
}

/// Of each place, how many steps it is to the nearest skipped descendant; itself is at 0.
fn above(graph: &Graph, candidates: &[usize], skipped: &[usize]) -> Vec<Option<usize>> {
    let mut steps: Vec<Option<usize>> = vec![None; graph.len()];
    skipped.iter().for_each(|&place| steps[place] = Some(0));
    for &place in candidates.iter().rev() {
        let Some(next) = steps[place].map(|steps| steps + 1) else { continue };
        for &parent in graph.parents_at(place) {
            steps[parent] = Some(steps[parent].map_or(next, |known| known.min(next)));
        }
    }
    steps
}
