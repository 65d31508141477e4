//! What the page begins with: a line for each machine that is built.

use std::fmt::Write as _;

use mthp_judge::text::count;

use super::{cell, code};
use crate::{
    Machine,
    measure::Measure,
    number::{exact, grouped, ratio},
    summary::{NOTABLE, Row, Way, main},
};

pub(super) fn render(rows: &[Row<'_>], machines: &[Machine]) -> String {
    let mut out = String::new();
    for machine in machines.iter().filter(|machine| !machine.what_if) {
        let rows: Vec<_> = main(rows, machine).collect();
        if !rows.is_empty() {
            let (title, name, regions) =
                (cell(&machine.title), cell(&machine.name), count(rows.len(), "region"));
            let _ = writeln!(out, "- **{title}** ({name}), {regions}: {}", of(&rows));
        }
    }
    if out.is_empty() {
        return "The model has no numbers of both kernels.\n".to_owned();
    }
    let _ = writeln!(
        out,
        "\n\"More\" and \"fewer\" are of the patched kernel, by {NOTABLE} % or more. Numbers are base → patched; × is \
         how many times as many the patched kernel has."
    );
    out
}

/// `L2 misses more in 1, alike in 2; page walks …. Largest change: …`
fn of(rows: &[&Row<'_>]) -> String {
    let told = [
        ("L2 misses", Measure::L2Misses),
        ("page walks", Measure::Walks),
        ("model cycles", Measure::ModelCycles),
    ];
    let told = told.map(|(title, measure)| format!("{title} {}", ways(rows, measure)));
    let mut out = told.join("; ");
    if let Some((row, base, patched)) = largest(rows) {
        let sides = row.get(Measure::L2Misses).map(ratio).unwrap_or_default();
        let times =
            if sides.starts_with(|c: char| c.is_ascii_digit()) { format!("{sides} times") } else { sides };
        let (base, patched) = (grouped(base), grouped(patched));
        let _ =
            write!(out, ". Largest change: {}, {base} → {patched} L2 misses ({times})", code(&row.region()));
    }
    out + "."
}

fn ways(rows: &[&Row<'_>], measure: Measure) -> String {
    let of = |way| rows.iter().filter(|row| row.way(measure) == Some(way)).count();
    let kinds = [
        ("more", Way::More),
        ("fewer", Way::Fewer),
        ("alike", Way::Alike),
        ("varying between boots", Way::Unclear),
    ];
    let said = kinds.map(|(word, way)| (word, of(way))).into_iter().filter(|(_, n)| *n > 0);
    let said: Vec<_> = said.map(|(word, n)| format!("{word} in {n}")).collect();
    if said.is_empty() { "in none".to_owned() } else { said.join(", ") }
}

/// The test whose misses in the second level moved by the most.
fn largest<'r, 'a>(rows: &[&'r Row<'a>]) -> Option<(&'r Row<'a>, i64, i64)> {
    let moved = rows.iter().filter(|row| !matches!(row.way(Measure::L2Misses), None | Some(Way::Alike)));
    let values = moved.filter_map(|row| {
        let sides = row.get(Measure::L2Misses)?;
        Some((*row, exact(sides.base)?, exact(sides.patched)?))
    });
    // Of equals the first.
    values.rev().max_by_key(|(_, base, patched)| base.abs_diff(*patched))
}
