//! What is measured of a region, and how the metrics of a test are called for it.
//!
//! `l2.misses[zen3]` is of the region that has the test's very name, `build.l2.misses[zen3]` of its part `build`;
//! `loads` and `build.loads` are the same on every machine.

use mthp_record::{
    cost::{Counts, RegionAccount},
    result::{Metric, Polarity, Unit},
};

use crate::cycles::{Latencies, cycles};

/// What one machine's model says of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Measure {
    /// Accesses to lines that the first-level cache did not have.
    L1Misses,
    /// Those of them that the second level did not have.
    L2Misses,
    /// Those of them that the third level did not have; of machines that have one.
    L3Misses,
    /// Translations that the first-level TLB did not have.
    DtlbMisses,
    /// Those of them that the second-level TLB did not have.
    Walks,
    /// Entries of page tables that the walks read.
    WalkReferences,
    /// All of it weighed ([`cycles`]).
    ModelCycles,
}

impl Measure {
    /// All of them, in the order in which a test has them.
    pub const ALL: [Self; 7] = [
        Self::L1Misses,
        Self::L2Misses,
        Self::L3Misses,
        Self::DtlbMisses,
        Self::Walks,
        Self::WalkReferences,
        Self::ModelCycles,
    ];

    /// The metric's name without machine and part.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::L1Misses => "l1.misses",
            Self::L2Misses => "l2.misses",
            Self::L3Misses => "l3.misses",
            Self::DtlbMisses => "dtlb.misses",
            Self::Walks => "walks",
            Self::WalkReferences => "walk-refs",
            Self::ModelCycles => "model-cycles",
        }
    }

    /// Its value; `None` where the machine has no such thing.
    fn of(self, counts: &Counts, latencies: &Latencies) -> Option<u64> {
        Some(match self {
            Self::L1Misses => counts.l1_misses,
            Self::L2Misses => counts.l2_misses,
            Self::L3Misses => latencies.l3.map(|_| counts.l3_misses)?,
            Self::DtlbMisses => counts.dtlb_misses,
            Self::Walks => counts.walks,
            Self::WalkReferences => counts.walk_references,
            Self::ModelCycles => cycles(counts, latencies),
        })
    }
}

/// A metric's name, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MeasureName<'a> {
    /// The part of the test; `None` for the region that has its very name.
    pub part: Option<&'a str>,
    /// What is measured.
    pub measure: Measure,
    /// The machine.
    pub machine: &'a str,
}

impl<'a> MeasureName<'a> {
    /// Reads a metric's name; `None` where it is none of a machine's.
    #[must_use]
    pub fn parse(name: &'a str) -> Option<Self> {
        let (what, machine) = name.strip_suffix(']')?.rsplit_once('[')?;
        Measure::ALL.into_iter().filter(|_| !machine.is_empty()).find_map(|measure| {
            let part = match what.strip_suffix(measure.name())? {
                "" => None,
                part => Some(part.strip_suffix('.').filter(|part| !part.is_empty())?),
            };
            Some(Self { part, measure, machine })
        })
    }
}

impl std::fmt::Display for MeasureName<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}{}[{}]", prefix(self.part), self.measure.name(), self.machine)
    }
}

fn prefix(part: Option<&str>) -> String {
    part.map(|part| format!("{part}.")).unwrap_or_default()
}

/// What one machine says of a region.
pub(crate) fn of_machine(
    part: Option<&str>,
    machine: &str,
    counts: &Counts,
    latencies: &Latencies,
) -> impl Iterator<Item = Metric> {
    Measure::ALL.into_iter().filter_map(move |measure| {
        let name = MeasureName { part, measure, machine }.to_string();
        Some(count(name, measure.of(counts, latencies)?, Polarity::Lower))
    })
}

/// What every machine says alike of a region.
pub(crate) fn of_all(part: Option<&str>, region: &RegionAccount) -> impl Iterator<Item = Metric> {
    let facts = [("loads", region.loads), ("stores", region.stores), ("crossings", region.crossings)];
    let prefix = prefix(part);
    facts.into_iter().map(move |(name, value)| count(format!("{prefix}{name}"), value, Polarity::Neutral))
}

/// A report's numbers end at that of an `i64`; beyond it they stay there.
fn count(name: String, value: u64, polarity: Polarity) -> Metric {
    Metric { name, value: i64::try_from(value).unwrap_or(i64::MAX), unit: Unit::Count, polarity }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_is_taken_apart() {
        let whole = MeasureName { part: None, measure: Measure::L2Misses, machine: "zen3" };
        assert_eq!(MeasureName::parse("l2.misses[zen3]"), Some(whole));
        let part = MeasureName { part: Some("build"), measure: Measure::Walks, machine: "zen3-hashed" };
        assert_eq!(MeasureName::parse("build.walks[zen3-hashed]"), Some(part));
        for other in [
            "l2.misses",
            "l2.misses[]",
            ".walks[zen3]",
            "sleepwalks[zen3]",
            "loads",
            "[zen3]",
            "faults[zen3]",
            "][",
        ] {
            assert_eq!(MeasureName::parse(other), None, "{other}");
        }
    }

    #[test]
    fn what_is_too_large_stays_at_the_largest() {
        assert_eq!(count("n".to_owned(), u64::MAX, Polarity::Lower).value, i64::MAX);
    }

    proptest! {
        #[test]
        fn a_name_survives_its_text(
            part in prop::option::of("[a-zA-Z0-9+./-]{1,20}"),
            at in 0..Measure::ALL.len(),
            machine in "[a-z0-9-]{1,12}",
        ) {
            let name = MeasureName { part: part.as_deref(), measure: Measure::ALL[at], machine: &machine };
            let text = name.to_string();
            prop_assert_eq!(MeasureName::parse(&text), Some(name));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "\\PC{0,40}") {
            if let Some(name) = MeasureName::parse(&text) {
                prop_assert_eq!(name.to_string(), text);
            }
        }
    }
}
