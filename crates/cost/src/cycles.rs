//! Misses weighed into cycles.

use mthp_record::cost::Counts;

/// The latencies of one machine in cycles of its core: what one access takes that is served there and waits for
/// nothing else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latencies {
    /// A load that the first-level cache has.
    pub l1: u32,
    /// One that the second level has.
    pub l2: u32,
    /// One that the third level has; `None` on a machine without one.
    pub l3: Option<u32>,
    /// One that memory has.
    pub memory: u32,
    /// What the look into the second-level TLB adds, for a translation that the first level did not have.
    pub stlb: u32,
    /// What each entry of a page table adds that a walk reads.
    pub walk_reference: u32,
}

/// Model cycles: no overlap, no store buffer, no pipeline. Every access to a line costs what the level costs that
/// had it, every translation that the first-level TLB did not have costs the look into the second level, and every
/// entry of a page table that a walk read costs a reference. A machine without a third level has `l3: None`.
///
/// It is a weight on misses, not a time: a real core does most of this at once.
#[must_use]
pub fn cycles(counts: &Counts, latencies: &Latencies) -> u64 {
    let third = latencies.l3.map(|cycles| (counts.l3_misses.min(counts.l2_misses), cycles));
    let (in_memory, l3) = third.unwrap_or((counts.l2_misses, 0));
    let parts = [
        (counts.l1_accesses.saturating_sub(counts.l1_misses), latencies.l1),
        (counts.l1_misses.saturating_sub(counts.l2_misses), latencies.l2),
        (counts.l2_misses - in_memory, l3),
        (in_memory, latencies.memory),
        (counts.dtlb_misses, latencies.stlb),
        (counts.walk_references, latencies.walk_reference),
    ];
    parts.into_iter().fold(0, |sum: u64, (n, each)| sum.saturating_add(n.saturating_mul(each.into())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ZEN: Latencies =
        Latencies { l1: 4, l2: 12, l3: Some(46), memory: 250, stlb: 7, walk_reference: 12 };

    fn counts() -> Counts {
        Counts {
            l1_accesses: 1000,
            l1_misses: 100,
            l2_misses: 30,
            l3_misses: 10,
            prefetches: 99,
            dtlb_misses: 20,
            walks: 5,
            walk_references: 8,
        }
    }

    #[test]
    fn every_access_costs_the_level_that_had_it() {
        let caches = 900 * 4 + 70 * 12 + 20 * 46 + 10 * 250;
        assert_eq!(cycles(&counts(), &ZEN), caches + 20 * 7 + 8 * 12);
    }

    #[test]
    fn without_a_third_level_memory_has_what_the_second_had_not() {
        let two = Latencies { l3: None, ..ZEN };
        let counted = Counts { l3_misses: 30, ..counts() };
        assert_eq!(cycles(&counted, &two), 900 * 4 + 70 * 12 + 30 * 250 + 20 * 7 + 8 * 12);
        assert_eq!(cycles(&counts(), &two), cycles(&counted, &two), "its misses are not asked for");
    }

    fn any_counts() -> impl Strategy<Value = Counts> {
        prop::array::uniform8(any::<u64>()).prop_map(
            |[
                l1_accesses,
                l1_misses,
                l2_misses,
                l3_misses,
                prefetches,
                dtlb_misses,
                walks,
                walk_references,
            ]| {
                Counts {
                    l1_accesses,
                    l1_misses,
                    l2_misses,
                    l3_misses,
                    prefetches,
                    dtlb_misses,
                    walks,
                    walk_references,
                }
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_too_large_stays_at_the_largest(counts in any_counts(), l3 in any::<Option<u32>>()) {
            let none = Latencies { l1: 0, l2: 0, l3: l3.map(|_| 0), memory: 0, stlb: 0, walk_reference: 0 };
            prop_assert_eq!(cycles(&counts, &none), 0);
            let walks = u128::from(counts.walk_references) * 3;
            let clamped = u64::try_from(walks).unwrap_or(u64::MAX);
            prop_assert_eq!(cycles(&counts, &Latencies { walk_reference: 3, ..none }), clamped);
        }

        #[test]
        fn a_miss_more_never_costs_less(hits in 0u64..1000, far in 0u64..1000) {
            let before = Counts { l1_accesses: 2000, l1_misses: 1000 + hits, l2_misses: far, l3_misses: far, ..counts() };
            for after in [
                Counts { l2_misses: far + 1, ..before },
                Counts { l1_misses: before.l1_misses.min(1999) + 1, ..before },
                Counts { walk_references: 9, ..before },
                Counts { dtlb_misses: 21, ..before },
            ] {
                prop_assert!(cycles(&after, &ZEN) > cycles(&before, &ZEN) || after == before);
            }
        }
    }
}
