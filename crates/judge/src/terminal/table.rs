//! The table of what changed.

use comfy_table::{
    Attribute, Cell, Color, ColumnConstraint, ContentArrangement, Table, TableComponent, Width, presets,
};

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

/// The most columns for a test's or a metric's name; the report has them whole.
const NAME: usize = 28;
/// A word of a value up to this length stays in one piece.
const WORD: usize = 12;

/// The most metrics of a test. Of more than that, those that decide are shown; where few or none do, some others too.
const METRICS: usize = 16;
const FACTS: usize = 3;

/// Everything that changed, or `None` where nothing did.
pub(super) fn changes(comparison: &Comparison, emulated: bool, style: &Style) -> Option<String> {
    let mut table = Table::new();
    table
        .load_preset(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(style.width)
        .set_header(["test", "verdict", "what", "base", "patched", "change"]);
    for inner in [
        TableComponent::HorizontalLines,
        TableComponent::MiddleIntersections,
        TableComponent::LeftBorderIntersections,
        TableComponent::RightBorderIntersections,
        TableComponent::VerticalLines,
    ] {
        table.remove_style(inner);
    }
    if style.color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    // The longest words of both kernels' values, and of the change.
    let mut words = [0; 3];
    for test in comparison.tests.iter().filter(|test| is_listed(test, emulated)) {
        for (at, row) in rows(test, emulated).into_iter().enumerate() {
            let (name, verdict) = if at == 0 {
                (shortened(&test.name), test.verdict.to_string())
            } else {
                (String::new(), String::new())
            };
            let mut verdict = Cell::new(verdict);
            if style.color {
                verdict = verdict.fg(color(&test.verdict)).add_attribute(Attribute::Bold);
            }
            for (word, value) in words.iter_mut().zip(&row[1..]) {
                *word = value.split_whitespace().map(|word| word.chars().count()).fold(*word, usize::max);
            }
            table.add_row([Cell::new(name), verdict].into_iter().chain(row.map(Cell::new)));
        }
    }
    // Names are searched for: they stay in one piece, the values wrap.
    for column in table.column_iter_mut().take(3) {
        column.set_constraint(ColumnConstraint::ContentWidth);
    }
    // With the column's padding.
    for (column, word) in table.column_iter_mut().skip(3).zip(words) {
        let least = u16::try_from(word.min(WORD) + 2).unwrap_or_default();
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(least)));
    }
    let trimmed = |table: String| table.lines().map(str::trim_end).collect::<Vec<_>>().join("\n");
    (!table.is_empty()).then(|| trimmed(table.to_string()))
}

fn shortened(name: &str) -> String {
    let name = text::clean(name);
    if name.chars().count() <= NAME {
        return name;
    }
    name.chars().take(NAME - 1).chain(['…']).collect()
}

fn color(verdict: &TestVerdict) -> Color {
    match verdict {
        TestVerdict::Broken | TestVerdict::Worse | TestVerdict::Crashed => Color::Red,
        TestVerdict::Fixed | TestVerdict::Better | TestVerdict::Recovered => Color::Green,
        TestVerdict::Mixed | TestVerdict::Inconclusive { .. } => Color::Yellow,
        _ => Color::Reset,
    }
}

/// Does the table have a place for the test? Time under emulation alone earns none.
pub(super) fn is_listed(test: &TestComparison, emulated: bool) -> bool {
    let quiet = matches!(
        test.verdict,
        TestVerdict::StillPassing
            | TestVerdict::StillFailing
            | TestVerdict::StillCrashing
            | TestVerdict::Unchanged
            | TestVerdict::NotApplicable { .. }
    );
    let apart =
        |metric: &MetricComparison| metric.change == MetricChange::SampledApart && is_shown(metric, emulated);
    !quiet || test.metrics.iter().any(apart)
}

/// Is the metric worth a line? Time under emulation is not: it would only mislead.
pub(super) fn is_shown(metric: &MetricComparison, emulated: bool) -> bool {
    let still = matches!(metric.change, MetricChange::Same | MetricChange::SampledAlike);
    let misleads = emulated && metric.unit.is_time();
    !still && !misleads
}

fn decides(metric: &MetricComparison) -> bool {
    matches!(metric.change, MetricChange::Better | MetricChange::Worse | MetricChange::CannotTell)
}

/// Does it vary on some side?
pub(super) fn is_sampled(metric: &MetricComparison) -> bool {
    metric.sides.any(|values| matches!(values, Values::Sampled { .. }))
}

fn rows(test: &TestComparison, emulated: bool) -> Vec<Row> {
    let mut rows = Vec::new();
    if test.outcomes.any(|outcome| *outcome != SideOutcome::Completed) {
        let [base, patched] =
            [&test.outcomes.base, &test.outcomes.patched].map(|side| side.word().to_owned());
        rows.push(["outcome".to_owned(), base, patched, String::new()]);
    }
    for check in &test.checks {
        let (base, patched, change) = match check.change {
            CheckChange::Broken => ("holds", "fails", "broken"),
            CheckChange::Fixed => ("fails", "holds", "fixed"),
            CheckChange::Flaky => (held(check.sides.base.held()), held(check.sides.patched.held()), "flaky"),
            CheckChange::StillPassing | CheckChange::StillFailing => continue,
        };
        rows.push([shortened(&check.name), base.to_owned(), patched.to_owned(), change.to_owned()]);
    }
    let mut metrics: Vec<_> = test.metrics.iter().filter(|metric| is_shown(metric, emulated)).collect();
    let all = metrics.len();
    if all > METRICS {
        metrics.sort_by_key(|metric| !decides(metric));
        let deciding = metrics.iter().filter(|metric| decides(metric)).count();
        metrics.truncate(deciding.clamp(FACTS, METRICS));
    }
    for metric in &metrics {
        rows.push([
            format!("{}{}", shortened(&metric.name), text::unit(metric)),
            text::values(&metric.sides.base),
            text::values(&metric.sides.patched),
            text::movement(metric),
        ]);
    }
    if all > metrics.len() {
        let more = format!("and {} more: report.json", all - metrics.len());
        rows.push([more, String::new(), String::new(), String::new()]);
    }
    if rows.is_empty() {
        // Inconclusive for an error alone: the reasons above say which.
        rows.push(std::array::from_fn(|_| String::new()));
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
