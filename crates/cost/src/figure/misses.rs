//! The second level's misses of both kernels: a row for each test on each machine.

use anyhow::Result;
use mthp_judge::compare::{Comparison, Pair};

use super::{
    canvas::{BLACK, Canvas, FAINT, GREY, Point, SIZE, TITLE, fit, svg},
    scale::Scale,
};
use crate::{
    Machine,
    measure::Measure,
    number::{Range, change, grouped, ratio},
    summary::{main, rows},
};

const WIDTH: u32 = 1160;
/// Where the names of machines begin, the axis and its end, the values behind it, and the factors.
const NAMES: i32 = 28;
const AXIS: (i32, i32) = (250, 800);
const VALUES: i32 = 824;
const FACTORS: i32 = 1064;
/// The height of a row, and of a test's name above its rows.
const ROW: i32 = 21;
const HEAD: i32 = 30;
/// What is above the first test, and below the last.
const ABOVE: i32 = 84;
const BELOW: i32 = 34;
/// The radius of a ring, and half a square's side, which leaves a white edge inside the ring.
const MARK: i32 = 7;
const SQUARE: i32 = 4;

/// A region with its rows: a machine each.
struct Group<'a> {
    region: String,
    rows: Vec<(&'a Machine, Pair<Range>)>,
}

/// Draws the second level's misses of every test on every machine, base and patched as marks on one axis, with their
/// values. Layouts, and parts of a test that has a whole, are left to the page.
///
/// # Errors
/// When the drawing library fails.
pub fn misses(comparison: &Comparison, machines: &[Machine]) -> Result<String> {
    let groups = groups(comparison, machines);
    let values = groups.iter().flat_map(|group| &group.rows).flat_map(|(_, sides)| ends(sides));
    let scale = Scale::of(values);
    let body: i32 = groups.iter().map(height).fold(0, i32::saturating_add);
    let tall = ABOVE.saturating_add(body).saturating_add(BELOW);
    svg((WIDTH, u32::try_from(tall).unwrap_or(0)), |canvas| {
        canvas.text("Misses of the second-level cache, in the cost model", (12, 18), TITLE, BLACK)?;
        legend(canvas, &scale, (20, 44))?;
        axis(canvas, &scale, ABOVE - 6, ABOVE + body)?;
        let mut y = ABOVE;
        for group in &groups {
            draw(canvas, group, &scale, y)?;
            y += height(group);
        }
        if groups.is_empty() {
            canvas.text("no values of both kernels", (NAMES, ABOVE + 8), SIZE, GREY)?;
        }
        Ok(())
    })
}

fn groups<'a>(comparison: &'a Comparison, machines: &'a [Machine]) -> Vec<Group<'a>> {
    let rows = rows(comparison, machines);
    let mut groups: Vec<Group<'a>> = Vec::new();
    for row in machines.iter().flat_map(|machine| main(&rows, machine)) {
        let Some(sides) = row.get(Measure::L2Misses) else { continue };
        let region = row.region();
        match groups.iter_mut().find(|group| group.region == region) {
            Some(group) => group.rows.push((row.machine, *sides)),
            None => groups.push(Group { region, rows: vec![(row.machine, *sides)] }),
        }
    }
    groups
}

fn height(group: &Group<'_>) -> i32 {
    HEAD + ROW * i32::try_from(group.rows.len()).unwrap_or(0)
}

fn ends(sides: &Pair<Range>) -> [i64; 4] {
    [sides.base.0, sides.base.1, sides.patched.0, sides.patched.1]
}

fn legend(canvas: &Canvas<'_>, scale: &Scale, (x, y): Point) -> Result<()> {
    canvas.ring((x, y), MARK)?;
    canvas.text("base", (x + 14, y), SIZE, BLACK)?;
    square(canvas, (x + 80, y))?;
    canvas.text("patched", (x + 94, y), SIZE, BLACK)?;
    let axis = if matches!(scale, Scale::Log { .. }) { "a logarithmic axis" } else { "an axis from zero" };
    let hints = format!(
        "fewer is better; {axis}; × is how many times as many; what if is a machine that is not built"
    );
    canvas.text(&hints, (x + 190, y), SIZE, GREY)
}

/// A filled square that a ring does not hide: both are seen where they fall together.
fn square(canvas: &Canvas<'_>, (x, y): Point) -> Result<()> {
    canvas.filled((x - SQUARE, y - SQUARE), (x + SQUARE, y + SQUARE), BLACK)
}

fn axis(canvas: &Canvas<'_>, scale: &Scale, top: i32, bottom: i32) -> Result<()> {
    for tick in scale.ticks() {
        let x = across(scale, tick);
        canvas.line((x, top), (x, bottom), 1, FAINT)?;
        for y in [top - 10, bottom + 14] {
            canvas.centred(&short(tick), (x, y), GREY)?;
        }
    }
    Ok(())
}

fn draw(canvas: &Canvas<'_>, group: &Group<'_>, scale: &Scale, top: i32) -> Result<()> {
    canvas.text(&fit(&group.region, AXIS.1 - NAMES, SIZE), (12, top + 14), SIZE, BLACK)?;
    for ((machine, sides), y) in group.rows.iter().zip((top + HEAD + ROW / 2 - 2..).step_by(21)) {
        let name = if machine.what_if { format!("{} (what if)", machine.name) } else { machine.name.clone() };
        canvas.text(&fit(&name, AXIS.0 - NAMES - 16, SIZE), (NAMES, y), SIZE, GREY)?;
        let places = ends(sides).map(|value| across(scale, value));
        let [first, .., last] = sorted(places);
        canvas.line((first, y), (last, y), 2, GREY)?;
        canvas.ring((places[0], y), MARK)?;
        canvas.ring((places[1], y), MARK)?;
        square(canvas, (places[2], y))?;
        square(canvas, (places[3], y))?;
        canvas.text(&fit(&change(sides), FACTORS - VALUES, SIZE), (VALUES, y), SIZE, BLACK)?;
        let factor = match ratio(sides) {
            number if number.starts_with(|c: char| c.is_ascii_digit()) => format!("× {number}"),
            word if word == "same" => String::new(),
            word => word,
        };
        canvas.text(&factor, (FACTORS, y), SIZE, BLACK)?;
    }
    Ok(())
}

fn sorted(mut places: [i32; 4]) -> [i32; 4] {
    places.sort_unstable();
    places
}

#[expect(clippy::cast_possible_truncation, reason = "it lies between the axis's ends")]
fn across(scale: &Scale, value: i64) -> i32 {
    AXIS.0 + (f64::from(AXIS.1 - AXIS.0) * scale.place(value)).round() as i32
}

/// `10 M` for a power of ten at the axis.
fn short(value: i64) -> String {
    let units = [(1_000_000_000, " G"), (1_000_000, " M"), (1_000, " k")];
    match units.into_iter().find(|(unit, _)| value != 0 && value % unit == 0) {
        Some((unit, letter)) => format!("{}{letter}", grouped(value / unit)),
        None => grouped(value),
    }
}
