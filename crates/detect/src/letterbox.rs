//! From an image of any shape to a tensor of the network's.

use anyhow::{Result, ensure};

use crate::Rgb;

/// The grey of the border, as in YOLOv5's `letterbox`.
const BORDER: f64 = 114.0;

/// How an image lies in the network's input: as large as fits, in the middle, grey around it.
///
/// YOLOv5's `letterbox(auto=False)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Letterbox {
    /// Width and height of the image.
    image: [u32; 2],
    /// Width and height of the input.
    input: [u32; 2],
    /// Width and height of the image in the input.
    scaled: [u32; 2],
    /// Pixels of the input for a pixel of the image.
    gain: f64,
}

impl Letterbox {
    /// Fits an image into an input; both are width and height in pixels.
    ///
    /// # Errors
    /// When one of them has no pixel.
    pub fn new(image: [u32; 2], input: [u32; 2]) -> Result<Self> {
        ensure!(!image.contains(&0), "failed to fit an image of {}x{}: it has no pixel", image[0], image[1]);
        ensure!(
            !input.contains(&0),
            "failed to fit an image into {}x{}: it has no pixel",
            input[0],
            input[1]
        );
        let gain = (f64::from(input[0]) / f64::from(image[0])).min(f64::from(input[1]) / f64::from(image[1]));
        let scaled = [0, 1].map(|axis| {
            // Python's `round` takes halves to the even number.
            let length = (f64::from(image[axis]) * gain).round_ties_even() as u32;
            length.clamp(1, input[axis])
        });
        Ok(Self { image, input, scaled, gain })
    }

    /// Writes the image into `tensor`: `[batch, 3, height, width]`, red, green and blue from 0 to 1. Each image of the
    /// batch is the same.
    ///
    /// # Errors
    /// When the image is of another size than the one that was fitted, or `tensor` is no whole batch.
    pub fn fill(&self, image: &Rgb, tensor: &mut [f32]) -> Result<()> {
        let [width, height] = self.input.map(|length| length as usize);
        let plane = width * height;
        ensure!(
            [image.width(), image.height()] == self.image,
            "failed to fit an image: it is of another size"
        );
        ensure!(
            !tensor.is_empty() && tensor.len().is_multiple_of(3 * plane),
            "failed to fit an image into a tensor of {} numbers: {width}x{height} needs {} an image",
            tensor.len(),
            3 * plane
        );
        let (first, others) = tensor.split_at_mut(3 * plane);
        first.fill(unit(BORDER));

        let [left, top] = self.border();
        let columns = samples(self.image[0], self.scaled[0]);
        let rows = samples(self.image[1], self.scaled[1]);
        for (y, row) in rows.iter().enumerate() {
            for (x, column) in columns.iter().enumerate() {
                for channel in 0..3 {
                    first[channel * plane + (top + y) * width + left + x] =
                        unit(interpolate(image, row, column, channel));
                }
            }
        }
        for other in others.chunks_exact_mut(3 * plane) {
            other.copy_from_slice(first);
        }
        Ok(())
    }

    /// Where a point of the input, `[x, y]`, lies in the image, which it may be outside of.
    ///
    /// YOLOv5's `scale_coords`, whose border is not rounded.
    #[must_use]
    pub fn to_image(&self, point: [f64; 2]) -> [f64; 2] {
        [0, 1].map(|axis| {
            let border = (f64::from(self.input[axis]) - f64::from(self.image[axis]) * self.gain) / 2.0;
            (point[axis] - border) / self.gain
        })
    }

    /// Width and height of the image that was fitted.
    #[must_use]
    pub fn image(&self) -> [u32; 2] {
        self.image
    }

    /// The columns left of the image and the rows above it; an odd one more goes right and below.
    fn border(&self) -> [usize; 2] {
        [0, 1].map(|axis| ((self.input[axis] - self.scaled[axis]) / 2) as usize)
    }
}

/// A place between two neighbours of a row or column.
struct Sample {
    first: usize,
    second: usize,
    /// The share of the second.
    share: f64,
}

/// Where each of `to` pixels lies among `from` pixels: centres on centres, as OpenCV's `INTER_LINEAR`.
fn samples(from: u32, to: u32) -> Vec<Sample> {
    let step = f64::from(from) / f64::from(to);
    let last = f64::from(from - 1);
    (0..to)
        .map(|index| {
            let place = ((f64::from(index) + 0.5) * step - 0.5).clamp(0.0, last);
            let first = place.floor();
            Sample { first: first as usize, second: place.ceil() as usize, share: place - first }
        })
        .collect()
}

/// The value between four pixels, 0 to 255, not rounded.
fn interpolate(image: &Rgb, row: &Sample, column: &Sample, channel: usize) -> f64 {
    let stride = image.width() as usize;
    let pixel = |y: usize, x: usize| f64::from(image.bytes()[(y * stride + x) * 3 + channel]);
    let line = |y: usize| {
        let (first, second) = (pixel(y, column.first), pixel(y, column.second));
        first + (second - first) * column.share
    };
    let (first, second) = (line(row.first), line(row.second));
    first + (second - first) * row.share
}

fn unit(value: f64) -> f32 {
    (value / 255.0) as f32
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_image_is_as_large_as_fits_and_in_the_middle() {
        // Image, input, the image in the input, its left and upper border.
        let cases = [
            ([810, 1080], [640, 640], [480, 640], [80, 0]),
            ([810, 1080], [320, 320], [240, 320], [40, 0]),
            ([810, 1080], [160, 160], [120, 160], [20, 0]),
            ([100, 50], [640, 320], [640, 320], [0, 0]),
            ([100, 33], [64, 64], [64, 21], [0, 21]),
            ([1, 10000], [32, 32], [1, 32], [15, 0]),
        ];
        for (image, input, scaled, border) in cases {
            let fit = Letterbox::new(image, input).unwrap();
            assert_eq!((fit.scaled, fit.border()), (scaled, border), "{image:?} in {input:?}");
        }
    }

    #[test]
    fn no_pixels_are_an_error() {
        assert!(Letterbox::new([0, 1], [1, 1]).is_err());
        assert!(Letterbox::new([1, 1], [1, 0]).is_err());
    }

    fn filled(image: &Rgb, input: [u32; 2], batch: usize) -> Vec<u8> {
        let mut tensor = vec![f32::NAN; batch * 3 * (input[0] * input[1]) as usize];
        Letterbox::new([image.width(), image.height()], input).unwrap().fill(image, &mut tensor).unwrap();
        tensor.iter().map(|value| (value * 255.0).round() as u8).collect()
    }

    #[test]
    fn an_image_of_the_inputs_size_is_only_taken_apart() {
        let image = Rgb::new(2, 1, vec![1, 2, 3, 4, 5, 6]).unwrap();
        assert_eq!(filled(&image, [2, 1], 2), [1, 4, 2, 5, 3, 6, 1, 4, 2, 5, 3, 6]);
    }

    #[test]
    fn scaling_is_between_the_centres_and_the_border_is_grey() {
        let image = Rgb::new(2, 1, vec![0, 0, 0, 100, 100, 100]).unwrap();
        let line = [0, 25, 75, 100];
        let plane = [[114; 4], line, line, [114; 4]].concat();
        assert_eq!(filled(&image, [4, 4], 1), [plane.clone(), plane.clone(), plane].concat());
    }

    #[test]
    fn a_tensor_of_another_size_is_an_error() {
        let image = Rgb::new(2, 1, vec![0; 6]).unwrap();
        let fit = Letterbox::new([2, 1], [2, 2]).unwrap();
        for length in [0, 11, 13] {
            assert!(fit.fill(&image, &mut vec![0.0; length]).is_err(), "{length}");
        }
        let other = Rgb::new(1, 2, vec![0; 6]).unwrap();
        assert!(fit.fill(&other, &mut [0.0; 12]).is_err());
    }

    proptest! {
        #[test]
        fn a_corner_of_the_input_is_a_corner_of_the_image(
            image in [1u32..5000, 1u32..5000], input in [1u32..2000, 1u32..2000]
        ) {
            let fit = Letterbox::new(image, input).unwrap();
            for axis in 0..2 {
                prop_assert!(fit.scaled[axis] <= input[axis]);
                // There and back: where the image's edge lies in the input leads to the image's edge.
                let border = (f64::from(input[axis]) - f64::from(image[axis]) * fit.gain) / 2.0;
                for edge in [0.0, f64::from(image[axis])] {
                    let back = fit.to_image([border + edge * fit.gain; 2])[axis];
                    prop_assert!((back - edge).abs() < 1e-6 * (1.0 + edge));
                }
            }
            // It touches the input on one axis.
            prop_assert!((0..2).any(|axis| fit.scaled[axis] == input[axis]));
        }

        #[test]
        fn a_plain_image_stays_plain(
            image in [1u32..40, 1u32..40], input in [1u32..40, 1u32..40], colour in any::<u8>()
        ) {
            let pixels = vec![colour; (image[0] * image[1] * 3) as usize];
            let tensor = filled(&Rgb::new(image[0], image[1], pixels).unwrap(), input, 1);
            prop_assert!(tensor.iter().all(|value| *value == colour || f64::from(*value) == BORDER));
            prop_assert!(tensor.contains(&colour));
        }
    }
}
