//! The image of a workload, for whoever shows what was seen in it.

use std::{fs, io::Cursor};

use anyhow::{Context, Result};
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, metadata::Orientation};

use crate::{Part, bad_input};

/// An image as it was given: boxes of detections are in its pixels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The file.
    pub bytes: Vec<u8>,
    /// Its media type, `image/jpeg` or `image/png`.
    pub media_type: &'static str,
    /// Its width in pixels.
    pub width: u32,
    /// Its height in pixels.
    pub height: u32,
}

impl Picture {
    /// Reads an image.
    ///
    /// # Errors
    /// [`BadInput`](mthp_kernel::BadInput) when it is neither JPEG nor PNG; and when it cannot be read.
    pub fn read(image: &Part) -> Result<Self> {
        let path = image.path.display();
        let bytes = fs::read(&image.path).with_context(|| format!("failed to read {path}"))?;
        let refused = |why: &str| bad_input(format!("failed to use {path} as an image: {why}"));
        let media_type = match image::guess_format(&bytes) {
            Ok(ImageFormat::Jpeg) => "image/jpeg",
            Ok(ImageFormat::Png) => "image/png",
            _ => return Err(refused("it is neither JPEG nor PNG")),
        };
        let mut decoder = ImageReader::new(Cursor::new(&bytes))
            .with_guessed_format()
            .with_context(|| format!("failed to read {path}"))?
            .into_decoder()
            .map_err(|error| refused(&error.to_string()))?;
        let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
        if orientation == Orientation::NoTransforms {
            let (width, height) = decoder.dimensions();
            drop(decoder);
            return Ok(Self { bytes, media_type, width, height });
        }
        // A camera held upright says so beside the pixels. Detections are in the pixels as they are to be seen, and
        // not every viewer turns an image within an SVG.
        let mut turned = DynamicImage::from_decoder(decoder).map_err(|error| refused(&error.to_string()))?;
        turned.apply_orientation(orientation);
        let mut png = Cursor::new(Vec::new());
        turned.to_rgb8().write_to(&mut png, ImageFormat::Png).map_err(|error| refused(&error.to_string()))?;
        Ok(Self {
            width: turned.width(),
            height: turned.height(),
            bytes: png.into_inner(),
            media_type: "image/png",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(bytes: &[u8]) -> (tempfile::TempDir, Part) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("image");
        fs::write(&path, bytes).unwrap();
        (folder, Part { name: "image".into(), path, sha256: String::new() })
    }

    #[test]
    fn an_image_has_a_type_and_a_size() {
        let mut png = Cursor::new(Vec::new());
        image::RgbImage::new(7, 5).write_to(&mut png, ImageFormat::Png).unwrap();
        let (_folder, part) = part(png.get_ref());
        let picture = Picture::read(&part).unwrap();
        assert_eq!((picture.media_type, picture.width, picture.height), ("image/png", 7, 5));
    }

    /// A JPEG of 16 by 8 pixels that says it must be turned by a quarter (orientation 6).
    fn upright() -> Vec<u8> {
        let mut jpeg = Cursor::new(Vec::new());
        image::RgbImage::new(16, 8).write_to(&mut jpeg, ImageFormat::Jpeg).unwrap();
        let exif: &[u8] = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
        let (start, rest) = jpeg.get_ref().split_at(2);
        [start, &[0xff, 0xe1], &length, exif, rest].concat()
    }

    #[test]
    fn a_photo_that_lies_on_its_side_is_turned() {
        let (_folder, part) = part(&upright());
        let picture = Picture::read(&part).unwrap();
        assert_eq!((picture.media_type, picture.width, picture.height), ("image/png", 8, 16));
    }

    #[test]
    fn what_is_no_image_is_refused() {
        for bytes in [b"text".as_slice(), b"\x89PNG\r\n\x1a\ncut"] {
            let (_folder, part) = part(bytes);
            let error = Picture::read(&part).unwrap_err();
            assert!(error.is::<mthp_kernel::BadInput>(), "{error}");
        }
    }
}
