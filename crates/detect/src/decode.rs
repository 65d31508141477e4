//! From the network's output to detections.

use anyhow::{Context, Result, bail, ensure};
use mthp_record::workload::{Decode, Detection};

use crate::Letterbox;

/// The columns before the classes: centre x, centre y, width, height in pixels of the input; objectness.
const BEFORE_CLASSES: usize = 5;
/// The most candidates of an image that are compared with each other: YOLOv5's `max_nms`.
const MAX_CANDIDATES: usize = 30_000;
/// The most detections of an image: YOLOv5's `max_det`.
const MAX_DETECTIONS: usize = 1000;

/// Reads the network's output of `shape` as `how` says: the detections of each image of the batch, the most confident
/// first. Nothing comes of [`Decode::None`].
///
/// A row whose numbers are not finite is no detection.
///
/// # Errors
/// When `shape` cannot be, or does not fit the output.
pub fn decode(output: &[f32], shape: &[i64], fit: &Letterbox, how: Decode) -> Result<Vec<Vec<Detection>>> {
    let Decode::Yolov5 { confidence_thousandths, overlap_thousandths } = how else { return Ok(Vec::new()) };
    let (rows, columns) = rows_and_columns(shape, output.len())
        .with_context(|| format!("failed to decode an output of the shape {shape:?}"))?;
    let least = f64::from(confidence_thousandths) / 1000.0;
    let most_overlap = f64::from(overlap_thousandths) / 1000.0;
    let images = output.chunks_exact(rows * columns);
    Ok(images
        .map(|image| {
            let candidates =
                image.chunks_exact(columns).filter_map(|row| Candidate::of(row, least)).collect();
            strongest(candidates, most_overlap).iter().map(|candidate| candidate.detection(fit)).collect()
        })
        .collect())
}

fn rows_and_columns(shape: &[i64], length: usize) -> Result<(usize, usize)> {
    let &[batch, rows, columns] = shape else { bail!("it has not 3 dimensions") };
    let positive = |dimension: i64| usize::try_from(dimension).ok().filter(|dimension| *dimension > 0);
    let (Some(batch), Some(rows), Some(columns)) = (positive(batch), positive(rows), positive(columns))
    else {
        bail!("a dimension is not positive")
    };
    ensure!(columns > BEFORE_CLASSES, "it has no column for a class");
    let product = rows.checked_mul(columns).and_then(|image| image.checked_mul(batch));
    ensure!(product == Some(length), "there are {length} numbers");
    Ok((rows, columns))
}

/// A row that may become a detection.
#[derive(Clone, Debug, PartialEq)]
struct Candidate {
    class: usize,
    confidence: f64,
    /// Left, top, right, bottom in pixels of the input.
    bounds: [f64; 4],
}

impl Candidate {
    fn of(row: &[f32], least: f64) -> Option<Self> {
        let (head, classes) = row.split_at_checked(BEFORE_CLASSES)?;
        let &[x, y, width, height, objectness] = head else { return None };
        let [x, y, width, height, objectness] = [x, y, width, height, objectness].map(f64::from);
        if !(objectness > least && row.iter().all(|number| number.is_finite())) {
            return None;
        }
        // Of equal scores the first wins, as `max` in PyTorch.
        let (class, score) =
            classes.iter().enumerate().max_by(|(i, a), (j, b)| a.total_cmp(b).then_with(|| j.cmp(i)))?;
        let confidence = objectness * f64::from(*score);
        let bounds = [x - width / 2.0, y - height / 2.0, x + width / 2.0, y + height / 2.0];
        (confidence > least).then_some(Self { class, confidence, bounds })
    }

    /// The share of their union that two boxes have in common; 0 where there is none.
    fn overlap(&self, other: &Self) -> f64 {
        let area = |[left, top, right, bottom]: [f64; 4]| (right - left).max(0.0) * (bottom - top).max(0.0);
        let (a, b) = (self.bounds, other.bounds);
        let common = area([a[0].max(b[0]), a[1].max(b[1]), a[2].min(b[2]), a[3].min(b[3])]);
        let union = area(a) + area(b) - common;
        if union > 0.0 { common / union } else { 0.0 }
    }

    fn detection(&self, fit: &Letterbox) -> Detection {
        let [left, top, right, bottom] = self.bounds;
        let (from, to) = (fit.to_image([left, top]), fit.to_image([right, bottom]));
        let [width, height] = fit.image();
        let pixel = |place: f64, most: u32| place.round().clamp(0.0, f64::from(most)) as u32;
        Detection {
            class: u32::try_from(self.class).unwrap_or(u32::MAX),
            confidence_thousandths: (self.confidence * 1000.0).round() as u32,
            bounds: [
                pixel(from[0], width),
                pixel(from[1], height),
                pixel(to[0], width),
                pixel(to[1], height),
            ],
        }
    }
}

/// Non-maximum suppression: of boxes of one class that overlap by more than `most_overlap` only the most confident
/// stays. The most confident first.
fn strongest(mut candidates: Vec<Candidate>, most_overlap: f64) -> Vec<Candidate> {
    candidates.sort_by(|a, b| b.confidence.total_cmp(&a.confidence));
    candidates.truncate(MAX_CANDIDATES);
    let mut kept: Vec<Candidate> = Vec::new();
    for candidate in candidates {
        let hidden = kept.iter().any(|k| k.class == candidate.class && k.overlap(&candidate) > most_overlap);
        if !hidden {
            kept.push(candidate);
        }
        if kept.len() == MAX_DETECTIONS {
            break;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const HOW: Decode = Decode::Yolov5 { confidence_thousandths: 250, overlap_thousandths: 450 };

    fn fit() -> Letterbox {
        Letterbox::new([200, 100], [100, 100]).unwrap()
    }

    #[test]
    fn a_row_becomes_a_detection_in_the_image_as_it_was_given() {
        let output = [50.0, 50.0, 20.0, 10.0, 0.9, 0.1, 0.8];
        let found = decode(&output, &[1, 1, 7], &fit(), HOW).unwrap();
        let expected = Detection { class: 1, confidence_thousandths: 720, bounds: [80, 40, 120, 60] };
        assert_eq!(found, [[expected]]);
    }

    #[test]
    fn a_box_is_clipped_to_the_image() {
        let output = [0.0, 0.0, 500.0, 500.0, 1.0, 1.0];
        let found = decode(&output, &[1, 1, 6], &fit(), HOW).unwrap();
        assert_eq!(found[0][0].bounds, [0, 0, 200, 100]);
    }

    #[test]
    fn each_image_of_the_batch_has_its_own_list_and_the_weaker_of_two_boxes_goes() {
        let row = |x: f32, confidence: f32, classes: [f32; 2]| {
            [x, 50.0, 20.0, 20.0, confidence, classes[0], classes[1]]
        };
        let output = [
            row(50.0, 0.5, [1.0, 0.0]),
            row(51.0, 0.9, [1.0, 0.0]),
            row(50.0, 0.4, [0.0, 1.0]),
            row(50.0, 0.2, [1.0, 0.0]),
            row(20.0, 0.6, [1.0, 0.0]),
            row(50.0, f32::NAN, [1.0, 0.0]),
        ]
        .concat();
        let found = decode(&output, &[2, 3, 7], &fit(), HOW).unwrap();
        let short = |list: &Vec<Detection>| {
            list.iter().map(|d| (d.class, d.confidence_thousandths)).collect::<Vec<_>>()
        };
        assert_eq!(found.iter().map(short).collect::<Vec<_>>(), [vec![(0, 900), (1, 400)], vec![(0, 600)]]);
    }

    #[test]
    fn an_undecoded_output_gives_nothing() {
        assert!(decode(&[], &[], &fit(), Decode::None).unwrap().is_empty());
    }

    #[test]
    fn a_shape_that_cannot_be_is_an_error() {
        let cases: [(&[i64], usize); 8] = [
            (&[], 1),
            (&[1, 6], 6),
            (&[1, 1, 1, 6], 6),
            (&[1, 1, 5], 5),
            (&[1, 0, 6], 0),
            (&[-1, 1, 6], 6),
            (&[1, 1, 6], 7),
            (&[i64::MAX, i64::MAX, i64::MAX], 6),
        ];
        for (shape, length) in cases {
            let error = decode(&vec![0.0; length], shape, &fit(), HOW).unwrap_err();
            assert!(error.to_string().contains("failed to decode an output"), "{error:#}");
        }
    }

    #[test]
    fn numbers_that_are_none_are_no_detections() {
        for bad in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            for column in 0..7 {
                let mut output = [50.0, 50.0, 20.0, 10.0, 0.9, 0.1, 0.8];
                output[column] = bad;
                assert_eq!(decode(&output, &[1, 1, 7], &fit(), HOW).unwrap(), [vec![]], "{bad} in {column}");
            }
        }
    }

    prop_compose! {
        fn candidate()(class in 0usize..3, confidence in 0.0..1.0, x in 0.0..50.0, y in 0.0..50.0,
                       width in 0.0..40.0, height in 0.0..40.0) -> Candidate {
            Candidate { class, confidence, bounds: [x, y, x + width, y + height] }
        }
    }

    proptest! {
        #[test]
        fn suppression_keeps_no_two_that_overlap_and_drops_none_without_a_stronger_one(
            candidates in proptest::collection::vec(candidate(), 0..40), most in 0.05..0.95
        ) {
            let kept = strongest(candidates.clone(), most);
            prop_assert!(kept.is_sorted_by(|a, b| a.confidence >= b.confidence));
            for (index, a) in kept.iter().enumerate() {
                prop_assert!(candidates.contains(a));
                for b in &kept[index + 1..] {
                    prop_assert!(a.class != b.class || a.overlap(b) <= most);
                }
            }
            for dropped in candidates.iter().filter(|candidate| !kept.contains(candidate)) {
                prop_assert!(kept.iter().any(|stronger| stronger.class == dropped.class
                    && stronger.confidence >= dropped.confidence
                    && stronger.overlap(dropped) > most));
            }
        }

        #[test]
        fn no_output_makes_it_panic(output in proptest::collection::vec(any::<f32>(), 0..100),
                                    shape in proptest::collection::vec(-2i64..20, 0..5)) {
            let _ = decode(&output, &shape, &fit(), HOW);
        }

        #[test]
        fn detections_lie_in_the_image_whatever_the_numbers(
            output in proptest::collection::vec(any::<f32>(), 70), rows in prop_oneof![Just(10), Just(7), Just(5)]
        ) {
            let found = decode(&output, &[1, rows, 70 / rows], &fit(), HOW).unwrap();
            for detection in found.iter().flatten() {
                let [left, top, right, bottom] = detection.bounds;
                prop_assert!(left <= 200 && right <= 200 && top <= 100 && bottom <= 100);
            }
        }
    }
}
