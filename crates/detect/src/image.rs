//! From a JPEG or PNG file to pixels.

use std::io::Cursor;

use anyhow::{Context, Result, bail, ensure};
use image::{DynamicImage, ImageDecoder, ImageFormat, codecs::jpeg::JpegDecoder, codecs::png::PngDecoder};

/// The most pixels that an image may have.
pub const MAX_PIXELS: u64 = 64 << 20;

/// The first bytes of a JPEG file.
pub(crate) const JPEG: [u8; 3] = [0xff, 0xd8, 0xff];
/// The first bytes of a PNG file.
pub(crate) const PNG: [u8; 8] = *b"\x89PNG\r\n\x1a\n";
/// The marker that ends a JPEG file.
const END_OF_JPEG: [u8; 2] = [0xff, 0xd9];

/// An image in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rgb {
    width: u32,
    height: u32,
    bytes: Vec<u8>,
}

impl Rgb {
    /// An image of `width` times `height` pixels, three bytes each, row by row from the top.
    ///
    /// # Errors
    /// When it has no pixel, more than [`MAX_PIXELS`], or not as many bytes as its pixels need.
    pub fn new(width: u32, height: u32, bytes: Vec<u8>) -> Result<Self> {
        check_size(width, height)?;
        let needed = u64::from(width) * u64::from(height) * 3;
        ensure!(
            u64::try_from(bytes.len()) == Ok(needed),
            "an image of {width}x{height} needs {needed} bytes, not {}",
            bytes.len()
        );
        Ok(Self { width, height, bytes })
    }

    /// Its width in pixels, at least 1.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Its height in pixels, at least 1.
    #[must_use]
    pub fn height(&self) -> u32 {
        self.height
    }

    /// Red, green and blue of each pixel, row by row from the top.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// Decodes a JPEG or PNG file, turned as its EXIF data say.
///
/// # Errors
/// When it is neither, is damaged or truncated, or has more than [`MAX_PIXELS`].
pub fn open_image(bytes: &[u8]) -> Result<Rgb> {
    if bytes.starts_with(&JPEG) {
        // The decoder fills up a truncated file with grey and calls it whole.
        let padding = bytes.iter().rev().take_while(|byte| **byte == 0).count();
        let whole = bytes[..bytes.len() - padding].ends_with(&END_OF_JPEG);
        ensure!(whole, "failed to decode a JPEG image: it is truncated");
        pixels(JpegDecoder::new(Cursor::new(bytes)), ImageFormat::Jpeg)
    } else if bytes.starts_with(&PNG) {
        pixels(PngDecoder::new(Cursor::new(bytes)), ImageFormat::Png)
    } else {
        bail!("failed to decode an image: it is neither JPEG nor PNG")
    }
}

fn pixels(decoder: image::ImageResult<impl ImageDecoder>, format: ImageFormat) -> Result<Rgb> {
    let context =
        || format!("failed to decode a {format:?} image").replace("Jpeg", "JPEG").replace("Png", "PNG");
    let mut decoder = decoder.with_context(context)?;
    let (width, height) = decoder.dimensions();
    check_size(width, height).with_context(context)?;
    let orientation = decoder.orientation().with_context(context)?;
    let mut image = DynamicImage::from_decoder(decoder).with_context(context)?;
    image.apply_orientation(orientation);
    let image = image.into_rgb8();
    Rgb::new(image.width(), image.height(), image.into_raw())
}

fn check_size(width: u32, height: u32) -> Result<()> {
    let pixels = u64::from(width) * u64::from(height);
    ensure!(pixels > 0, "an image of {width}x{height} has no pixel");
    ensure!(pixels <= MAX_PIXELS, "an image of {width}x{height} has more than {MAX_PIXELS} pixels");
    Ok(())
}

#[cfg(test)]
mod tests {
    use image::{ExtendedColorType, ImageEncoder, codecs::jpeg::JpegEncoder, codecs::png::PngEncoder};
    use proptest::prelude::*;

    use super::*;

    fn noise(length: usize) -> Vec<u8> {
        (0..length).map(|index| (index * 37 % 251) as u8).collect()
    }

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut file = Vec::new();
        let bytes = noise((width * height * 3) as usize);
        PngEncoder::new(&mut file).write_image(&bytes, width, height, ExtendedColorType::Rgb8).unwrap();
        file
    }

    fn jpeg(width: u32, height: u32) -> Vec<u8> {
        let mut file = Vec::new();
        let bytes = noise((width * height * 3) as usize);
        JpegEncoder::new(&mut file).write_image(&bytes, width, height, ExtendedColorType::Rgb8).unwrap();
        file
    }

    #[test]
    fn a_png_is_decoded_exactly() {
        let image = open_image(&png(5, 3)).unwrap();
        assert_eq!(image, Rgb::new(5, 3, noise(45)).unwrap());
    }

    #[test]
    fn a_jpeg_is_decoded_to_its_size() {
        let image = open_image(&jpeg(17, 9)).unwrap();
        assert_eq!((image.width(), image.height(), image.bytes().len()), (17, 9, 17 * 9 * 3));
    }

    #[test]
    fn a_truncated_file_is_an_error_wherever_it_ends() {
        for file in [png(16, 16), jpeg(16, 16)] {
            // A PNG's pixels are whole without its last chunk, which is 12 bytes.
            for end in 0..file.len() - 12 {
                assert!(open_image(&file[..end]).is_err(), "{end} of {} bytes", file.len());
            }
        }
    }

    #[test]
    fn an_image_of_too_many_pixels_is_refused_before_it_is_decoded() {
        let mut file = png(1, 1);
        // The header's width and height, and its checksum.
        file[16..24].copy_from_slice(&[0, 0, 0x40, 0, 0, 0, 0x10, 1]);
        let mut table = crc32(&file[12..29]);
        table.reverse();
        file[29..33].copy_from_slice(&table);
        let error = format!("{:#}", open_image(&file).unwrap_err());
        assert!(error.contains("16384x4097 has more than"), "{error}");
    }

    /// PNG's checksum, little endian.
    fn crc32(bytes: &[u8]) -> [u8; 4] {
        let mut crc = u32::MAX;
        for byte in bytes {
            crc ^= u32::from(*byte);
            for _ in 0..8 {
                crc = (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg());
            }
        }
        (!crc).to_le_bytes()
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(start in prop_oneof![Just(JPEG.to_vec()), Just(PNG.to_vec()), Just(vec![])],
                                  rest in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = open_image(&[start, rest].concat());
        }

        #[test]
        fn a_damaged_file_does_not_make_it_panic(at in 0usize..600, byte in any::<u8>()) {
            for mut file in [png(16, 16), jpeg(16, 16)] {
                let length = file.len();
                file[at % length] = byte;
                let _ = open_image(&file);
            }
        }
    }
}
