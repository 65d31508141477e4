//! A backtest as text: the answer, then the matrix, then what was not as it should be.

use std::fmt::Write as _;

use mthp_judge::{report::Status, text};

use super::{
    backtest::{Backtest, Trial},
    look::{Cell, Seen},
};

/// The letters of the matrix's columns, a test each.
const LETTERS: &str =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789αβγδεζηθικλμνξοπρστυφχψω";
/// Columns for a bug's name.
const NAME: usize = 34;
/// Columns of text around the matrix.
const WIDTH: u16 = 100;

/// The whole text; `place` is the report's folder, as the reader would type it.
#[must_use]
pub fn render(it: &Backtest, place: &str) -> String {
    let mut out = String::new();
    line(&mut out, 4, &headline(it));
    for (id, why) in it.untried() {
        line(&mut out, 4, &format!("  not tried: {}: {}", text::clean(id), text::clean(why)));
    }
    out.push('\n');
    out.push_str(&matrix(it));
    let _ = writeln!(
        out,
        "\nboots: {} of each kernel in a run; kernels: {}; {:.0} s in all",
        it.boots,
        it.bases.keys().cloned().collect::<Vec<_>>().join(", "),
        f64::from(u32::try_from(it.wall_millis).unwrap_or(u32::MAX)) / 1000.0
    );
    let _ = writeln!(out, "report: {}", text::clean(place));
    out
}

/// The answer in a sentence.
#[must_use]
pub fn headline(it: &Backtest) -> String {
    if it.status != Status::Complete {
        return format!("backtest: unfinished: {}", text::clean(&it.reason));
    }
    let caught = it.bugs.iter().filter(|trial| trial.is_right()).count();
    let [harmless, itself] = it.alarms();
    format!(
        "backtest: {caught} of {} caught by the checks that name them; false alarms: {} in {} of {}, \
         {} in {} of a kernel against itself",
        text::count(it.bugs.len(), "bug"),
        harmless.0,
        text::count(harmless.1, "run"),
        match it.harmless.len() {
            1 => "1 harmless patch".to_owned(),
            n => format!("{n} harmless patches"),
        },
        itself.0,
        text::count(itself.1, "run"),
    )
}

/// The matrix: a row for each bug and harmless patch, a column for each test that turned anywhere.
#[must_use]
pub fn matrix(it: &Backtest) -> String {
    let columns = columns(it);
    let letters: String = LETTERS.chars().take(columns.len()).collect();
    let mut out = String::new();
    let _ = writeln!(out, "{:NAME$} {letters}  result", "bug");
    for trial in &it.bugs {
        row(&mut out, &columns, &trial.subject.id, trial, "caught");
    }
    if !it.harmless.is_empty() {
        let _ = writeln!(out, "{:NAME$} {}", "harmless patch", "-".repeat(letters.chars().count()));
    }
    for trial in &it.harmless {
        row(&mut out, &columns, &trial.subject.id, trial, "quiet");
    }
    for trial in &it.itself {
        row(&mut out, &columns, &format!("{} against itself", trial.subject), trial, "quiet");
    }
    out.push_str("\n● the check that names the bug turned  ○ another turned  ? could not be told\n");
    out.push_str("· a fact that does not decide differs\n\n");
    for (letter, test) in LETTERS.chars().zip(&columns) {
        let _ = writeln!(out, "{letter} {test}");
    }
    let turned = turned(it);
    let more: Vec<&str> =
        turned.iter().filter(|name| !columns.contains(name)).map(|name| name.as_str()).collect();
    if !more.is_empty() {
        line(&mut out, 4, &format!("turned too, and shown in backtest.json only: {}", more.join(", ")));
    }
    let quiet: Vec<&str> =
        it.contracts.keys().filter(|name| !turned.contains(name)).map(String::as_str).collect();
    // Of a few bugs it says nothing that most tests are quiet.
    if !quiet.is_empty() && !it.itself.is_empty() {
        line(&mut out, 4, &format!("turned nowhere: {}", quiet.join(", ")));
    }
    out
}

/// As many of the tests that turned as there are letters.
fn columns(it: &Backtest) -> Vec<&String> {
    let mut columns = turned(it);
    columns.truncate(LETTERS.chars().count());
    columns
}

/// The tests that turned somewhere, in the order of their names.
fn turned(it: &Backtest) -> Vec<&String> {
    let runs = || {
        let bugs = it.bugs.iter().flat_map(|trial| &trial.runs);
        let harmless = it.harmless.iter().flat_map(|trial| &trial.runs);
        bugs.chain(harmless).chain(it.itself.iter().flat_map(|trial| &trial.runs))
    };
    let did = |test: &&String| {
        runs().any(|run| matches!(run.cells.get(*test), Some(Cell::Named | Cell::Turned | Cell::Unclear)))
    };
    it.contracts.keys().filter(did).collect()
}

fn row<T>(out: &mut String, columns: &[&String], name: &str, trial: &Trial<T>, right: &str) {
    let cells: String = columns
        .iter()
        .map(|test| match trial.cell(test) {
            Some(Cell::Named) => '●',
            Some(Cell::Turned) => '○',
            Some(Cell::Unclear) => '?',
            Some(Cell::Facts) => '·',
            None => ' ',
        })
        .collect();
    let _ = writeln!(out, "{name:NAME$} {cells}  {}", result(trial, right));
}

/// What became of a trial, in a few words, with its cost.
#[must_use]
pub fn result<T>(trial: &Trial<T>, right: &str) -> String {
    if trial.untried.is_some() {
        return "not tried".to_owned();
    }
    let (good, all) = trial.right();
    let words = match trial.runs.iter().map(|run| &run.seen).find(|seen| !seen.is_right()) {
        None if all == 0 => "no run".to_owned(),
        None if all == 1 => right.to_owned(),
        None => format!("{right} {good} of {all}"),
        Some(seen) => {
            let wrong = match seen {
                Seen::ByOthers { missing } if missing.is_empty() => {
                    "caught by others: not every boot came to its end".to_owned()
                }
                Seen::ByOthers { missing } => format!("caught by others, not by {}", missing.join(", ")),
                Seen::Unclear { why } => format!("cannot tell: {}", text::clean(why)),
                Seen::Missed => "missed".to_owned(),
                Seen::FalseAlarm => "false alarm".to_owned(),
                Seen::Caught | Seen::Quiet => String::new(),
            };
            if all == 1 { wrong } else { format!("{right} {good} of {all}: {wrong}") }
        }
    };
    let same = if trial.same_image { ", same image" } else { "" };
    format!("{words}{same}, {} s", trial.cost.secs())
}

fn line(out: &mut String, indent: usize, words: &str) {
    let _ = writeln!(out, "{}", text::wrap(words, WIDTH, indent));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::backtest::tests::sample;

    #[test]
    fn every_result_has_its_words() {
        insta::assert_snapshot!(render(&sample(), "report/x"));
    }

    #[test]
    fn an_unfinished_backtest_claims_nothing() {
        let mut it = sample();
        it.status = Status::Interrupted;
        it.reason = "stopped".to_owned();
        assert_eq!(headline(&it), "backtest: unfinished: stopped");
    }
}
