//! The two statistics that sampled metrics need: an exact rank test and Holm's correction.

/// Below this, a difference of a sampled metric counts as real (after [`holm`]).
pub const ALPHA: f64 = 0.01;

/// The most samples a side for which [`rank_sum_p`] answers: its cost grows with the fourth power.
pub const MAX_SAMPLES: usize = 64;

/// The exact two-sided p of the Mann–Whitney rank-sum test, ties and all: among every way to deal the pooled
/// values to the two sides, the share whose rank sum lies at least as far from the middle as the observed.
///
/// `None` where a side is empty or has more than [`MAX_SAMPLES`] values.
#[must_use]
pub fn rank_sum_p(a: &[i64], b: &[i64]) -> Option<f64> {
    if [a, b].iter().any(|side| side.is_empty() || side.len() > MAX_SAMPLES) {
        return None;
    }
    let (doubled, observed) = doubled_ranks(a, b);
    let total: usize = doubled.iter().sum();

    // ways[k][s]: in how many ways k of the values seen so far have doubled ranks that sum to s.
    let mut ways = vec![vec![0.0_f64; total + 1]; a.len() + 1];
    if let Some(nothing) = ways.first_mut().and_then(|sums| sums.first_mut()) {
        *nothing = 1.0;
    }
    for rank in &doubled {
        for taken in (1..=a.len()).rev() {
            let (before, from) = ways.split_at_mut(taken);
            let (Some(fewer), Some(sums)) = (before.last(), from.first_mut()) else { continue };
            for (sum, count) in sums.iter_mut().skip(*rank).zip(fewer) {
                *sum += count;
            }
        }
    }

    // The mean of a's doubled rank sum is total · |a| / n; compare without division.
    let n = doubled.len();
    let distance = |sum: usize| (sum * n).abs_diff(total * a.len());
    let sums = ways.last()?;
    let all: f64 = sums.iter().sum();
    let extreme: f64 = sums
        .iter()
        .enumerate()
        .filter(|(sum, _)| distance(*sum) >= distance(observed))
        .map(|(_, count)| count)
        .sum();
    Some(extreme / all)
}

/// Twice each pooled value's mid-rank (so that it is whole), and the sum of those of `a`.
fn doubled_ranks(a: &[i64], b: &[i64]) -> (Vec<usize>, usize) {
    let mut pooled: Vec<i64> = a.iter().chain(b).copied().collect();
    pooled.sort_unstable();
    let rank = |value: &i64| {
        let below = pooled.partition_point(|other| other < value);
        let up_to = pooled.partition_point(|other| other <= value);
        below + 1 + up_to
    };
    (pooled.iter().map(rank).collect(), a.iter().map(rank).sum())
}

/// Holm's step-down: which of the hypotheses fall when all are tested together at `alpha`.
#[must_use]
pub fn holm(ps: &[f64], alpha: f64) -> Vec<bool> {
    let mut order: Vec<usize> = (0..ps.len()).collect();
    order.sort_by(|x, y| ps.get(*x).partial_cmp(&ps.get(*y)).unwrap_or(std::cmp::Ordering::Equal));
    let mut falls = vec![false; ps.len()];
    let mut left = ps.len();
    for index in order {
        let Some(p) = ps.get(index) else { continue };
        // `left` is at most a few hundred metrics.
        #[expect(clippy::cast_precision_loss, reason = "a count of metrics is far below 2^52")]
        if *p >= alpha / left as f64 {
            break;
        }
        if let Some(falls) = falls.get_mut(index) {
            *falls = true;
        }
        left -= 1;
    }
    falls
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(n: i64) -> f64 {
        let a: Vec<i64> = (0..n).collect();
        let b: Vec<i64> = (100..100 + n).collect();
        rank_sum_p(&a, &b).unwrap()
    }

    #[test]
    fn the_smallest_p_of_n_boots_a_side() {
        // 2 / C(2n, n), as in the literature.
        for (n, ways) in [(1, 2.0), (4, 70.0), (5, 252.0), (6, 924.0), (8, 12870.0)] {
            assert!((apart(n) - 2.0 / ways).abs() < 1e-12, "n = {n}: {}", apart(n));
        }
    }

    #[test]
    fn identical_samples_are_no_evidence_at_all() {
        assert_eq!(rank_sum_p(&[3; 8], &[3; 8]), Some(1.0));
        assert_eq!(rank_sum_p(&[1, 2, 3, 4], &[4, 3, 2, 1]), Some(1.0));
    }

    #[test]
    fn ties_are_counted_not_broken() {
        // {1,1} against {1,2}: of the six deals, three put the 2 on each side: all are as extreme.
        assert_eq!(rank_sum_p(&[1, 1], &[1, 2]), Some(1.0));
    }

    #[test]
    fn sides_of_any_size_up_to_the_limit() {
        assert!(apart(64) < 1e-30);
        assert_eq!(rank_sum_p(&[1; 65], &[1; 65]), None);
        assert_eq!(rank_sum_p(&[], &[1]), None);
    }

    #[test]
    fn holm_corrects_for_the_number_of_metrics() {
        assert_eq!(holm(&[0.004, 0.006], 0.01), [true, true]);
        assert_eq!(holm(&[0.006, 0.006], 0.01), [false, false]);
        assert_eq!(holm(&[0.009, 0.004], 0.01), [true, true]);
        assert_eq!(holm(&[0.5, 0.001, 0.009], 0.01), [false, true, false]);
        assert_eq!(holm(&[], 0.01), Vec::<bool>::new());
    }

    #[test]
    fn eight_boots_a_side_carry_sixty_four_metrics() {
        assert!(holm(&[apart(8); 64], ALPHA).iter().all(|falls| *falls));
        assert!(holm(&[apart(8); 65], ALPHA).iter().all(|falls| !*falls));
    }
}
