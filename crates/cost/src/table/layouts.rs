//! How much of a value is the luck of the page allocator: the same test with other physical layouts.

use std::fmt::Write as _;

use mthp_judge::compare::Pair;

use super::{cell, code};
use crate::{
    Machine,
    measure::Measure,
    number::{Range, change, exact, range, real, times},
    summary::Row,
};

pub(super) fn render(rows: &[Row<'_>]) -> String {
    let mut tests: Vec<(&str, &Machine)> = Vec::new();
    for row in rows {
        let test = row.layout_of.map(|(of, _)| (of, row.machine));
        tests.extend(test.filter(|test| !tests.contains(test)));
    }
    let lines: Vec<_> = tests.into_iter().filter_map(|(of, machine)| line(of, machine, rows)).collect();
    if lines.is_empty() {
        return String::new();
    }
    format!(
        "\n## With other physical layouts\n\nL2 misses as the page allocator lays the memory out, and of the same \
         accesses where the guest's free pages were shuffled before: lowest to highest.\n\n| test | machine | as \
         allocated | layouts | base | patched | × in each | the kernels |\n\
         |---|---|--:|---|--:|--:|--:|---|\n{}",
        lines.concat()
    )
}

/// One test on one machine. As allocated is the test itself, or else its layout 0.
fn line(of: &str, machine: &Machine, rows: &[Row<'_>]) -> Option<String> {
    let here = || rows.iter().filter(|row| row.machine == machine);
    let itself = here().find(|row| row.test == of && row.part.is_none());
    let mut layouts: Vec<(u32, &Pair<Range>)> = here()
        .filter_map(|row| {
            Some((row.layout_of.filter(|(other, _)| *other == of)?.1, row.get(Measure::L2Misses)?))
        })
        .collect();
    layouts.sort_by_key(|(number, _)| *number);
    let as_allocated = match itself {
        Some(itself) => itself.get(Measure::L2Misses).map(change),
        None if layouts.first().is_some_and(|(number, _)| *number == 0) => Some(change(layouts.remove(0).1)),
        None => None,
    };
    let hull = |side: fn(&Pair<Range>) -> Range| hull(layouts.iter().map(|(_, sides)| side(sides)));
    let all = Pair { base: hull(|sides| sides.base)?, patched: hull(|sides| sides.patched)? };
    let numbers: Vec<_> = layouts.iter().map(|(number, _)| *number).collect();
    let mut out = String::new();
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {} | {} | {} | {} |",
        code(of),
        cell(&machine.name),
        as_allocated.unwrap_or_else(|| "–".to_owned()),
        named(&numbers),
        range(all.base),
        range(all.patched),
        factors(&layouts),
        apart(&all),
    );
    Some(out)
}

/// The lowest and the highest of several ranges.
fn hull(ranges: impl Iterator<Item = Range>) -> Option<Range> {
    ranges.reduce(|(low, high), (other_low, other_high)| (low.min(other_low), high.max(other_high)))
}

/// `1–4`, or all numbers where one is missing in between.
fn named(numbers: &[u32]) -> String {
    let gapless = numbers.windows(2).all(|two| two[0].checked_add(1) == Some(two[1]));
    match numbers {
        [first, .., last] if gapless => format!("{first}–{last}"),
        _ => numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// The lowest and the highest factor of a layout.
fn factors(layouts: &[(u32, &Pair<Range>)]) -> String {
    let factor = |sides: &Pair<Range>| match (exact(sides.base), exact(sides.patched)) {
        (Some(base), Some(patched)) if base > 0 => Some(real(patched) / real(base)),
        (Some(0), Some(0)) => Some(1.0),
        _ => None,
    };
    let factors: Option<Vec<f64>> = layouts.iter().map(|(_, sides)| factor(sides)).collect();
    let bounds = factors.and_then(|factors| {
        let low = factors.iter().copied().reduce(f64::min)?;
        Some((low, factors.iter().copied().reduce(f64::max)?))
    });
    match bounds.map(|(low, high)| (times(low), times(high))) {
        Some((low, high)) if low == high => low,
        Some((low, high)) => format!("{low}–{high}"),
        None => "–".to_owned(),
    }
}

fn apart(all: &Pair<Range>) -> &'static str {
    match () {
        () if all.base == all.patched => "are alike",
        () if all.patched.0 > all.base.1 => "lie apart: patched has more",
        () if all.patched.1 < all.base.0 => "lie apart: patched has fewer",
        () => "overlap",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_named_by_their_numbers() {
        assert_eq!(named(&[1, 2, 3]), "1–3");
        assert_eq!(named(&[1, 3]), "1, 3");
        assert_eq!(named(&[2]), "2");
    }

    #[test]
    fn ranges_lie_apart_or_overlap() {
        for (base, patched, text) in [
            ((1, 2), (3, 4), "lie apart: patched has more"),
            ((3, 4), (1, 2), "lie apart: patched has fewer"),
            ((1, 3), (3, 4), "overlap"),
            ((1, 2), (1, 2), "are alike"),
        ] {
            assert_eq!(apart(&Pair { base, patched }), text);
        }
    }

    #[test]
    fn a_factor_needs_values() {
        let pair = |base: Range, patched: Range| Pair { base, patched };
        assert_eq!(factors(&[(1, &pair((2, 2), (4, 4))), (2, &pair((2, 2), (5, 5)))]), "2.00–2.50");
        assert_eq!(factors(&[(1, &pair((0, 0), (4, 4)))]), "–");
        assert_eq!(factors(&[(1, &pair((0, 0), (0, 0)))]), "1.00");
        assert_eq!(factors(&[(1, &pair((1, 2), (4, 4)))]), "–");
    }
}
