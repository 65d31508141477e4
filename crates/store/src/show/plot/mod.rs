//! A check or metric over revisions as a picture.

mod draw;
mod model;

use std::{io::Cursor, path::Path};

use anyhow::{Context, Result, anyhow};
use image::{ImageFormat, RgbImage};
use plotters::{
    backend::{BitMapBackend, SVGBackend},
    drawing::IntoDrawingArea,
};

use crate::history::Track;

/// The most tracks in one picture; more than that nobody reads.
pub const MOST: usize = 8;

/// The kind of a picture's file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Picture {
    /// Scalable Vector Graphics.
    Svg,
    /// Portable Network Graphics.
    Png,
}

impl Picture {
    /// The kind that a file's name asks for by its ending.
    #[must_use]
    pub fn of(path: &Path) -> Option<Self> {
        let ending = path.extension()?.to_str()?;
        match ending.to_ascii_lowercase().as_str() {
            "svg" => Some(Self::Svg),
            "png" => Some(Self::Png),
            _ => None,
        }
    }
}

/// Draws the newest `limit` runs of every track, a panel each, one below the other. Needs no font of the machine.
///
/// # Errors
/// When the picture cannot be drawn.
pub fn render(tracks: &[Track], limit: usize, picture: Picture) -> Result<Vec<u8>> {
    let panels: Vec<_> = tracks.iter().map(|track| model::panel(track, limit)).collect();
    draw::register_font()?;
    let (width, height) = draw::size(&panels);
    match picture {
        Picture::Svg => {
            let mut text = String::new();
            let area = SVGBackend::with_string(&mut text, (width, height)).into_drawing_area();
            draw::draw(&area, &panels)?;
            drop(area);
            Ok(text.into_bytes())
        }
        Picture::Png => {
            let mut image = RgbImage::new(width, height);
            let area = BitMapBackend::with_buffer(&mut image, (width, height)).into_drawing_area();
            draw::draw(&area, &panels)?;
            drop(area);
            let mut bytes = Cursor::new(Vec::new());
            image.write_to(&mut bytes, ImageFormat::Png).context("failed to write a plot as PNG")?;
            Ok(bytes.into_inner())
        }
    }
}

/// An error of the drawing library, which borrows what it drew on.
fn drawing(error: impl std::fmt::Display) -> anyhow::Error {
    anyhow!("failed to draw a plot: {error}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        history::{Kind, Measured},
        sample::{self, metric},
    };

    fn sampled() -> Vec<Track> {
        let check = |passed, failed| Some(Measured::Check { passed, failed });
        let mut checks =
            sample::track(&[check(2, 0), check(2, 0), None, check(1, 1), check(0, 2), check(2, 0)]);
        checks.measures = Kind::Check;
        checks.name.name = "neighbours-merge".to_owned();
        checks.series.host = "a<b>&\x1b".to_owned();
        let mut values = vec![metric(0, 0); 6];
        values.extend([metric(1512, 1512), metric(1512, 1512), None, metric(1512, 1512), metric(900, 1100)]);
        values.extend([metric(950, 1000), metric(0, 0), metric(0, 0)]);
        vec![sample::track(&values), checks]
    }

    #[test]
    fn the_ending_says_which_picture() {
        for (path, picture) in
            [("a.svg", Some(Picture::Svg)), ("b/a.PNG", Some(Picture::Png)), ("a.pdf", None), ("png", None)]
        {
            assert_eq!(Picture::of(Path::new(path)), picture, "{path}");
        }
    }

    #[test]
    fn a_plot_as_svg() {
        let svg = String::from_utf8(render(&sampled(), usize::MAX, Picture::Svg).unwrap()).unwrap();
        assert!(svg.contains("a&lt;b&gt;&amp;\u{fffd}"), "text is escaped");
        insta::assert_snapshot!(svg);
    }

    #[test]
    fn a_plot_as_png_has_text_without_fonts_of_the_machine() {
        let png = render(&sampled(), usize::MAX, Picture::Png).unwrap();
        let image = image::load_from_memory(&png).unwrap().into_rgb8();
        let title = image.enumerate_pixels().filter(|(_, y, _)| *y < 24);
        let inked = title.filter(|(_, _, pixel)| pixel.0.iter().all(|shade| *shade < 100)).count();
        assert!(inked > 100, "{inked} dark pixels where the title is");
    }

    #[test]
    fn extreme_and_missing_values_can_be_drawn() {
        for values in [
            vec![metric(i64::MIN, i64::MAX), metric(0, 0)],
            vec![metric(i64::MAX, i64::MAX), metric(i64::MIN, i64::MIN)],
            vec![metric(5, 5)],
            vec![None, None],
            vec![],
        ] {
            render(&[sample::track(&values)], usize::MAX, Picture::Svg).unwrap();
        }
    }
}
