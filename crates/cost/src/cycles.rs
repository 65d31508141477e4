//! The model's counts weighed into cycles.

use mthp_record::cost::{Counts, Latencies};

/// Cycles of a program that waits for each access before it makes the next: every line access costs the latency of the
/// level that had it, every translation that the first TLB did not have what it costs on top. A model's sum: a real
/// core overlaps most of it.
#[must_use]
pub fn cycles(counts: &Counts, latencies: &Latencies) -> u64 {
    let l1_hits = counts.l1_accesses.saturating_sub(counts.l1_misses);
    let l2_hits = counts.l1_misses.saturating_sub(counts.l2_misses);
    let l3_hits = counts.l2_misses.saturating_sub(counts.l3_misses);
    let stlb_hits = counts.dtlb_misses.saturating_sub(counts.walks);
    [
        (l1_hits, latencies.l1),
        (l2_hits, latencies.l2),
        (l3_hits, latencies.l3.unwrap_or_default()),
        (counts.l3_misses, latencies.memory),
        (stlb_hits, latencies.stlb),
        (counts.walk_references, latencies.walk_reference),
    ]
    .into_iter()
    .fold(0, |sum: u64, (events, each)| sum.saturating_add(events.saturating_mul(each.into())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_access_costs_what_the_level_takes_that_had_it() {
        let latencies = Latencies { l1: 4, l2: 12, l3: Some(40), memory: 200, stlb: 7, walk_reference: 10 };
        let counts = Counts {
            l1_accesses: 1000,
            l1_misses: 100,
            l2_misses: 10,
            l3_misses: 1,
            prefetches: 5,
            dtlb_misses: 20,
            walks: 2,
            walk_references: 3,
        };
        assert_eq!(cycles(&counts, &latencies), 900 * 4 + 90 * 12 + 9 * 40 + 200 + 18 * 7 + 3 * 10);
        let two = Latencies { l3: None, ..latencies };
        let counts = Counts { l3_misses: 10, ..counts };
        assert_eq!(cycles(&counts, &two), 900 * 4 + 90 * 12 + 10 * 200 + 18 * 7 + 3 * 10);
    }
}
