//! Drawing a plot, on whatever there is to draw on.

use anyhow::{Result, anyhow};
use epaint_default_fonts::HACK_REGULAR;
use plotters::{
    chart::{ChartBuilder, ChartContext},
    coord::{Shift, cartesian::Cartesian2d, types::RangedCoordf64},
    drawing::DrawingArea,
    element::{Circle, Cross, PathElement, Polygon, Rectangle, Text},
    prelude::DrawingBackend,
    style::{
        BLACK, Color, FontStyle, IntoFont, RGBColor, TextStyle, WHITE, register_font as register,
        text_anchor::{HPos, Pos, VPos},
    },
};

use super::{
    drawing,
    model::{Column, Panel},
};

const WIDTH: u32 = 1000;
/// The height of a panel without its notes.
const PLOT: u32 = 340;
/// The height of a note.
const NOTE: u32 = 18;
/// The name under which the font is known to the drawing library; a viewer of an SVG takes its own.
const FONT: &str = "monospace";
const SIZE: i32 = 13;
const TICKS: usize = 6;
/// With fewer columns than that each has a dot.
const DOTS: usize = 80;

const LINE: RGBColor = RGBColor(40, 80, 160);
const GREY: RGBColor = RGBColor(110, 110, 110);
const BETTER: RGBColor = RGBColor(0, 120, 60);
const WORSE: RGBColor = RGBColor(190, 30, 30);

type Area<B> = DrawingArea<B, Shift>;
type Chart<'a, B> = ChartContext<'a, B, Cartesian2d<RangedCoordf64, RangedCoordf64>>;

/// Gives the drawing library its font.
pub(super) fn register_font() -> Result<()> {
    register(FONT, FontStyle::Normal, HACK_REGULAR).map_err(|_| anyhow!("failed to read the font of plots"))
}

/// The picture's width and height.
pub(super) fn size(panels: &[Panel]) -> (u32, u32) {
    (WIDTH, panels.iter().map(height).sum::<u32>().max(1))
}

fn height(panel: &Panel) -> u32 {
    PLOT + NOTE * u32::try_from(panel.notes.len() + 1).unwrap_or(1)
}

/// Draws all panels, one below the other.
pub(super) fn draw<B: DrawingBackend>(area: &Area<B>, panels: &[Panel]) -> Result<()> {
    area.fill(&WHITE).map_err(drawing)?;
    let mut rest = area.clone();
    for panel in panels {
        let (this, below) = rest.split_vertically(height(panel));
        draw_panel(&this, panel)?;
        rest = below;
    }
    area.present().map_err(drawing)
}

fn draw_panel<B: DrawingBackend>(area: &Area<B>, panel: &Panel) -> Result<()> {
    let (plot, notes) = area.split_vertically(PLOT);
    let say = |area: &Area<B>, text: &str, at: (i32, i32), size: i32, color: RGBColor| {
        area.draw(&Text::new(text.to_owned(), at, style(size, color))).map_err(drawing)
    };
    say(&plot, &panel.title, (12, 8), 17, BLACK)?;
    say(&plot, &panel.place, (12, 30), SIZE, GREY)?;
    for (note, y) in panel.notes.iter().zip((0..).step_by(18)) {
        say(&notes, note, (12, y), SIZE, BLACK)?;
    }

    let columns = panel.columns.len().max(1);
    let (low, high) = panel.bounds();
    let (low, high) = (real(low), real(high));
    let room = if low < high { high - low } else { 1.0 };
    // Room for marks above and below, and for crosses at the very bottom.
    let (bottom, top) = (low - room * 0.2, high + room * 0.2);
    let mut chart = ChartBuilder::on(&plot)
        .margin(12)
        .margin_top(52)
        .margin_right(52)
        .x_label_area_size(40)
        .y_label_area_size(90)
        .build_cartesian_2d(0.0..index(columns), bottom..top)
        .map_err(drawing)?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .disable_x_axis()
        .max_light_lines(0)
        .bold_line_style(GREY.mix(0.25))
        .axis_style(GREY)
        .y_labels(if panel.is_check { 2 } else { 6 })
        .y_label_style(style(SIZE, BLACK))
        .y_label_formatter(&|value| tick(*value, panel.is_check, low, high))
        .draw()
        .map_err(drawing)?;
    values(&mut chart, &panel.columns)?;
    let crosses = panel.columns.iter().enumerate().filter(|(_, column)| column.is_missing);
    let crosses = crosses.map(|(at, _)| Cross::new((index(at) + 0.5, bottom + room * 0.05), 4, GREY));
    chart.draw_series(crosses).map_err(drawing)?;
    marks(&plot, &chart, &panel.columns)?;
    x_axis(&plot, &chart, &panel.columns, bottom)
}

/// The ranges as a band with steps, its edges as lines: of exact values they are one.
fn values<B: DrawingBackend>(chart: &mut Chart<'_, B>, columns: &[Column]) -> Result<()> {
    let band = columns.iter().enumerate().filter_map(|(at, column)| {
        let (low, high) = column.range.filter(|(low, high)| low < high)?;
        Some(Rectangle::new([(index(at), real(low)), (index(at + 1), real(high))], LINE.mix(0.2).filled()))
    });
    chart.draw_series(band).map_err(drawing)?;
    for edge in [|(low, _): (i64, i64)| low, |(_, high): (i64, i64)| high] {
        let mut lines: Vec<Vec<(f64, f64)>> = vec![Vec::new()];
        for (at, column) in columns.iter().enumerate() {
            match (column.range, lines.last_mut()) {
                (Some(range), Some(line)) => {
                    line.extend([(index(at), real(edge(range))), (index(at + 1), real(edge(range)))]);
                }
                _ => lines.push(Vec::new()),
            }
        }
        let lines = lines.into_iter().filter(|line| !line.is_empty());
        chart.draw_series(lines.map(|line| PathElement::new(line, LINE.stroke_width(2)))).map_err(drawing)?;
    }
    if columns.len() < DOTS {
        let dots = columns.iter().enumerate().filter_map(|(at, column)| {
            let (low, high) = column.range?;
            Some([low, high].map(|value| Circle::new((index(at) + 0.5, real(value)), 3, LINE.filled())))
        });
        chart.draw_series(dots.flatten()).map_err(drawing)?;
    }
    Ok(())
}

/// A triangle that points the way at each change, with its number: above a value that rose, below one that fell.
fn marks<B: DrawingBackend>(plot: &Area<B>, chart: &Chart<'_, B>, columns: &[Column]) -> Result<()> {
    for (at, column) in columns.iter().enumerate() {
        let (Some(mark), Some((low, high))) = (column.mark, column.range) else { continue };
        let value = if mark.up { high } else { low };
        let (x, y) = pixel(plot, chart, (index(at) + 0.5, real(value)));
        let away = if mark.up { -1 } else { 1 };
        let color = match mark.better {
            Some(true) => BETTER,
            Some(false) => WORSE,
            None => BLACK,
        };
        let corners = vec![(x - 6, y + 7 * away), (x + 6, y + 7 * away), (x, y + 18 * away)];
        plot.draw(&Polygon::new(corners, color.filled())).map_err(drawing)?;
        if let Some(number) = mark.number {
            let beside = style(SIZE, color).pos(Pos::new(HPos::Left, VPos::Center));
            plot.draw(&Text::new(number.to_string(), (x + 8, y + 12 * away), beside)).map_err(drawing)?;
        }
    }
    Ok(())
}

/// Days and revisions below the plot, as many as fit.
fn x_axis<B: DrawingBackend>(
    plot: &Area<B>,
    chart: &Chart<'_, B>,
    columns: &[Column],
    bottom: f64,
) -> Result<()> {
    let last = columns.len().saturating_sub(1);
    let ticks = TICKS.min(columns.len());
    let centred = style(SIZE, BLACK).pos(Pos::new(HPos::Center, VPos::Top));
    for tick in 0..ticks {
        let at = (last * tick).checked_div(ticks - 1).unwrap_or(0);
        let (x, y) = pixel(plot, chart, (index(at) + 0.5, bottom));
        plot.draw(&PathElement::new(vec![(x, y), (x, y + 5)], GREY)).map_err(drawing)?;
        for (line, y) in columns[at].label.iter().zip([y + 7, y + 23]) {
            plot.draw(&Text::new(line.clone(), (x, y), centred.clone())).map_err(drawing)?;
        }
    }
    Ok(())
}

/// Where a point of the chart lies on the area that it is drawn on.
fn pixel<B: DrawingBackend>(plot: &Area<B>, chart: &Chart<'_, B>, at: (f64, f64)) -> (i32, i32) {
    let ((x, y), (left, top)) = (chart.backend_coord(&at), plot.get_base_pixel());
    (x - left, y - top)
}

fn style(size: i32, color: RGBColor) -> TextStyle<'static> {
    TextStyle { color: color.to_backend_color(), ..TextStyle::from((FONT, size).into_font()) }
}

#[expect(clippy::cast_precision_loss, reason = "a pixel is coarser")]
fn real(value: i64) -> f64 {
    value as f64
}

#[expect(clippy::cast_precision_loss, reason = "there are few columns")]
fn index(at: usize) -> f64 {
    at as f64
}

/// A value at the axis: only whole ones, and none outside the data.
fn tick(value: f64, is_check: bool, low: f64, high: f64) -> String {
    if value.fract() != 0.0 || value < low || value > high {
        return String::new();
    }
    match (is_check, value) {
        (true, 0.0) => "fails".to_owned(),
        (true, _) => "holds".to_owned(),
        (false, value) => format!("{value}"),
    }
}
