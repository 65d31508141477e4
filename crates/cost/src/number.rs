//! Numbers as people read them.

use mthp_judge::compare::Pair;

/// The lowest and the highest value of a side's boots; the same where none differs.
pub(crate) type Range = (i64, i64);

/// `4,839,227`.
pub(crate) fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0 { format!("-{text}") } else { text }
}

/// One value, or the lowest and the highest.
pub(crate) fn range((low, high): Range) -> String {
    if low == high { grouped(low) } else { format!("{}–{}", grouped(low), grouped(high)) }
}

/// `346,085 → 4,839,227`, or one number where nothing differs.
pub(crate) fn change(sides: &Pair<Range>) -> String {
    if sides.base == sides.patched {
        return range(sides.base);
    }
    format!("{} → {}", range(sides.base), range(sides.patched))
}

/// How many times as many the patched kernel has: `13.98`.
pub(crate) fn ratio(sides: &Pair<Range>) -> String {
    match (exact(sides.base), exact(sides.patched)) {
        (Some(base), Some(patched)) if base == patched => "same".to_owned(),
        (Some(0), Some(_)) => "from none".to_owned(),
        (Some(_), Some(0)) => "to none".to_owned(),
        (Some(base), Some(patched)) => times(real(patched) / real(base)),
        _ => "varies".to_owned(),
    }
}

/// A factor, as many digits of it as matter.
pub(crate) fn times(factor: f64) -> String {
    match factor {
        large if large >= 100.0 => format!("{large:.0}"),
        middle if middle >= 0.1 => format!("{middle:.2}"),
        small => format!("{small:.4}"),
    }
}

/// The one value of all boots.
pub(crate) fn exact((low, high): Range) -> Option<i64> {
    (low == high).then_some(low)
}

#[expect(clippy::cast_precision_loss, reason = "a ratio is shown with a few digits")]
pub(crate) fn real(value: i64) -> f64 {
    value as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(base: i64, patched: i64) -> Pair<Range> {
        Pair { base: (base, base), patched: (patched, patched) }
    }

    #[test]
    fn digits_come_in_threes() {
        for (value, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (-1_234_567, "-1,234,567"),
            (i64::MIN, "-9,223,372,036,854,775,808"),
        ] {
            assert_eq!(grouped(value), text);
        }
    }

    #[test]
    fn a_ratio_is_of_two_values() {
        for (base, patched, text) in [
            (346_085, 4_839_227, "13.98"),
            (129, 26, "0.20"),
            (9_000, 4, "0.0004"),
            (3, 3_000, "1000"),
            (0, 0, "same"),
            (0, 3, "from none"),
            (3, 0, "to none"),
        ] {
            assert_eq!(ratio(&pair(base, patched)), text);
        }
        assert_eq!(ratio(&Pair { base: (1, 2), patched: (3, 3) }), "varies");
        assert_eq!(change(&Pair { base: (1, 2), patched: (3000, 3000) }), "1–2 → 3,000");
        assert_eq!(change(&pair(7, 7)), "7");
    }
}
