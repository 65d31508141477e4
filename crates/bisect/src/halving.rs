//! Which candidate to try next.

use crate::{graph::Graph, search::Answers};

/// The candidate whose answer leaves the fewest candidates, weighed by the chance that there is an answer; among
/// equals, the oldest.
///
/// A break of the build or the boot begins at one revision, is inherited by its descendants, and is mended at
/// another: it lasts for some revisions, and nobody knows for how many. So a revision `d` steps below or above one
/// that was skipped gives an answer with a chance of about `d / (d + s)`, where `s` is the [`stretch`]. Between two
/// skips both count, for there it takes two breaks instead of one. A try is worth this chance times the candidates
/// that either answer rules out.
///
/// A step of `d` to the side costs `d` of these, so the search goes far away while many candidates are left and stays
/// near when they are few: a skip that is alone costs little beyond itself, and a long break is left in a few leaps.
///
/// `candidates`: places, oldest first. None where all were tried.
pub(crate) fn best(graph: &Graph, candidates: &[usize], answers: &Answers) -> Option<usize> {
    let skipped: Vec<usize> = candidates.iter().copied().filter(|&place| answers.is_skipped(place)).collect();
    let below = below(graph, candidates, &skipped);
    let above = above(graph, candidates, &skipped);
    let stretch = stretch(skipped.len());
    let chance = |steps: Option<usize>| steps.map_or(1.0, |steps| steps as f64 / (steps as f64 + stretch));
    let mut best: Option<(f64, usize)> = None;
    for (&place, weight) in candidates.iter().zip(weights(graph, candidates)) {
        let ruled_out = weight.min(candidates.len() - weight);
        let worth = ruled_out as f64 * chance(below[place]) * chance(above[place]);
        if answers.is_open(place) && best.is_none_or(|(best, _)| worth > best) {
            best = Some((worth, place));
        }
    }
    best.map(|(_, place)| place)
}

/// How far a break is thought to reach, in revisions. A few skips tell nothing: they may be breaks of a revision each,
/// and to go far for each of them costs tries. More than [`MANY`] are one long break, and it is left the faster the
/// more there are.
fn stretch(skips: usize) -> f64 {
    (skips as f64 / MANY).powi(2).max(1.0)
}

/// The skips among the candidates up to which each is taken to be alone.
const MANY: f64 = 8.0;

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ancestors_are_counted_once_and_over_all_blocks() {
        // Of 200 every third merges, and one is of a branch; the oldest twenty are no candidates.
        let parents = |place: usize| match place {
            0 => "base".to_owned(),
            150 => "r149 branch".to_owned(),
            _ if place.is_multiple_of(3) => format!("r{} r{}", place - 1, place * 2 / 3),
            _ => format!("r{}", place - 1),
        };
        let log: String = (0..200).rev().map(|place| format!("r{place}\t{}\t\n", parents(place))).collect();
        let graph = Graph::parse(&(log + "branch\tr100\t\n")).unwrap();
        let candidates: Vec<usize> = (20..graph.len()).collect();
        let counted: Vec<usize> = (candidates.iter())
            .map(|&place| graph.ancestors([place])[20..].iter().filter(|&&marked| marked).count())
            .collect();
        assert_eq!(weights(&graph, &candidates), counted);
    }
}
