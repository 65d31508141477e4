//! The image of a workload, for whoever shows what was seen in it.

use std::{fs, io::Cursor};

use anyhow::{Context, Result};
use image::{ImageFormat, ImageReader};

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
        let (width, height) = ImageReader::new(Cursor::new(&bytes))
            .with_guessed_format()
            .with_context(|| format!("failed to read {path}"))?
            .into_dimensions()
            .map_err(|error| refused(&error.to_string()))?;
        Ok(Self { bytes, media_type, width, height })
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

    #[test]
    fn what_is_no_image_is_refused() {
        for bytes in [b"text".as_slice(), b"\x89PNG\r\n\x1a\ncut"] {
            let (_folder, part) = part(bytes);
            let error = Picture::read(&part).unwrap_err();
            assert!(error.is::<mthp_kernel::BadInput>(), "{error}");
        }
    }
}
