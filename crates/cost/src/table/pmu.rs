//! What the guest's performance counters measured, beside what the model says.

use std::fmt::Write as _;

use mthp_judge::compare::Comparison;

use super::{cell, code};
use crate::{
    measure::Measure,
    number::{change, ratio},
    summary::Row,
};

/// Metrics that begin so are measured, not modelled; those of a part have its name before it.
const MEASURED: &str = "pmu.";
/// What in the model an event is. A translation that perf calls missed is one that no TLB had.
const MODELLED: [(&str, Measure); 4] = [
    ("l1d-misses", Measure::L1Misses),
    ("llc-misses", Measure::L3Misses),
    ("dtlb-misses", Measure::Walks),
    ("cycles", Measure::ModelCycles),
];

pub(super) fn render(comparison: &Comparison, rows: &[Row<'_>]) -> String {
    let mut out = String::new();
    for test in &comparison.tests {
        for metric in &test.metrics {
            let Some((part, event)) = event(&metric.name) else { continue };
            let sides = metric.sides.map(|values| values.range());
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                code(&part.map_or_else(|| test.name.clone(), |part| format!("{}/{part}", test.name))),
                cell(event),
                change(&sides),
                ratio(&sides),
                modelled(&test.name, part, event, rows)
            );
        }
    }
    if out.is_empty() {
        return out;
    }
    format!(
        "\n## Measured in the guest\n\nEvents of the guest's performance counters, in the same regions.\n\n| region | event \
         | measured | × | × in the model |\n|---|---|--:|--:|---|\n{out}"
    )
}

/// The part of the test, and the event.
fn event(metric: &str) -> Option<(Option<&str>, &str)> {
    let (part, event) = metric.rsplit_once(MEASURED)?;
    match part {
        "" => Some((None, event)),
        part => Some((Some(part.strip_suffix('.')?), event)),
    }
}

/// The model's factor on every machine that is built, where it has such an event.
fn modelled(test: &str, part: Option<&str>, event: &str, rows: &[Row<'_>]) -> String {
    let measure = MODELLED.iter().find(|(name, _)| *name == event).map(|(_, measure)| *measure);
    let is_same = |row: &&Row<'_>| (row.test, row.part) == (test, part) && !row.machine.what_if;
    let factor = |row: &Row<'_>| Some(format!("{} {}", cell(&row.machine.name), ratio(row.get(measure?)?)));
    let told: Vec<_> = rows.iter().filter(is_same).filter_map(factor).collect();
    if told.is_empty() { "–".to_owned() } else { told.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_may_be_of_a_part() {
        assert_eq!(event("pmu.cycles"), Some((None, "cycles")));
        assert_eq!(event("layout-1.pmu.llc-misses"), Some((Some("layout-1"), "llc-misses")));
        assert_eq!(event("xpmu.cycles"), None);
        assert_eq!(event("walks[zen3]"), None);
    }
}
