//! What the guest's performance counters measured, beside what the model says.

use std::fmt::Write as _;

use mthp_judge::compare::Comparison;

use super::{cell, code};
use crate::{
    measure::Measure,
    number::{change, ratio},
    summary::Row,
};

/// Metrics that begin so are measured, not modelled.
const MEASURED: &str = "pmu.";
/// The counter of cycles, which stands beside the model's.
const CYCLES: &str = "cycles";

pub(super) fn render(comparison: &Comparison, rows: &[Row<'_>]) -> String {
    let mut out = String::new();
    for test in &comparison.tests {
        for metric in &test.metrics {
            let Some(event) = metric.name.strip_prefix(MEASURED) else { continue };
            let sides = metric.sides.map(|values| values.range());
            let _ = writeln!(
                out,
                "| {} | {} | {} | {} | {} |",
                code(&test.name),
                cell(event),
                change(&sides),
                ratio(&sides),
                modelled(&test.name, event, rows)
            );
        }
    }
    if out.is_empty() {
        return out;
    }
    format!(
        "\n## Measured in the guest\n\nEvents of the guest's performance counters, in the same tests.\n\n| test | event \
         | measured | × | × in the model |\n|---|---|--:|--:|---|\n{out}"
    )
}

/// The model's factor on every machine that is built, where it has such an event.
fn modelled(test: &str, event: &str, rows: &[Row<'_>]) -> String {
    let name = |measure: &Measure| if *measure == Measure::ModelCycles { CYCLES } else { measure.name() };
    let Some(measure) = Measure::ALL.into_iter().find(|measure| name(measure) == event) else {
        return "–".to_owned();
    };
    let told: Vec<_> = rows
        .iter()
        .filter(|row| row.test == test && row.part.is_none() && !row.machine.what_if)
        .filter_map(|row| Some(format!("{} {}", cell(&row.machine.name), ratio(row.get(measure)?))))
        .collect();
    if told.is_empty() { "–".to_owned() } else { told.join(", ") }
}
