//! From a value to a place along an axis.

use crate::number::real;

/// An axis that begins at zero or is logarithmic.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scale {
    /// From zero to that value.
    Linear(f64),
    /// From that power of ten to another; zero, if there is one, a step before the first.
    Log { first: i32, last: i32, has_zero: bool },
}

impl Scale {
    /// One for all these values: logarithmic where they lie so far apart that small ones would not be seen.
    pub(super) fn of(values: impl IntoIterator<Item = i64>) -> Self {
        let values: Vec<i64> = values.into_iter().map(|value| value.max(0)).collect();
        let highest = values.iter().copied().max().unwrap_or(0);
        let lowest = values.iter().copied().filter(|value| *value > 0).min().unwrap_or(0);
        if highest == 0 || highest / 10 < lowest {
            return Self::Linear(real(highest.max(1)) * 1.05);
        }
        let has_zero = values.contains(&0);
        Self::Log { first: decade(lowest), last: decade(highest) + 1, has_zero }
    }

    /// Where the value lies, 0 to 1.
    pub(super) fn place(&self, value: i64) -> f64 {
        match *self {
            Self::Linear(highest) => real(value.max(0)) / highest,
            Self::Log { .. } if value <= 0 => 0.0,
            Self::Log { first, last, has_zero } => {
                let before = f64::from(u8::from(has_zero));
                (real(value).log10() - f64::from(first) + before) / (f64::from(last - first) + before)
            }
        }
        .clamp(0.0, 1.0)
    }

    /// The values to write at the axis.
    pub(super) fn ticks(&self) -> Vec<i64> {
        match *self {
            Self::Linear(highest) => whole_ticks(highest),
            Self::Log { first, last, has_zero } => {
                let powers = (first..=last).filter_map(|power| 10i64.checked_pow(u32::try_from(power).ok()?));
                has_zero.then_some(0).into_iter().chain(powers).collect()
            }
        }
    }
}

/// The power of ten that is not above a positive value.
fn decade(value: i64) -> i32 {
    value.checked_ilog10().and_then(|power| i32::try_from(power).ok()).unwrap_or(0)
}

/// About five round numbers from zero up to the highest.
pub(super) fn whole_ticks(highest: f64) -> Vec<i64> {
    let steps = (0..19).flat_map(|power| [1, 2, 5].map(|n| n * 10i64.pow(power)));
    let step = steps.into_iter().find(|step| real(*step) * 5.0 >= highest).unwrap_or(i64::MAX);
    (0..=5).filter_map(|n| step.checked_mul(n)).filter(|tick| real(*tick) <= highest).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_lies_far_apart_is_logarithmic() {
        assert_eq!(Scale::of([50, 100]), Scale::Linear(105.0));
        let log = Scale::of([346_085, 4_839_227, 40]);
        assert_eq!(log, Scale::Log { first: 1, last: 7, has_zero: false });
        assert_eq!(log.ticks(), [10, 100, 1000, 10_000, 100_000, 1_000_000, 10_000_000]);
        assert_eq!((log.place(10), log.place(10_000_000)), (0.0, 1.0));
    }

    #[test]
    fn zero_has_a_place_of_its_own() {
        let log = Scale::of([0, 10, 1000]);
        assert_eq!(log.ticks(), [0, 10, 100, 1000, 10_000]);
        assert_eq!((log.place(0), log.place(10), log.place(1000)), (0.0, 0.25, 0.75));
        assert_eq!(Scale::of([0]).ticks(), [0, 1]);
    }

    #[test]
    fn ticks_are_round_and_few() {
        assert_eq!(whole_ticks(24.0), [0, 5, 10, 15, 20]);
        assert_eq!(whole_ticks(1.05), [0, 1]);
        assert_eq!(whole_ticks(1e6), [0, 200_000, 400_000, 600_000, 800_000, 1_000_000]);
    }

    proptest! {
        #[test]
        fn order_is_kept_and_all_is_within(mut values in prop::collection::vec(any::<i64>(), 1..9)) {
            values.sort_unstable();
            let scale = Scale::of(values.iter().copied());
            let places: Vec<_> = values.iter().map(|value| scale.place(*value)).collect();
            prop_assert!(places.is_sorted() && places.iter().all(|place| (0.0..=1.0).contains(place)));
            prop_assert!(scale.ticks().len() <= 21);
        }
    }
}
