//! The table of what changed.

use comfy_table::{Attribute, Cell, Color, ContentArrangement, Table, presets};

use super::Style;
use crate::{
    compare::{
        CheckChange, Comparison, MetricChange, MetricComparison, SideOutcome, TestComparison, TestVerdict,
        Values,
    },
    text,
};

/// One line of the table, after the test's name and verdict.
type Row = [String; 4];

/// Everything that changed, or `None` where nothing did.
pub(super) fn changes(comparison: &Comparison, style: &Style) -> Option<String> {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(style.width)
        .set_header(["test", "verdict", "what", "base", "patched", "change"]);
    if style.color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    for test in comparison.tests.iter().filter(|test| is_listed(test)) {
        let rows = rows(test);
        let lines = |column: usize| {
            let cells: Vec<_> = rows.iter().filter_map(|row| row.get(column)).map(String::as_str).collect();
            cells.join("\n")
        };
        let mut verdict = Cell::new(&test.verdict);
        if style.color {
            verdict = verdict.fg(color(&test.verdict)).add_attribute(Attribute::Bold);
        }
        table.add_row([
            Cell::new(text::clean(&test.name)),
            verdict,
            Cell::new(lines(0)),
            Cell::new(lines(1)),
            Cell::new(lines(2)),
            Cell::new(lines(3)),
        ]);
    }
    let trimmed = |table: String| table.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    (!table.is_empty()).then(|| trimmed(table.to_string()))
}

fn color(verdict: &TestVerdict) -> Color {
    match verdict {
        TestVerdict::Broken | TestVerdict::Worse | TestVerdict::Crashed => Color::Red,
        TestVerdict::Fixed | TestVerdict::Better | TestVerdict::Recovered => Color::Green,
        TestVerdict::Mixed | TestVerdict::Inconclusive { .. } => Color::Yellow,
        _ => Color::Reset,
    }
}

/// Does the table have a place for the test?
fn is_listed(test: &TestComparison) -> bool {
    let quiet = matches!(
        test.verdict,
        TestVerdict::StillPassing
            | TestVerdict::StillFailing
            | TestVerdict::StillCrashing
            | TestVerdict::Unchanged
            | TestVerdict::NotApplicable { .. }
    );
    !quiet || test.metrics.iter().any(|metric| metric.change == MetricChange::SampledApart)
}

/// Is the metric worth a line?
pub(super) fn is_shown(metric: &MetricComparison) -> bool {
    !matches!(metric.change, MetricChange::Same | MetricChange::SampledAlike)
}

/// Does it vary on some side?
pub(super) fn is_sampled(metric: &MetricComparison) -> bool {
    metric.sides.any(|values| matches!(values, Values::Sampled { .. }))
}

fn rows(test: &TestComparison) -> Vec<Row> {
    let mut rows = Vec::new();
    if test.outcomes.any(|outcome| *outcome != SideOutcome::Completed) {
        let [base, patched] =
            [&test.outcomes.base, &test.outcomes.patched].map(|side| text::clean(&side.to_string()));
        rows.push(["outcome".to_owned(), base, patched, String::new()]);
    }
    for check in &test.checks {
        let (base, patched, change) = match check.change {
            CheckChange::Broken => ("holds", "fails", "broken"),
            CheckChange::Fixed => ("fails", "holds", "fixed"),
            CheckChange::Flaky => (held(check.sides.base.held()), held(check.sides.patched.held()), "flaky"),
            CheckChange::StillPassing | CheckChange::StillFailing => continue,
        };
        rows.push([text::clean(&check.name), base.to_owned(), patched.to_owned(), change.to_owned()]);
    }
    for metric in test.metrics.iter().filter(|metric| is_shown(metric)) {
        rows.push([
            format!("{}{}", text::clean(&metric.name), text::unit(metric)),
            text::values(&metric.sides.base),
            text::values(&metric.sides.patched),
            text::movement(metric),
        ]);
    }
    rows
}

fn held(held: Option<bool>) -> &'static str {
    match held {
        Some(true) => "holds",
        Some(false) => "fails",
        None => "at times",
    }
}
