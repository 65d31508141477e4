//! From one run to the next: what changed.

use mthp_record::result::Polarity;
use serde::Serialize;

use crate::history::{Kind, Measured, Track};

/// How a value stands to that of the run before in its series, passing over runs without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Change {
    /// There is no value before it.
    First,
    /// It is the same.
    Same,
    /// It varies between boots of one kernel, and the ranges overlap: nothing that counts as a difference.
    Varies,
    /// It is another: a check that no longer ends as it did, another exact value, or ranges that lie apart.
    Changed {
        /// Which way.
        up: bool,
        /// Is that good? `None` of a fact without a good direction, and of time under emulation.
        better: Option<bool>,
    },
}

impl Change {
    /// With an arrow and words; empty where there is nothing to say.
    #[must_use]
    pub fn words(self) -> &'static str {
        match self {
            Self::First | Self::Same => "",
            Self::Varies => "varies",
            Self::Changed { up: true, better: None } => "▲ changed",
            Self::Changed { up: true, better: Some(true) } => "▲ changed, better",
            Self::Changed { up: true, better: Some(false) } => "▲ changed, worse",
            Self::Changed { up: false, better: None } => "▼ changed",
            Self::Changed { up: false, better: Some(true) } => "▼ changed, better",
            Self::Changed { up: false, better: Some(false) } => "▼ changed, worse",
        }
    }
}

/// The change at every point of the track; `None` where the point has no value.
#[must_use]
pub fn changes(track: &Track) -> Vec<Option<Change>> {
    let mut before = None;
    let change = |measured: Option<Measured>| {
        let measured = measured?;
        let change = before.map_or(Change::First, |before| between(track, before, measured));
        before = Some(measured);
        Some(change)
    };
    track.points.iter().map(|point| point.measured).map(change).collect()
}

fn between(track: &Track, before: Measured, now: Measured) -> Change {
    let ((low_before, high_before), (low, high)) = (before.range(), now.range());
    if (low_before, high_before) == (low, high) {
        return Change::Same;
    }
    let apart = low > high_before || high < low_before;
    if !apart && track.measures != Kind::Check {
        return Change::Varies;
    }
    let up = (low, high) > (low_before, high_before);
    let better = match polarity(track) {
        Polarity::Neutral => None,
        Polarity::Higher => Some(up),
        Polarity::Lower => Some(!up),
    };
    Change::Changed { up, better }
}

/// Which way is better.
fn polarity(track: &Track) -> Polarity {
    match track.measures {
        Kind::Check => Polarity::Higher,
        // Emulation distorts time by more than any revision does.
        Kind::Metric { unit, .. } if unit.is_time() && track.series.accelerator == "tcg" => Polarity::Neutral,
        Kind::Metric { polarity, .. } => polarity,
    }
}

#[cfg(test)]
mod tests {
    use mthp_record::result::Unit;
    use proptest::prelude::*;

    use super::*;
    use crate::sample::{self, metric};

    fn words(track: &Track) -> Vec<&'static str> {
        changes(track).into_iter().map(|change| change.map_or("none", Change::words)).collect()
    }

    #[test]
    fn an_exact_value_changes_when_it_differs() {
        let track =
            sample::track(&[metric(0, 0), metric(0, 0), metric(8, 8), None, metric(8, 8), metric(4, 4)]);
        assert_eq!(words(&track), ["", "", "▲ changed, worse", "none", "", "▼ changed, better"]);
    }

    #[test]
    fn a_range_changes_when_it_lies_apart() {
        let track = sample::track(&[metric(1, 3), metric(2, 4), metric(5, 6), metric(4, 6), metric(1, 2)]);
        assert_eq!(words(&track), ["", "varies", "▲ changed, worse", "varies", "▼ changed, better"]);
    }

    #[test]
    fn a_check_changes_with_every_way_of_ending() {
        let check = |passed, failed| Some(Measured::Check { passed, failed });
        let mut track =
            sample::track(&[check(2, 0), check(3, 0), check(1, 1), check(0, 2), check(1, 2), check(2, 0)]);
        track.measures = Kind::Check;
        let (worse, better) = ("▼ changed, worse", "▲ changed, better");
        assert_eq!(words(&track), ["", "", worse, worse, better, better]);
    }

    #[test]
    fn facts_and_times_under_emulation_are_neither_better_nor_worse() {
        let mut track = sample::track(&[metric(1, 1), metric(2, 2)]);
        track.measures = Kind::Metric { unit: Unit::Count, polarity: Polarity::Neutral };
        assert_eq!(words(&track), ["", "▲ changed"]);
        track.measures = Kind::Metric { unit: Unit::Micros, polarity: Polarity::Lower };
        assert_eq!(words(&track), ["", "▲ changed"]);
        track.series.accelerator = "kvm".to_owned();
        assert_eq!(words(&track), ["", "▲ changed, worse"]);
    }

    proptest! {
        #[test]
        fn there_and_back_are_opposite(values in prop::array::uniform4(any::<i64>())) {
            let [a, b, c, d] = values;
            let (one, two) = (metric(a.min(b), a.max(b)), metric(c.min(d), c.max(d)));
            let change = |points: &[_]| changes(&sample::track(points))[1];
            match (change(&[one, two]), change(&[two, one])) {
                (Some(Change::Changed { up, .. }), Some(Change::Changed { up: back, .. })) => prop_assert_ne!(up, back),
                (there, back) => prop_assert_eq!(there, back),
            }
        }
    }
}
