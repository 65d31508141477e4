//! `cost.md`: what the patch costs in the model, for the report's folder.

mod answer;
mod layouts;
mod pmu;
mod silent;
mod what_if;

use std::fmt::Write as _;

use mthp_judge::{compare::Comparison, text};

use crate::{
    Machine,
    measure::Measure,
    number::{change, ratio},
    summary::{Row, rows},
};

/// The page. `machines` are those that were modelled, in the order in which they are shown; values of others are
/// left out.
#[must_use]
pub fn render(comparison: &Comparison, machines: &[Machine]) -> String {
    let rows = rows(comparison, machines);
    let mut page = String::from("# What the patch costs in the cost model\n\n");
    page.push_str(&answer::render(&rows, machines));
    page.push_str(&what_if::render(&rows, machines));
    page.push_str(&layouts::render(&rows));
    page.push_str(&pmu::render(comparison, &rows));
    for machine in machines {
        page.push_str(&of_machine(&rows, machine));
    }
    page.push_str(&silent::render(comparison, &rows));
    page.push_str(
        "\nA model of caches and TLBs, not a time: model cycles let every access wait for the one before. What it \
         leaves out, and what may be concluded, is in METHOD.md, \"The cost model\".\n",
    );
    page
}

/// All tests on one machine.
fn of_machine(rows: &[Row<'_>], machine: &Machine) -> String {
    let rows: Vec<_> = rows.iter().filter(|row| row.machine == machine && row.layout_of.is_none()).collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut out = format!("\n## {} ({})\n\n", cell(&machine.title), cell(&machine.name));
    let columns = [
        ("L2 misses", Measure::L2Misses),
        ("page walks", Measure::Walks),
        ("model cycles", Measure::ModelCycles),
    ];
    out.push_str("| region |");
    for (title, _) in columns {
        let _ = write!(out, " {title} | × |");
    }
    let _ = writeln!(out, "\n|---|{}", "--:|--:|".repeat(columns.len()));
    for row in rows {
        let _ = write!(out, "| {} |", code(&row.region()));
        for (_, measure) in columns {
            match row.get(measure) {
                Some(sides) => {
                    let _ = write!(out, " {} | {} |", change(sides), ratio(sides));
                }
                None => out.push_str(" – | – |"),
            }
        }
        out.push('\n');
    }
    out
}

/// A name as code, which nothing in it can end.
fn code(name: &str) -> String {
    format!("`{}`", text::clean(name).replace('`', "'").replace('|', "\\|"))
}

/// Text that stays within its cell and is no markup.
fn cell(told: &str) -> String {
    let mut out = String::new();
    for c in text::clean(told).chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '|' | '`' | '*' | '_' | '[' | ']' | '\\' => out.extend(['\\', c]),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests;
