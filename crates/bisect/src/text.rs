//! A bisection in words: the answer first, then how it was found.

use std::fmt::Write as _;

use comfy_table::{CellAlignment, Table, presets};
use mthp_judge::{report::Status, text};

use crate::{
    finding::Finding,
    graph::Revision,
    record::{Bisection, Outcome, Sight, Tried, Verification},
};

/// Hexadecimal digits of a commit that are shown.
const SHORT: usize = 12;
/// Columns of the text around the table.
const WIDTH: u16 = 100;
/// The most characters of a subject in the table.
const SUBJECT: usize = 44;

/// The whole text; `place` is the report's folder, as the reader would type it.
#[must_use]
pub fn render(it: &Bisection, place: &str) -> String {
    let mut out = String::new();
    for line in answer(it) {
        let _ = writeln!(out, "{}", text::wrap(&line, WIDTH, 4));
    }
    let _ = writeln!(out, "\n{}", table(&it.tried));
    for (one, reason) in skips(&it.tried) {
        let line = format!("skipped {}: {}", short(&one.id), text::clean(reason));
        let _ = writeln!(out, "{}", text::wrap(&line, WIDTH, 4));
    }
    let _ = writeln!(out, "{}", text::wrap(&cost(it), WIDTH, 4));
    if let Some(log) = &it.git_log {
        let _ = writeln!(out, "\ngit bisect log:\n{}", log.trim_end());
    }
    let _ = writeln!(out, "\nreport: {}", text::clean(place));
    out
}

/// The same for a bug tracker or a job's summary.
#[must_use]
pub fn markdown(it: &Bisection, place: &str) -> String {
    text::fenced(&render(it, place))
}

/// The answer and what it rests on, a line each.
#[must_use]
pub fn answer(it: &Bisection) -> Vec<String> {
    let mut lines = vec![headline(it)];
    if let Some(ends) = &it.ends {
        lines.push(format!("  followed: {}", text::clean(&ends.target.to_string())));
        if !ends.alone {
            lines.push("  the whole selection ran at each step: alone, its test does not show it".to_owned());
        }
    }
    if let Some(Outcome::Culprit { author: Some(author), .. }) = &it.outcome {
        lines.push(format!("  author: {}", text::clean(author)));
    }
    if let Some(seen) = &it.verification {
        lines.extend(verified(seen));
    }
    lines
}

/// The answer in a sentence.
#[must_use]
pub fn headline(it: &Bisection) -> String {
    let range =
        format!("{} .. {}", text::clean(&it.question.good.asked), text::clean(&it.question.bad.asked));
    match &it.outcome {
        _ if it.status != Status::Complete => format!("bisect: unfinished: {}", text::clean(&it.reason)),
        None => format!("bisect: nothing found in {range}"),
        Some(Outcome::Culprit { revision, .. }) => {
            format!("bisect: the first bad commit of {range} is {}", named(revision))
        }
        Some(Outcome::Range { candidates }) => format!(
            "bisect: the first bad commit of {range} is one of {}; all but the last were skipped: {}",
            candidates.len(),
            candidates.iter().map(named).collect::<Vec<_>>().join(", ")
        ),
        Some(Outcome::Unconfirmed { suspect, why }) => format!(
            "bisect: no commit can be named: the search ended at {}, but {}",
            named(suspect),
            text::clean(why)
        ),
        Some(Outcome::Flaky { what }) => format!(
            "bisect: no commit can be named: no difference between {range} shows in every boot: {}",
            text::list(what.iter().map(String::as_str), 5)
        ),
        Some(Outcome::ComesAndGoes { bad, good }) => format!(
            "bisect: no commit can be named: what is followed comes and goes: it is bad at {} and good at {}, which comes after it",
            named(bad),
            named(good)
        ),
    }
}

fn verified(seen: &Verification) -> Vec<String> {
    let sight = |sight: &Sight| {
        format!("{} in {} of {}", sight.finding, sight.boots, text::count(sight.boots as usize, "boot"))
    };
    let parents: Vec<String> = seen
        .parents
        .iter()
        .map(|parent| format!("its parent {} is {}", short(&parent.id), sight(parent)))
        .collect();
    let mut lines = vec![format!(
        "  at full strength: it is {}, {} (Fisher's exact test: p = 1/{})",
        sight(&seen.suspect),
        parents.join(", "),
        seen.one_in
    )];
    if !seen.unexplained.is_empty() {
        let names: Vec<String> = seen.unexplained.iter().map(ToString::to_string).collect();
        lines.push(format!(
            "  not its doing, though it differs between the ends (name one with --test to follow it): {}",
            text::list(names.iter().map(String::as_str), 8)
        ));
    } else if seen.explained.len() > 1 {
        lines.push(format!("  it accounts for all {} differences between the ends", seen.explained.len()));
    }
    lines
}

/// A commit with its subject.
#[must_use]
pub fn named(revision: &Revision) -> String {
    format!("{} (\"{}\")", short(&revision.id), text::clean(&revision.subject))
}

/// Enough of a commit's name; a place in a series stays whole.
#[must_use]
pub fn short(id: &str) -> &str {
    id.get(..SHORT).filter(|_| id.bytes().all(|byte| byte.is_ascii_hexdigit())).unwrap_or(id)
}

fn table(tried: &[Tried]) -> String {
    let mut table = Table::new();
    table
        .load_preset(presets::NOTHING)
        .set_header(["revision", "finding", "image", "build s", "boots", "boot s", "subject"]);
    for one in tried {
        let finding = match &one.finding {
            Finding::Skipped { .. } => "skipped",
            Finding::Good => "good",
            Finding::Bad => "bad",
        };
        let image = match (&one.same_as, &one.image) {
            (Some(other), _) => format!("as {}", short(other)),
            (None, Some(image)) => image.chars().take(8).collect(),
            (None, None) => "none".to_owned(),
        };
        let subject: String = text::clean(&one.subject).chars().take(SUBJECT).collect();
        table.add_row([
            short(&one.id).to_owned(),
            finding.to_owned(),
            image,
            one.build_millis.map_or_else(|| "cached".to_owned(), seconds),
            one.boots.to_string(),
            seconds(one.boot_millis),
            subject,
        ]);
    }
    for column in [3, 4, 5] {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}

fn skips(tried: &[Tried]) -> impl Iterator<Item = (&Tried, &str)> {
    tried.iter().filter_map(|one| match &one.finding {
        Finding::Skipped { reason } => Some((one, reason.as_str())),
        Finding::Good | Finding::Bad => None,
    })
}

fn cost(it: &Bisection) -> String {
    let built = it.tried.iter().filter(|tried| tried.build_millis.is_some()).count();
    let revisions = it.ends.as_ref().map_or(0, |ends| ends.revisions);
    let proof = it.verification.iter().flat_map(|seen| seen.parents.iter().chain([&seen.suspect]));
    let boots: u32 = it.tried.iter().map(|tried| tried.boots).chain(proof.map(|sight| sight.boots)).sum();
    format!(
        "{} in the range, {} looked at: {built} built now, {} booted, {} in all; {} s{}",
        text::count(revisions, "revision"),
        it.tried.len(),
        text::count(it.new_images(), "image"),
        text::count(boots as usize, "boot"),
        it.wall_millis / 1000,
        it.accelerator.as_ref().map(|accel| format!(" under {}", accel.kind)).unwrap_or_default()
    )
}

fn seconds(millis: u64) -> String {
    format!("{}.{}", millis / 1000, millis % 1000 / 100)
}

#[cfg(test)]
mod tests;
