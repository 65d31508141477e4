//! Words that all texts for people use, and the last line of defence against what a guest might say.

use std::fmt::Write as _;

use mthp_record::{
    boot::{BootOutcome, BootRecord, KernelFailure, Phase},
    result::{Polarity, Unit},
};

use crate::{
    compare::{CheckChange, Comparison, MetricChange, MetricComparison, TestVerdict, Values},
    suite::Direction,
};

/// The longest text of a guest that is shown; the report has all of it.
const MAX_SHOWN: usize = 240;

/// One line of harmless characters, of a length that fits a report.
#[must_use]
pub fn clean(text: &str) -> String {
    let mut shown: String = harmless(text).chars().take(MAX_SHOWN).collect();
    if text.chars().nth(MAX_SHOWN).is_some() {
        shown.push('…');
    }
    shown
}

/// One line of harmless characters: no control characters (escape sequences, newlines) and none that turn
/// the direction of text around.
#[must_use]
pub fn harmless(text: &str) -> String {
    let harmless = |c: char| {
        let turns = matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        if c == '\n' || c == '\t' {
            ' '
        } else if c.is_control() || turns || c == '\u{2028}' || c == '\u{2029}' {
            '\u{fffd}'
        } else {
            c
        }
    };
    text.chars().map(harmless).collect()
}

/// `1 test`, `2 tests`.
#[must_use]
pub fn count(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// The first names, and how many more there are.
#[must_use]
pub fn list<'a>(names: impl IntoIterator<Item = &'a str>, most: usize) -> String {
    let names: Vec<_> = names.into_iter().map(clean).collect();
    let mut list = names.iter().take(most).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > most {
        let _ = write!(list, " and {} more", names.len() - most);
    }
    list
}

/// How a boot failed, in a line.
#[must_use]
pub fn boot_failure(boot: &BootRecord) -> String {
    let how = match &boot.outcome {
        BootOutcome::Completed => "completed".to_owned(),
        BootOutcome::NotFinished => "was never finished".to_owned(),
        BootOutcome::KernelFailed { failure, line } => format!("{}: {line}", kernel_failure(*failure)),
        BootOutcome::SilentHang { phase, after_secs } => {
            format!("silent hang {}: nothing for {after_secs} s and no reason on the console", place(phase))
        }
        BootOutcome::EndedEarly { phase } => format!("the guest left {}", place(phase)),
        BootOutcome::BadStream { problem } => format!("the result stream is broken: {problem}"),
        BootOutcome::QemuFailed { message } => format!("QEMU failed: {message}"),
        BootOutcome::Interrupted => "stopped by the user".to_owned(),
    };
    let console = if boot.console.is_empty() { String::new() } else { format!(" ({})", boot.console) };
    format!("{} boot {}: {how}{console}", boot.side, boot.index)
}

fn kernel_failure(failure: KernelFailure) -> &'static str {
    match failure {
        KernelFailure::Panic => "kernel panic",
        KernelFailure::Oops => "kernel oops",
        KernelFailure::SoftLockup => "soft lockup",
        KernelFailure::RcuStall => "RCU stall",
        KernelFailure::HungTask => "hung task",
        KernelFailure::RebootLoop => "reboot loop",
        KernelFailure::OutOfMemory => "the runner was killed for lack of memory",
    }
}

fn place(phase: &Phase) -> String {
    match phase {
        Phase::Boot => "before its first word".to_owned(),
        Phase::Test(name) => format!("in {name}"),
        Phase::Shutdown => "after the last test".to_owned(),
    }
}

/// What the tests say together, in a line.
pub(crate) fn tally(comparison: &Comparison) -> String {
    let tests = |wanted: &dyn Fn(&TestVerdict) -> bool| {
        comparison.tests.iter().filter(|test| wanted(&test.verdict)).count()
    };
    let checks = |wanted: CheckChange| {
        comparison.tests.iter().flat_map(|test| &test.checks).filter(|check| check.change == wanted).count()
    };
    let metrics = |wanted: MetricChange| {
        comparison
            .tests
            .iter()
            .flat_map(|test| &test.metrics)
            .filter(|metric| metric.change == wanted)
            .count()
    };
    let parts = [
        (checks(CheckChange::Broken), "check", "broken"),
        (checks(CheckChange::Fixed), "check", "fixed"),
        (metrics(MetricChange::Worse), "declared cost", "worse"),
        (metrics(MetricChange::Better), "declared cost", "better"),
        (tests(&|verdict| *verdict == TestVerdict::Crashed), "test", "newly crashing"),
        (tests(&|verdict| *verdict == TestVerdict::Recovered), "test", "no longer crashing"),
        (tests(&TestVerdict::is_inconclusive), "test", "inconclusive"),
    ];
    let said: Vec<String> = parts
        .iter()
        .filter(|(n, _, _)| *n > 0)
        .map(|(n, noun, what)| format!("{} {what}", count(*n, noun)))
        .collect();
    if said.is_empty() {
        let all = count(comparison.tests.len(), "test");
        return format!("no check and no declared cost differs in {all}");
    }
    let touched = tests(&|verdict| verdict.is_harm() || verdict.is_gain() || verdict.is_inconclusive());
    format!("{} in {touched} of {}", said.join(", "), count(comparison.tests.len(), "test"))
}

/// The text in lines of at most `width` columns where its words allow, all but the first indented. Runs of
/// spaces stay as they are.
#[must_use]
pub fn wrap(text: &str, width: u16, indent: usize) -> String {
    let width = usize::from(width);
    let body = text.trim_start_matches(' ');
    let mut lines = Vec::new();
    let mut line = " ".repeat(text.len() - body.len());
    for (at, word) in body.split(' ').enumerate() {
        if at > 0 && line.chars().count() + 1 + word.chars().count() > width && !line.trim().is_empty() {
            lines.push(std::mem::replace(&mut line, " ".repeat(indent)));
        } else if at > 0 {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines.push(line);
    lines.join("\n")
}

/// A text in a Markdown fence that nothing in it can close.
#[must_use]
pub fn fenced(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", text.trim_end())
}

/// A metric's values on one side.
pub(crate) fn values(values: &Values) -> String {
    match values {
        Values::Exact { value } => value.to_string(),
        Values::Sampled { .. } => {
            let (low, high) = values.range();
            if low == high { format!("{low}~") } else { format!("{low}–{high}~") }
        }
    }
}

/// Which way a metric went and whether that is good, with an arrow and a word. Of time under emulation nothing
/// is good or bad.
pub(crate) fn movement(metric: &MetricComparison) -> String {
    let ((base_low, base_high), (low, high)) = (metric.sides.base.range(), metric.sides.patched.range());
    let up = low.saturating_add(high) > base_low.saturating_add(base_high);
    let arrow = if up { "▲" } else { "▼" };
    let good_up = metric.gate.as_ref().map_or(metric.polarity, |gate| match gate.polarity {
        Direction::Lower => Polarity::Lower,
        Direction::Higher => Polarity::Higher,
    });
    let word = match (good_up, up) {
        (Polarity::Lower, false) | (Polarity::Higher, true) => "better",
        (Polarity::Lower, true) | (Polarity::Higher, false) => "worse",
        (Polarity::Neutral, true) => "more",
        (Polarity::Neutral, false) => "less",
    };
    match metric.change {
        MetricChange::Same => "same".to_owned(),
        MetricChange::Better | MetricChange::Worse => format!("{arrow} {word}, gates"),
        MetricChange::Moved if metric.gate.is_some() => format!("{arrow} {word}, below floor"),
        MetricChange::Moved => format!("{arrow} {word}"),
        MetricChange::SampledAlike => "varies".to_owned(),
        MetricChange::SampledApart => format!("{arrow} {word}, varies"),
        MetricChange::CannotTell => format!("{arrow} n too small"),
    }
}

/// The unit as a suffix of a metric's name, where the name does not say it.
pub(crate) fn unit(metric: &MetricComparison) -> &'static str {
    match metric.unit {
        Unit::Kib if !metric.name.ends_with("kib") => " (KiB)",
        Unit::Thousandths => " (‰)",
        Unit::Micros if !metric.name.ends_with("micros") => " (µs)",
        Unit::PerKilosecond => " (per 1000 s)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_a_guest_says_reaches_the_terminal_raw() {
        assert_eq!(clean("a\x1b[2J\u{202e}b\nc\x07"), "a\u{fffd}[2J\u{fffd}b c\u{fffd}");
        assert_eq!(clean(&"x".repeat(1000)).chars().count(), MAX_SHOWN + 1);
    }

    #[test]
    fn long_lines_are_wrapped_between_words() {
        assert_eq!(wrap("base  one two three", 10, 6), "base  one\n      two\n      three");
        assert_eq!(wrap("short", 10, 6), "short");
        assert_eq!(wrap("averyverylongword and", 10, 2), "averyverylongword\n  and");
    }

    #[test]
    fn lists_are_bounded() {
        assert_eq!(list(["a", "b", "c"], 3), "a, b, c");
        assert_eq!(list(["a", "b", "c"], 1), "a and 2 more");
    }
}
