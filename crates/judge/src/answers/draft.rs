//! An answer in the making: it collects what was measured, what was not, and which way it went.

use super::Answer;
use crate::compare::{MetricComparison, TestComparison, Values};

/// Which way several metrics went together. What varies proves nothing by itself; where something exact differs, it
/// can turn "more" or "less" into both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trend {
    /// All are exact and the same on both sides.
    Same,
    /// Some exact one went up, and none, exact or not, lies lower.
    Up,
    /// Some exact one went down, and none, exact or not, lies higher.
    Down,
    /// Some exact one differs, and not all that differ do so the same way.
    Both,
    /// No exact one differs, but some vary and their ranges do not overlap.
    Apart,
    /// No exact one differs, some vary, and their ranges overlap.
    Alike,
}

impl Trend {
    fn of<'a>(metrics: impl Iterator<Item = &'a MetricComparison>) -> Self {
        let (mut up, mut down, mut varies) = (false, false, false);
        let (mut above, mut below) = (false, false);
        for metric in metrics {
            let sides = &metric.sides;
            if let (Values::Exact { value: base }, Values::Exact { value: patched }) =
                (&sides.base, &sides.patched)
            {
                up |= patched > base;
                down |= patched < base;
            } else {
                varies = true;
                let ((base_low, base_high), (low, high)) = (sides.base.range(), sides.patched.range());
                above |= low > base_high;
                below |= high < base_low;
            }
        }
        match (up, down) {
            (true, true) => Self::Both,
            (true, false) if below => Self::Both,
            (false, true) if above => Self::Both,
            (true, false) => Self::Up,
            (false, true) => Self::Down,
            (false, false) if above || below => Self::Apart,
            (false, false) if varies => Self::Alike,
            (false, false) => Self::Same,
        }
    }

    /// Does an exact value differ?
    pub(super) fn is_change(self) -> bool {
        matches!(self, Self::Up | Self::Down | Self::Both)
    }
}

pub(super) struct Draft<'a> {
    test: &'a TestComparison,
    parts: Vec<String>,
    evidence: Vec<String>,
    missing: Vec<String>,
}

impl<'a> Draft<'a> {
    pub(super) fn of(test: &'a TestComparison) -> Self {
        Self { test, parts: Vec::new(), evidence: Vec::new(), missing: Vec::new() }
    }

    pub(super) fn metric(&self, name: &str) -> Option<&'a MetricComparison> {
        self.test.metrics.iter().find(|metric| metric.name == name)
    }

    /// Which way those metrics went that were measured, and nothing where none was.
    pub(super) fn trend(&self, names: &[&str]) -> Option<Trend> {
        let mut measured = names.iter().filter_map(|name| self.metric(name)).peekable();
        measured.peek()?;
        Some(Trend::of(measured))
    }

    /// The values of some metrics, "?" for one that was not measured; `None` where none was. Takes note of both.
    pub(super) fn values<const N: usize>(&mut self, names: [&str; N]) -> Option<[String; N]> {
        let values = names.map(|name| {
            let found = self.metric(name);
            let list = if found.is_some() { &mut self.evidence } else { &mut self.missing };
            if !list.iter().any(|known| known == name) {
                list.push(name.to_owned());
            }
            found.map(shown)
        });
        let any = values.iter().any(Option::is_some);
        any.then(|| values.map(|value| value.unwrap_or_else(|| "?".to_owned())))
    }

    pub(super) fn say(&mut self, part: String) {
        self.parts.push(part);
    }

    /// Says something of some metrics, where any was measured.
    pub(super) fn tell<const N: usize>(
        &mut self,
        names: [&str; N],
        words: impl FnOnce([String; N]) -> String,
    ) {
        if let Some(values) = self.values(names) {
            self.say(words(values));
        }
    }

    /// The answer. `same` and `moved` begin it where the trend is so; a trend that is not proven has its own words.
    pub(super) fn finish(self, question: &str, trend: Option<Trend>, same: &str, moved: &str) -> Answer {
        let lead = match trend {
            Some(Trend::Same) if !self.missing.is_empty() => "no difference in what was measured",
            Some(Trend::Same) => same,
            Some(Trend::Apart) => "not proven: it varies between boots, though the ranges lie apart",
            Some(Trend::Alike) => "no difference that shows, but it varies between boots",
            Some(Trend::Up | Trend::Down | Trend::Both) => moved,
            None => "",
        };
        let said = [lead.to_owned(), self.parts.join("; ")];
        let said = said.into_iter().filter(|said| !said.is_empty()).collect::<Vec<_>>().join(": ");
        let missing = match self.missing.len() {
            0 => None,
            _ => Some(format!("not measured: {}", self.missing.join(", "))),
        };
        let answer = [Some(said).filter(|said| !said.is_empty()), missing];
        Answer {
            question: question.to_owned(),
            answer: answer.into_iter().flatten().collect::<Vec<_>>().join("; "),
            evidence: self.evidence,
        }
    }
}

/// `47` where nothing differs, `12 → 0` where it does, `10–12 → 3 (varies)` where boots of one kernel disagree.
fn shown(metric: &MetricComparison) -> String {
    let [base, patched] = [&metric.sides.base, &metric.sides.patched].map(range);
    let range = if base == patched { base } else { format!("{base} → {patched}") };
    let exact = |side: &Values| matches!(side, Values::Exact { .. });
    if exact(&metric.sides.base) && exact(&metric.sides.patched) {
        range
    } else if metric.sides.any(varies) {
        format!("{range} (varies)")
    } else {
        format!("{range} (one boot)")
    }
}

fn varies(values: &Values) -> bool {
    let (low, high) = values.range();
    low < high
}

fn range(values: &Values) -> String {
    let (low, high) = values.range();
    if low == high { low.to_string() } else { format!("{low}–{high}") }
}
