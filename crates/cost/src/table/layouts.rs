//! How much of a value is the luck of the page allocator: the same test with other physical layouts.

use std::fmt::Write as _;

use mthp_judge::compare::Pair;

use super::{cell, code};
use crate::{
    measure::Measure,
    number::{Range, change, exact, range, real, times},
    summary::Row,
};

pub(super) fn render(rows: &[Row<'_>]) -> String {
    let lines: Vec<_> = rows
        .iter()
        .filter(|row| row.layout_of.is_none() && row.part.is_none())
        .filter_map(|row| line(row, rows))
        .collect();
    if lines.is_empty() {
        return String::new();
    }
    format!(
        "\n## With other physical layouts\n\nL2 misses of the same test where the guest's pages were shuffled before \
         it, lowest to highest.\n\n| test | machine | as allocated | layouts | base | patched | × in each | the \
         kernels |\n|---|---|--:|---|--:|--:|--:|---|\n{}",
        lines.concat()
    )
}

fn line(row: &Row<'_>, rows: &[Row<'_>]) -> Option<String> {
    let as_allocated = row.get(Measure::L2Misses)?;
    let mut layouts: Vec<(u32, &Pair<Range>)> = rows
        .iter()
        .filter(|other| other.machine == row.machine && other.part.is_none())
        .filter_map(|other| {
            Some((other.layout_of.filter(|(of, _)| *of == row.test)?.1, other.get(Measure::L2Misses)?))
        })
        .collect();
    layouts.sort_by_key(|(number, _)| *number);
    let all = Pair {
        base: hull(layouts.iter().map(|(_, it)| it.base))?,
        patched: hull(layouts.iter().map(|(_, it)| it.patched))?,
    };
    let numbers: Vec<_> = layouts.iter().map(|(number, _)| *number).collect();
    let mut out = String::new();
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {} | {} | {} | {} |",
        code(row.test),
        cell(&row.machine.name),
        change(as_allocated),
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
