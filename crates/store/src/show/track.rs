//! One check or metric over the runs of a series.

use std::fmt::Write as _;

use mthp_judge::text;
use mthp_record::result::Unit;

use super::{
    Look,
    change::{Change, changes},
    runs::moment,
    table::{self, Told, Tone, plain},
};
use crate::{
    history::{Kind, Measured, Point, Track},
    run::Series,
};

const HEADER: [&str; 6] = ["date", "revision", "subject", "value", "boots", "change"];

/// The newest `limit` runs as a table under a headline, the newest first. Changes are told from all runs.
#[must_use]
pub fn track(track: &Track, limit: usize, look: Look) -> String {
    let changes = changes(track);
    let rows = track.points.iter().zip(&changes).rev().take(limit);
    let rows = rows.map(|(point, change)| row(point, *change)).collect();
    let heading = if look == Look::Markdown { "### " } else { "" };
    let mut out = format!("{heading}{}", table::headline(&title(track), look));
    out.push_str(&table::headline(&place(&track.series), look));
    out.push_str(&table::render(&HEADER, &[0, 1, 3], rows, look));
    let all = track.points.len();
    if all > limit {
        let earlier = changes.iter().rev().skip(limit).filter(|change| is_change(**change)).count();
        let earlier = match earlier {
            0 => "no change".to_owned(),
            n => text::count(n, "change"),
        };
        let _ = writeln!(
            out,
            "{}the newest {limit} of {all} runs; {earlier} before them; --limit shows more",
            if look == Look::Markdown { "\n" } else { "" }
        );
    }
    out
}

pub(super) fn is_change(change: Option<Change>) -> bool {
    matches!(change, Some(Change::Changed { .. }))
}

/// The name with its unit, where the name does not say it.
pub(super) fn title(track: &Track) -> String {
    let name = text::clean(&track.name.to_string());
    let unit = match track.measures {
        Kind::Metric { unit: Unit::Kib, .. } if !name.ends_with("kib") => " (KiB)",
        Kind::Metric { unit: Unit::Thousandths, .. } => " (‰)",
        Kind::Metric { unit: Unit::Micros, .. } if !name.ends_with("micros") => " (µs)",
        Kind::Metric { unit: Unit::PerKilosecond, .. } => " (per 1000 s)",
        Kind::Metric { .. } | Kind::Check => "",
    };
    format!("{name}{unit}")
}

/// A series in a line.
pub(super) fn place(series: &Series) -> String {
    let Series { tree, branch, host, accelerator, suite } = series;
    text::clean(&format!("{tree} {branch}, suite {suite}, {accelerator} on {host}"))
}

fn row(point: &Point, change: Option<Change>) -> Vec<Told> {
    let (value, boots, change) = match (point.measured, change) {
        (Some(measured), Some(change)) => {
            let tone = match change {
                Change::Changed { better: Some(true), .. } => Tone::Good,
                Change::Changed { better: Some(false), .. } => Tone::Bad,
                _ => Tone::Plain,
            };
            (value(measured), measured.boots().to_string(), (change.words().to_owned(), tone))
        }
        _ => ("–".to_owned(), String::new(), plain(format!("no value ({})", point.outcome.word()))),
    };
    vec![
        plain(moment(&point.created)),
        plain(point.revision.short()),
        plain(&point.revision.subject),
        plain(value),
        plain(boots),
        change,
    ]
}

/// A value, or the least and the greatest.
pub(super) fn value(measured: Measured) -> String {
    match measured {
        Measured::Check { failed: 0, .. } => "holds".to_owned(),
        Measured::Check { passed: 0, .. } => "fails".to_owned(),
        Measured::Check { passed, failed } => {
            format!("holds in {passed} of {}", passed.saturating_add(failed))
        }
        Measured::Metric { low, high, .. } if low == high => low.to_string(),
        Measured::Metric { low, high, .. } => format!("{low}–{high}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, metric};

    const TERMINAL: Look = Look::Terminal { width: 100, color: false };

    fn sampled() -> Track {
        sample::track(&[
            metric(0, 0),
            metric(1512, 1512),
            None,
            metric(1510, 1514),
            metric(4, 8),
            metric(4, 8),
        ])
    }

    #[test]
    fn a_metric_for_the_terminal() {
        insta::assert_snapshot!(track(&sampled(), 30, TERMINAL));
    }

    #[test]
    fn a_metric_in_markdown() {
        insta::assert_snapshot!(track(&sampled(), 30, Look::Markdown));
    }

    #[test]
    fn a_check_for_the_terminal() {
        let check = |passed, failed| Some(Measured::Check { passed, failed });
        let mut checks = sample::track(&[check(2, 0), check(1, 1), check(0, 2)]);
        checks.measures = Kind::Check;
        insta::assert_snapshot!(track(&checks, 30, TERMINAL));
    }

    #[test]
    fn a_change_at_the_oldest_shown_run_is_seen_and_those_before_are_counted() {
        let text = track(&sampled(), 2, TERMINAL);
        assert!(text.contains("▼ changed"), "{text}");
        assert!(text.contains("the newest 2 of 6 runs; 1 change before them"), "{text}");
        assert!(track(&sampled(), 5, TERMINAL).contains("no change before them"));
    }
}
