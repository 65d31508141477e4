//! What is left of a difference where the cache is hashed or has more ways.

use std::fmt::Write as _;

use mthp_judge::compare::Pair;

use super::{cell, code};
use crate::{
    Machine,
    measure::Measure,
    number::{Range, exact, ratio, real},
    summary::{NOTABLE, Row, Way, changed_from, main},
};

pub(super) fn render(rows: &[Row<'_>], machines: &[Machine]) -> String {
    let mut out = String::new();
    for machine in machines.iter().filter(|machine| !machine.what_if) {
        let changed: Vec<_> = machines
            .iter()
            .filter(|other| other.what_if && changed_from(other, machines) == Some(machine))
            .collect();
        let moved: Vec<_> = main(rows, machine)
            .filter(|row| matches!(row.way(Measure::L2Misses), Some(Way::More | Way::Fewer)))
            .collect();
        if changed.is_empty() {
            continue;
        }
        let names: Vec<_> =
            changed.iter().map(|it| format!("{} ({})", cell(&it.name), cell(&it.title))).collect();
        let _ = writeln!(out, "\n{} beside {}:\n", cell(&machine.name), names.join(", "));
        if moved.is_empty() {
            let _ = writeln!(
                out,
                "- no region's L2 misses differ by {NOTABLE} % or more, so there is nothing to lose"
            );
        }
        for row in moved {
            let _ = writeln!(out, "- {}", line(row, rows, &changed));
        }
    }
    if out.is_empty() {
        return out;
    }
    format!(
        "\n## With a hash or more ways\n\nMachines that are not built, each with one thing changed. What goes where \
         only the sets change and the size does not came from lines that share sets; what stays came from something \
         else.\n{out}"
    )
}

/// `test: 13.98 times the L2 misses; zen3-hashed 1.04 (0.3 % of the difference is left)`
fn line(row: &Row<'_>, rows: &[Row<'_>], changed: &[&Machine]) -> String {
    let sides = row.get(Measure::L2Misses);
    let mut out = format!("{}: L2 misses × {}", code(&row.region()), sides.map(ratio).unwrap_or_default());
    for machine in changed {
        let same =
            |other: &&Row<'_>| other.machine == *machine && (other.test, other.part) == (row.test, row.part);
        let there = rows.iter().find(same).and_then(|other| other.get(Measure::L2Misses));
        let told = match (there, sides.zip(there).and_then(|(here, there)| left(here, there))) {
            (Some(there), Some(left)) => format!("{} ({left:.1} % of the difference is left)", ratio(there)),
            (Some(there), None) => ratio(there),
            (None, _) => "no value".to_owned(),
        };
        let _ = write!(out, "; {} × {told}", cell(&machine.name));
    }
    out
}

/// How much of a difference is there too, in percent to one digit.
fn left(here: &Pair<Range>, there: &Pair<Range>) -> Option<f64> {
    let difference = |sides: &Pair<Range>| Some(real(exact(sides.patched)?) - real(exact(sides.base)?));
    let tenths = 1000.0 * difference(there)? / difference(here)?;
    // Adding zero turns a negative zero into one without a sign.
    Some(tenths.round() / 10.0 + 0.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_nothing_has_no_sign() {
        let sides = |base: i64, patched: i64| Pair { base: (base, base), patched: (patched, patched) };
        let here = sides(100, 100_100);
        for (there, text) in [(sides(100, 99), "0.0"), (sides(100, 101), "0.0"), (sides(100, 40_100), "40.0")]
        {
            let left = left(&here, &there).unwrap();
            assert_eq!(format!("{left:.1}"), text, "{there:?}");
        }
        assert!(left(&here, &Pair { base: (1, 2), patched: (3, 3) }).is_none());
    }
}
