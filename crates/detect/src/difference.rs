//! What is wrong with what was found.

use mthp_record::workload::{Detection, Expected};

use crate::class_name;

/// How `found` differs from `expected`, in words; empty where it does not, within the tolerances.
///
/// Pairs are made of one class, the nearest boxes first. So two detections of nearly equal confidence may come in
/// either order.
#[must_use]
pub fn differences(expected: &Expected, found: &[Detection]) -> Vec<String> {
    let partners = pairs(&expected.detections, found);
    let mut wrong = Vec::new();
    for (wanted, partner) in expected.detections.iter().zip(&partners) {
        match partner.and_then(|index| found.get(index)) {
            None => wrong.push(format!("missing: {}", words(wanted))),
            Some(seen) => wrong.extend(deviations(expected, wanted, seen)),
        }
    }
    let surplus = found.iter().enumerate().filter(|(index, _)| !partners.contains(&Some(*index)));
    wrong.extend(surplus.map(|(_, seen)| format!("unexpected: {}", words(seen))));
    wrong
}

/// For each expected detection the index of the one that was found for it.
fn pairs(expected: &[Detection], found: &[Detection]) -> Vec<Option<usize>> {
    let mut possible: Vec<(u32, usize, usize)> = Vec::new();
    for (wanted_index, wanted) in expected.iter().enumerate() {
        for (seen_index, seen) in found.iter().enumerate().filter(|(_, seen)| seen.class == wanted.class) {
            possible.push((box_distance(wanted, seen), wanted_index, seen_index));
        }
    }
    possible.sort_unstable();
    let mut partners = vec![None; expected.len()];
    for (_, wanted, seen) in possible {
        if partners[wanted].is_none() && !partners.contains(&Some(seen)) {
            partners[wanted] = Some(seen);
        }
    }
    partners
}

fn deviations(expected: &Expected, wanted: &Detection, seen: &Detection) -> Option<String> {
    let confidence = wanted.confidence_thousandths.abs_diff(seen.confidence_thousandths);
    let off =
        confidence > expected.confidence_tolerance || box_distance(wanted, seen) > expected.box_tolerance;
    off.then(|| {
        format!(
            "expected {}, found {} (tolerance {} and {} px)",
            words(wanted),
            words(seen),
            thousandths(expected.confidence_tolerance),
            expected.box_tolerance
        )
    })
}

/// How far the edge that is farthest off is off, in pixels.
fn box_distance(a: &Detection, b: &Detection) -> u32 {
    a.bounds.iter().zip(&b.bounds).map(|(a, b)| a.abs_diff(*b)).max().unwrap_or(0)
}

fn words(detection: &Detection) -> String {
    format!(
        "{} {} at {:?}",
        class_name(detection.class),
        thousandths(detection.confidence_thousandths),
        detection.bounds
    )
}

/// `0.729` of 729.
pub(crate) fn thousandths(number: u32) -> String {
    format!("{}.{:03}", number / 1000, number % 1000)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn detection(class: u32, confidence_thousandths: u32, left: u32) -> Detection {
        Detection { class, confidence_thousandths, bounds: [left, 0, left + 10, 10] }
    }

    fn expected(detections: Vec<Detection>) -> Expected {
        Expected { detections, confidence_tolerance: 2, box_tolerance: 1 }
    }

    #[test]
    fn what_is_wrong_is_said_in_words() {
        let wanted = expected(vec![detection(0, 800, 0), detection(0, 799, 50), detection(5, 500, 100)]);
        let cases = [
            (vec![detection(0, 800, 0), detection(0, 799, 50), detection(5, 500, 100)], vec![]),
            // Within the tolerances, and the first two swapped.
            (vec![detection(0, 801, 51), detection(0, 798, 1), detection(5, 498, 99)], vec![]),
            (
                vec![detection(0, 800, 0), detection(0, 799, 50)],
                vec!["missing: bus 0.500 at [100, 0, 110, 10]"],
            ),
            (
                vec![detection(0, 800, 0), detection(0, 799, 50), detection(7, 500, 100)],
                vec![
                    "missing: bus 0.500 at [100, 0, 110, 10]",
                    "unexpected: truck 0.500 at [100, 0, 110, 10]",
                ],
            ),
            (
                vec![detection(0, 803, 0), detection(0, 799, 50), detection(5, 500, 102)],
                vec![
                    "expected person 0.800 at [0, 0, 10, 10], found person 0.803 at [0, 0, 10, 10] \
                     (tolerance 0.002 and 1 px)",
                    "expected bus 0.500 at [100, 0, 110, 10], found bus 0.500 at [102, 0, 112, 10] \
                     (tolerance 0.002 and 1 px)",
                ],
            ),
            // The one that is missing does not take its neighbour's box.
            (
                vec![detection(0, 799, 50), detection(5, 500, 100)],
                vec!["missing: person 0.800 at [0, 0, 10, 10]"],
            ),
        ];
        for (found, wrong) in cases {
            assert_eq!(differences(&wanted, &found), wrong, "{found:?}");
        }
    }

    prop_compose! {
        fn any_detection()(class in 0u32..3, confidence in 0u32..1000, left in 0u32..100) -> Detection {
            detection(class, confidence, left)
        }
    }

    proptest! {
        #[test]
        fn the_same_detections_never_differ_and_one_fewer_always_does(
            detections in proptest::collection::vec(any_detection(), 1..20), gone in any::<proptest::sample::Index>()
        ) {
            let wanted = expected(detections.clone());
            prop_assert!(differences(&wanted, &detections).is_empty());
            let mut fewer = detections;
            fewer.remove(gone.index(fewer.len()));
            prop_assert!(!differences(&wanted, &fewer).is_empty());
        }
    }
}
