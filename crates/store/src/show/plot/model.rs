//! What a plot shows, before anything is drawn.

use mthp_judge::text;

use super::super::{
    change::{Change, changes},
    runs::moment,
    track::{is_change, place, title, value},
};
use crate::history::{Kind, Point, Track};

/// The most columns; more runs than that share them.
pub(super) const COLUMNS: usize = 400;
/// The newest changes, which get a number and a line below the plot.
const NOTED: usize = 10;
/// The newest changes that get a mark: of a value that changes every night marks say nothing.
const MARKED: usize = 60;
/// The longest subject in a line below the plot.
const SUBJECT: usize = 44;

/// One plot.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Panel {
    /// What is shown.
    pub title: String,
    /// Of which series.
    pub place: String,
    /// A check has two values with names of their own.
    pub is_check: bool,
    /// From the oldest run to the newest.
    pub columns: Vec<Column>,
    /// Lines below the plot, about the changes.
    pub notes: Vec<String>,
}

/// One run, or several neighbours where there are many.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Column {
    /// The least and the greatest value; `None` where no run has one.
    pub range: Option<(i64, i64)>,
    /// Some run has no value.
    pub is_missing: bool,
    /// The last change in it that is marked.
    pub mark: Option<Mark>,
    /// The newest run: its day and its revision.
    pub label: [String; 2],
}

/// A change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Which way.
    pub up: bool,
    /// Is that good?
    pub better: Option<bool>,
    /// The number of its line in [`Panel::notes`].
    pub number: Option<usize>,
}

impl Panel {
    /// The least and the greatest value of all; 0 to 1 for a check, or where there is none.
    pub(super) fn bounds(&self) -> (i64, i64) {
        let ranges = || self.columns.iter().filter_map(|column| column.range);
        match (ranges().map(|(low, _)| low).min(), ranges().map(|(_, high)| high).max()) {
            (Some(low), Some(high)) if !self.is_check => (low, high),
            _ => (0, 1),
        }
    }
}

/// The plot of the newest `limit` runs.
pub(super) fn panel(track: &Track, limit: usize) -> Panel {
    let skipped = track.points.len().saturating_sub(limit);
    let changes = changes(track);
    let runs: Vec<_> = track.points.iter().zip(changes).skip(skipped).collect();
    let total = runs.iter().filter(|(_, change)| is_change(*change)).count();
    let (noted, marked) = (total.min(NOTED), total.min(MARKED));

    let mut notes = Vec::new();
    let mut columns = Vec::new();
    let mut seen = 0;
    let mut before = None;
    for group in runs.chunks(runs.len().div_ceil(COLUMNS).max(1)) {
        let mut column = Column::default();
        for (point, change) in group {
            column.label = [day(&point.created), point.revision.short()];
            column.is_missing |= point.measured.is_none();
            let Some(measured) = point.measured else { continue };
            let (low, high) = measured.range();
            column.range = Some(column.range.map_or((low, high), |(l, h)| (l.min(low), h.max(high))));
            if let Some(Change::Changed { up, better }) = *change {
                seen += 1;
                let number = (seen > total - noted).then(|| seen - (total - noted));
                if let Some(number) = number {
                    let from = before.map(value).unwrap_or_default();
                    notes.push(note(number, point, &from, up, better));
                }
                if seen > total - marked {
                    column.mark = Some(Mark { up, better, number });
                }
            }
            before = Some(measured);
        }
        columns.push(column);
    }
    notes.reverse();
    if total > noted {
        notes.push(format!("{} before them", text::count(total - noted, "more change")));
    }
    if total == 0 {
        notes.push("no change".to_owned());
    }
    if columns.iter().any(|column| column.is_missing) {
        notes.push(" ×   no value".to_owned());
    }
    Panel {
        title: title(track),
        place: place(&track.series),
        is_check: track.measures == Kind::Check,
        columns,
        notes,
    }
}

fn day(created: &str) -> String {
    text::clean(moment(created).split(' ').next().unwrap_or_default())
}

fn note(number: usize, point: &Point, from: &str, up: bool, better: Option<bool>) -> String {
    let word = match better {
        Some(true) => ", better",
        Some(false) => ", worse",
        None => "",
    };
    let to = point.measured.map(value).unwrap_or_default();
    let mut subject: String = text::clean(&point.revision.subject);
    if subject.chars().count() > SUBJECT {
        subject = subject.chars().take(SUBJECT - 1).chain(['…']).collect();
    }
    let (day, revision) = (day(&point.created), point.revision.short());
    format!("{number:>2} {} {day} {revision} {subject}: {from} → {to}{word}", if up { '▲' } else { '▼' })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, metric};

    #[test]
    fn few_runs_have_a_column_each() {
        let panel = panel(&sample::track(&[metric(1, 1), None, metric(5, 7)]), usize::MAX);
        let ranges: Vec<_> = panel.columns.iter().map(|column| column.range).collect();
        assert_eq!(ranges, [Some((1, 1)), None, Some((5, 7))]);
        assert!(panel.columns[1].is_missing);
        assert_eq!(panel.columns[2].mark, Some(Mark { up: true, better: Some(false), number: Some(1) }));
        assert_eq!(panel.notes[0], " 1 ▲ 2026-01-03 000200020002 mm: change number 2: 1 → 5–7, worse");
        assert_eq!(panel.notes[1..], [" ×   no value"]);
        assert_eq!(panel.bounds(), (1, 7));
    }

    #[test]
    fn many_runs_share_columns_and_lose_no_extreme() {
        let mut values = vec![metric(1, 1); 10_000];
        values[5_000] = metric(9, 9);
        values[7_777] = None;
        let panel = panel(&sample::track(&values), usize::MAX);
        assert!(panel.columns.len() <= COLUMNS);
        assert_eq!(panel.bounds(), (1, 9));
        assert_eq!(panel.columns.iter().filter(|column| column.is_missing).count(), 1);
        assert_eq!(panel.notes.len(), 3);
    }

    #[test]
    fn the_newest_changes_are_marked_and_noted_and_the_others_counted() {
        let values: Vec<_> = (0..100).map(|n| metric(n, n)).collect();
        let panel = panel(&sample::track(&values), usize::MAX);
        let marks: Vec<_> = panel.columns.iter().filter_map(|column| column.mark).collect();
        assert_eq!(marks.len(), MARKED);
        assert_eq!(
            marks.iter().filter_map(|mark| mark.number).collect::<Vec<_>>(),
            (1..=NOTED).collect::<Vec<_>>()
        );
        assert_eq!(panel.notes.len(), NOTED + 1);
        assert!(panel.notes[0].starts_with("10 ▲"), "{}", panel.notes[0]);
        assert_eq!(panel.notes[NOTED], "89 more changes before them");
    }

    #[test]
    fn a_change_at_the_oldest_shown_run_is_marked() {
        let panel = panel(&sample::track(&[metric(1, 1), metric(2, 2), metric(2, 2)]), 2);
        assert_eq!(panel.columns.len(), 2);
        assert!(panel.columns[0].mark.is_some());
    }
}
