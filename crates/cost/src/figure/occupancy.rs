//! Where a region's lines lie in the sets of a cache: whether they share a few or have all of them.

use anyhow::Result;
use mthp_judge::{compare::Pair, text::count};
use mthp_record::cost::Occupancy;

use super::{
    canvas::{BLACK, Canvas, FAINT, GREY, LIGHT, Point, SIZE, TITLE, fit, svg},
    scale::whole_ticks,
};
use crate::{
    Machine,
    number::{grouped, real},
};

/// The columns that there are at most, a pixel each; a cache with more sets shows several in one.
const COLUMNS: u32 = 1024;
const LEFT: i32 = 64;
const WIDTH: u32 = 1200;
const ABOVE: i32 = 84;
/// The height of a kernel's bars, and of all that is its.
const BARS: i32 = 200;
const PANEL: i32 = 286;
/// From a panel's top to that of its bars.
const HEAD: i32 = 36;
/// The least width of a bar: one pixel alone is not seen.
const THIN: i32 = 3;

/// One kernel's half of the picture.
#[derive(Clone, Copy, Debug)]
pub struct Kernel<'a> {
    /// How it is called, for example `6.12.117`.
    pub name: &'a str,
    /// Where the lines lay.
    pub occupancy: &'a Occupancy,
}

/// Draws how many different lines fell into each set of the machine's second-level cache, base above patched, to one
/// scale, with a line at what a set holds.
///
/// # Errors
/// When the drawing library fails.
pub fn occupancy(test: &str, machine: &Machine, kernels: &Pair<Kernel<'_>>) -> Result<String> {
    let highest = [&kernels.base, &kernels.patched].map(|kernel| tallest(kernel.occupancy)).into_iter().max();
    let highest = f64::from(highest.unwrap_or(0)) * 1.05;
    let tall = u32::try_from(ABOVE + 2 * PANEL).unwrap_or(0);
    svg((WIDTH, tall), |canvas| {
        let room = i32::try_from(WIDTH).unwrap_or(0) - 24;
        canvas.text(&fit(test, room, TITLE), (12, 18), TITLE, BLACK)?;
        let (title, name, accesses) = (&machine.title, &machine.name, kernels.base.occupancy.accesses);
        let place = format!(
            "{title} ({name}): different lines in each set of the second-level cache, first {} accesses",
            grouped(accesses.into())
        );
        canvas.text(&fit(&place, room, SIZE), (12, 42), SIZE, GREY)?;
        legend(canvas, (16, 64))?;
        panel(canvas, "base", &kernels.base, highest, ABOVE)?;
        panel(canvas, "patched", &kernels.patched, highest, ABOVE + PANEL)
    })
}

fn legend(canvas: &Canvas<'_>, (x, y): Point) -> Result<()> {
    canvas.filled((x, y - 5), (x + 10, y + 5), LIGHT)?;
    canvas.text("a set that holds its lines", (x + 18, y), SIZE, BLACK)?;
    canvas.filled((x + 260, y - 5), (x + 270, y + 5), BLACK)?;
    canvas.text("a set with more lines than ways: they push each other out", (x + 278, y), SIZE, BLACK)
}

fn tallest(occupancy: &Occupancy) -> u32 {
    occupancy.lines.iter().map(|(_, lines)| *lines).max().unwrap_or(0).max(occupancy.ways).max(1)
}

fn panel(canvas: &Canvas<'_>, side: &str, kernel: &Kernel<'_>, highest: f64, top: i32) -> Result<()> {
    let it = kernel.occupancy;
    let name = format!("{side}, {}: ", kernel.name);
    canvas.text(&format!("{name}{}", told(it)), (12, top + 16), SIZE, BLACK)?;
    let bottom = top + HEAD + BARS;
    let columns = columns(it);
    let right = LEFT + i32::try_from(COLUMNS).unwrap_or(0);
    for tick in whole_ticks(highest) {
        let y = up(bottom, highest, real(tick));
        canvas.line((LEFT, y), (right, y), 1, FAINT)?;
        canvas.right(&grouped(tick), (LEFT - 8, y), GREY)?;
    }
    // The over-full ones last: a lone bar is wider than its column, and they must not be covered.
    for (is_over, color) in [(false, LIGHT), (true, BLACK)] {
        for (from, to, lines) in runs(&columns).filter(|(.., lines)| (*lines > it.ways) == is_over) {
            let x = [from, to].map(|column| LEFT + pixels(column, columns.len()));
            canvas.filled(
                (x[0], up(bottom, highest, f64::from(lines))),
                (x[1].max(x[0] + THIN), bottom),
                color,
            )?;
        }
    }
    canvas.line((LEFT, bottom), (right, bottom), 1, GREY)?;
    let ways = up(bottom, highest, it.ways.into());
    canvas.line((LEFT, ways), (right, ways), 2, GREY)?;
    canvas.text(&format!("{} ways: all", it.ways), (right + 8, ways - 8), SIZE, BLACK)?;
    canvas.text("a set holds", (right + 8, ways + 8), SIZE, BLACK)?;
    for quarter in 0..=4u32 {
        let set = u64::from(it.sets) * u64::from(quarter) / 4;
        let x = LEFT + pixels(quarter.try_into().unwrap_or(0), 4);
        canvas.line((x, bottom), (x, bottom + 5), 1, GREY)?;
        canvas.centred(&set.to_string(), (x, bottom + 16), GREY)?;
    }
    let each = it.sets.div_ceil(COLUMNS);
    let axis = if each > 1 { format!("set (of {each} in a column the fullest)") } else { "set".to_owned() };
    canvas.centred(&axis, (LEFT + i32::try_from(COLUMNS / 2).unwrap_or(0), bottom + 34), GREY)
}

/// The kernel's lines in a sentence.
fn told(it: &Occupancy) -> String {
    let sum = |over: bool| {
        let sets = it.lines.iter().filter(|(_, lines)| !over || *lines > it.ways);
        let (mut n, mut all) = (0usize, 0u64);
        for (_, lines) in sets {
            (n, all) = (n + 1, all + u64::from(*lines));
        }
        (n, all)
    };
    let ((used, lines), (full, over)) = (sum(false), sum(true));
    let sets = it.sets;
    let share = match full {
        0 => format!("none in a set with more than {}", it.ways),
        full => format!("{over} of them in {} with more than {}", count(full, "set"), it.ways),
    };
    format!("{lines} lines in {used} of {sets} sets, {share}")
}

/// The lines of the fullest set in each column.
fn columns(it: &Occupancy) -> Vec<u32> {
    let each = it.sets.div_ceil(COLUMNS).max(1);
    let mut columns = vec![0; usize::try_from(it.sets.div_ceil(each)).unwrap_or(0)];
    for (set, lines) in &it.lines {
        let column = usize::try_from(set / each).ok().and_then(|at| columns.get_mut(at));
        if let Some(column) = column {
            *column = (*lines).max(*column);
        }
    }
    columns
}

/// Neighbouring columns that are alike, as one: from, up to, lines. Empty ones are left out.
fn runs(columns: &[u32]) -> impl Iterator<Item = (usize, usize, u32)> {
    let mut from = 0;
    let runs = columns.chunk_by(|a, b| a == b).map(move |run| {
        let this = (from, from + run.len(), run[0]);
        from += run.len();
        this
    });
    runs.filter(|(_, _, lines)| *lines > 0)
}

/// Where the column begins of so many that share the width.
fn pixels(column: usize, of: usize) -> i32 {
    let width = usize::try_from(COLUMNS).unwrap_or(0);
    i32::try_from((column * width).checked_div(of).unwrap_or(0)).unwrap_or(0)
}

#[expect(clippy::cast_possible_truncation, reason = "it lies between bottom and top")]
fn up(bottom: i32, highest: f64, value: f64) -> i32 {
    bottom - (f64::from(BARS) * value / highest).round() as i32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lines_are_told() {
        let it = Occupancy { sets: 64, ways: 8, accesses: 100, lines: vec![(0, 8), (3, 9), (4, 24)] };
        assert_eq!(told(&it), "41 lines in 3 of 64 sets, 33 of them in 2 sets with more than 8");
        let it = Occupancy { lines: vec![(0, 8)], ..it };
        assert_eq!(told(&it), "8 lines in 1 of 64 sets, none in a set with more than 8");
    }

    #[test]
    fn a_column_shows_its_fullest_set() {
        let it =
            Occupancy { sets: 2048, ways: 8, accesses: 0, lines: vec![(0, 1), (1, 5), (2047, 3), (5000, 9)] };
        let columns = columns(&it);
        assert_eq!((columns.len(), columns[0], columns[1023]), (1024, 5, 3));
        assert_eq!(runs(&columns).collect::<Vec<_>>(), [(0, 1, 5), (1023, 1024, 3)]);
        assert_eq!(runs(&[2, 2, 0, 2]).collect::<Vec<_>>(), [(0, 2, 2), (3, 4, 2)]);
    }
}
