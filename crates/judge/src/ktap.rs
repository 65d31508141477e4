//! A report as KTAP, version 1 (Documentation/dev-tools/ktap.rst of the kernel). [`crate::cases`] says what becomes what.
//!
//! Each test is a nested test. What cannot be told is `not ok … # ERROR why`; the details of a case are diagnostic
//! lines before its result.

use std::fmt::Write as _;

use crate::{
    cases::{self, Case, Ending, Group},
    report::Report,
};

/// The file in the report's folder.
pub const FILE: &str = "results.ktap";

/// Renders a report.
#[must_use]
pub fn render(report: &Report) -> String {
    let groups = cases::of(report);
    let mut out = String::new();
    header(&mut out, "", groups.len());
    for (at, Group { name, cases }) in groups.iter().enumerate() {
        header(&mut out, "  ", cases.len());
        for (at, case) in cases.iter().enumerate() {
            let Case { name, ending, details } = case;
            if let Ending::Failed(why) = ending {
                let _ = writeln!(out, "  # failed: {why}");
            }
            for detail in details {
                let _ = writeln!(out, "  # {detail}");
            }
            result(&mut out, "  ", at, name, ending);
        }
        result(&mut out, "", at, name, &together(cases));
    }
    out
}

fn header(out: &mut String, indent: &str, plan: usize) {
    let _ = writeln!(out, "{indent}KTAP version 1\n{indent}1..{plan}");
}

/// The document's rules: a test fails if one of its subtests does, and is skipped if all are.
fn together(cases: &[Case]) -> Ending {
    let is_bad = |case: &&Case| matches!(case.ending, Ending::Failed(_) | Ending::Undecided(_));
    let skipped = |case: &Case| match &case.ending {
        Ending::Skipped(why) => Some(why.clone()),
        _ => None,
    };
    if cases.iter().any(|case| is_bad(&case)) {
        return Ending::Failed(String::new());
    }
    match cases.iter().map(skipped).collect::<Option<Vec<_>>>() {
        Some(why) => Ending::Skipped(why.into_iter().next().unwrap_or_default()),
        None => Ending::Passed,
    }
}

fn result(out: &mut String, indent: &str, at: usize, name: &str, ending: &Ending) {
    let (result, why) = match ending {
        Ending::Passed => ("ok", String::new()),
        Ending::Failed(_) => ("not ok", String::new()),
        Ending::Undecided(why) => ("not ok", format!(" # ERROR {}", hashless(why))),
        Ending::Skipped(why) => ("ok", format!(" # SKIP {}", hashless(why))),
    };
    let _ = writeln!(out, "{indent}{result} {} {}{why}", at + 1, hashless(name));
}

/// A hash begins a directive: one that a guest wrote could turn a failure into a skip.
fn hashless(text: &str) -> String {
    text.replace('#', "\u{ff03}")
}

#[cfg(test)]
mod tests;
