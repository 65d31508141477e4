//! Tables of both looks.

use comfy_table::{
    Attribute, Cell, Color, ColumnConstraint, ContentArrangement, Table, TableComponent, presets,
};
use mthp_judge::text;

use super::Look;

/// What a cell means, where colour may say it too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    Plain,
    Good,
    Bad,
    Unsure,
}

/// A cell's text and what it means.
pub(super) type Told = (String, Tone);

pub(super) fn plain(text: impl Into<String>) -> Told {
    (text.into(), Tone::Plain)
}

/// A line above a table.
pub(super) fn headline(line: &str, look: Look) -> String {
    format!("{}{}", escaped(line, look), if look == Look::Markdown { "\n\n" } else { "\n" })
}

fn escaped(told: &str, look: Look) -> String {
    let told = text::clean(told);
    match look {
        Look::Terminal { .. } => told,
        Look::Markdown => told.replace('|', "\\|").replace('<', "&lt;"),
    }
}

/// A table; the columns in `whole` are searched for and copied, so they stay in one piece.
pub(super) fn render(header: &[&str], whole: &[usize], rows: Vec<Vec<Told>>, look: Look) -> String {
    let mut table = Table::new();
    table.set_header(header.to_vec());
    let color = matches!(look, Look::Terminal { color: true, .. });
    match look {
        Look::Terminal { width, .. } => {
            table
                .load_preset(presets::UTF8_HORIZONTAL_ONLY)
                .set_content_arrangement(ContentArrangement::Dynamic)
                .set_width(width);
            for inner in [
                TableComponent::HorizontalLines,
                TableComponent::MiddleIntersections,
                TableComponent::LeftBorderIntersections,
                TableComponent::RightBorderIntersections,
                TableComponent::VerticalLines,
            ] {
                table.remove_style(inner);
            }
        }
        Look::Markdown => {
            table.load_preset(presets::ASCII_MARKDOWN);
        }
    }
    if color {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    for row in rows {
        table.add_row(row.into_iter().map(|(told, tone)| cell(&told, tone, look, color)));
    }
    for column in whole {
        if let Some(column) = table.column_mut(*column) {
            column.set_constraint(ColumnConstraint::ContentWidth);
        }
    }
    table.to_string().lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

fn cell(told: &str, tone: Tone, look: Look, color: bool) -> Cell {
    let cell = Cell::new(escaped(told, look));
    let shade = match tone {
        Tone::Plain => return cell,
        Tone::Good => Color::Green,
        Tone::Bad => Color::Red,
        Tone::Unsure => Color::Yellow,
    };
    if color { cell.fg(shade).add_attribute(Attribute::Bold) } else { cell }
}
