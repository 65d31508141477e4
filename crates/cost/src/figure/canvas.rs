//! The ground that pictures are drawn on: pixels, greys, one font.

use anyhow::{Result, anyhow};
use epaint_default_fonts::HACK_REGULAR;
use mthp_judge::text;
use plotters::{
    backend::SVGBackend,
    coord::Shift,
    drawing::{DrawingArea, IntoDrawingArea},
    element::{Circle, PathElement, Rectangle, Text},
    style::{
        Color, FontStyle, IntoFont, RGBColor, ShapeStyle, TextStyle, WHITE, register_font,
        text_anchor::{HPos, Pos, VPos},
    },
};

/// The name under which the font is known to the drawing library; a viewer takes its own.
const FONT: &str = "monospace";
/// A character's width by its size, of fonts whose characters are all alike.
const ADVANCE: f64 = 0.62;

/// The size of most text.
pub(super) const SIZE: i32 = 13;
/// The size of a title.
pub(super) const TITLE: i32 = 17;

pub(super) const BLACK: RGBColor = RGBColor(0, 0, 0);
pub(super) const GREY: RGBColor = RGBColor(90, 90, 90);
pub(super) const LIGHT: RGBColor = RGBColor(165, 165, 165);
pub(super) const FAINT: RGBColor = RGBColor(225, 225, 225);

/// A point in pixels from the upper left corner.
pub(super) type Point = (i32, i32);

/// What a picture is drawn on.
pub(super) struct Canvas<'a> {
    area: DrawingArea<SVGBackend<'a>, Shift>,
}

/// Draws a picture of that size and gives its text.
pub(super) fn svg(size: (u32, u32), draw: impl FnOnce(&Canvas<'_>) -> Result<()>) -> Result<String> {
    register_font(FONT, FontStyle::Normal, HACK_REGULAR)
        .map_err(|_| anyhow!("failed to read the font of figures"))?;
    let mut text = String::new();
    let canvas = Canvas { area: SVGBackend::with_string(&mut text, size).into_drawing_area() };
    canvas.area.fill(&WHITE).map_err(drawing)?;
    draw(&canvas)?;
    canvas.area.present().map_err(drawing)?;
    drop(canvas);
    Ok(text)
}

impl Canvas<'_> {
    /// Text that begins there.
    pub(super) fn text(&self, told: &str, at: Point, size: i32, color: RGBColor) -> Result<()> {
        self.anchored(told, at, size, color, HPos::Left)
    }

    /// Text whose middle is there.
    pub(super) fn centred(&self, told: &str, at: Point, color: RGBColor) -> Result<()> {
        self.anchored(told, at, SIZE, color, HPos::Center)
    }

    /// Text that ends there.
    pub(super) fn right(&self, told: &str, at: Point, color: RGBColor) -> Result<()> {
        self.anchored(told, at, SIZE, color, HPos::Right)
    }

    fn anchored(&self, told: &str, at: Point, size: i32, color: RGBColor, across: HPos) -> Result<()> {
        let style =
            TextStyle { color: color.to_backend_color(), ..TextStyle::from((FONT, size).into_font()) };
        let style = style.pos(Pos::new(across, VPos::Center));
        self.area.draw(&Text::new(harmless(told), at, style)).map_err(drawing)
    }

    pub(super) fn line(&self, from: Point, to: Point, width: u32, color: RGBColor) -> Result<()> {
        self.area.draw(&PathElement::new(vec![from, to], color.stroke_width(width))).map_err(drawing)
    }

    /// A filled box. The second corner is not part of it.
    pub(super) fn filled(&self, from: Point, to: Point, color: RGBColor) -> Result<()> {
        self.area.draw(&Rectangle::new([from, to], color.filled())).map_err(drawing)
    }

    /// A white disc with a black edge.
    pub(super) fn ring(&self, at: Point, radius: i32) -> Result<()> {
        let edge = ShapeStyle { color: BLACK.to_rgba(), filled: false, stroke_width: 2 };
        self.area.draw(&Circle::new(at, radius, WHITE.filled())).map_err(drawing)?;
        self.area.draw(&Circle::new(at, radius, edge)).map_err(drawing)
    }
}

/// A line that a picture may hold: XML forbids two characters besides those that control.
fn harmless(told: &str) -> String {
    text::clean(told).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}

/// The text, or as much of it as fits into so many pixels.
pub(super) fn fit(told: &str, width: i32, size: i32) -> String {
    let told = harmless(told);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a picture is small, and not negative"
    )]
    let most = (f64::from(width.max(0)) / (f64::from(size) * ADVANCE)) as usize;
    if told.chars().count() <= most {
        return told;
    }
    told.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// An error of the drawing library, which borrows what it drew on.
fn drawing<E: std::fmt::Display>(error: E) -> anyhow::Error {
    anyhow!("failed to draw a figure: {error}")
}
