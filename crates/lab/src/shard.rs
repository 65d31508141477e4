//! One of several parts of a run's tests, for a CI that spreads them over machines. Pure.

use std::{fmt, str::FromStr};

/// The most parts that work is split into; GitHub starts no more jobs of one matrix either.
pub const MAX_SHARDS: u32 = 256;

/// The I-th of N parts, written `I/N`. Every test is in exactly one of them: in the part of its place modulo N, as
/// nextest's `--partition count:I/N` does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// From 1.
    number: u32,
    of: u32,
}

impl Shard {
    /// All parts, in order. `of` is held to 1 to [`MAX_SHARDS`].
    pub fn all(of: u32) -> impl Iterator<Item = Self> {
        let of = of.clamp(1, MAX_SHARDS);
        (1..=of).map(move |number| Self { number, of })
    }

    /// Which part, from 1.
    #[must_use]
    pub fn number(self) -> u32 {
        self.number
    }

    /// Of how many.
    #[must_use]
    pub fn of(self) -> u32 {
        self.of
    }

    /// Is what stands at this place (from 0) in this part?
    #[must_use]
    pub fn takes(self, place: usize) -> bool {
        usize::try_from(self.of)
            .ok()
            .and_then(|of| place.checked_rem(of))
            .is_some_and(|part| u32::try_from(part + 1) == Ok(self.number))
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.split_once('/')
            .and_then(|(number, of)| Some((digits(number)?, digits(of)?)))
            .filter(|(number, of)| *number >= 1 && number <= of && *of <= MAX_SHARDS)
            .map(|(number, of)| Self { number, of })
            .ok_or_else(|| format!("not a part I/N with 1 ≤ I ≤ N ≤ {MAX_SHARDS}, such as 2/4"))
    }
}

/// A shard has no test: not an error of anyone's, but the end of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NothingToDo {
    pub(crate) shard: Shard,
    /// Why, in words.
    pub(crate) why: String,
}

impl fmt::Display for NothingToDo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "nothing to do in shard {}: {}", self.shard, self.why)
    }
}

impl std::error::Error for NothingToDo {}

/// A number without a sign.
fn digits(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_no_part_is_refused() {
        for text in
            ["", "1", "/", "0/4", "5/4", "1/0", "0/0", "1/257", "+1/4", "1/4/4", "a/b", " 1/4", "-1/4"]
        {
            let error = text.parse::<Shard>().unwrap_err();
            assert!(error.contains("such as 2/4"), "{text:?}: {error}");
        }
    }

    proptest! {
        #[test]
        fn every_test_is_in_exactly_one_part(of in 1..=MAX_SHARDS, place in 0..5000_usize) {
            prop_assert_eq!(Shard::all(of).filter(|shard| shard.takes(place)).count(), 1);
        }

        #[test]
        fn parts_are_written_as_they_are_read(of in 1..=MAX_SHARDS) {
            for shard in Shard::all(of) {
                prop_assert_eq!(shard.to_string().parse(), Ok(shard));
            }
            prop_assert_eq!(Shard::all(of).count(), usize::try_from(of).unwrap());
        }

        #[test]
        fn parts_differ_by_one_test_at_most(of in 1..=MAX_SHARDS, tests in 0..1000_usize) {
            let sizes: Vec<usize> = Shard::all(of)
                .map(|shard| (0..tests).filter(|place| shard.takes(*place)).count())
                .collect();
            let (least, most) = (sizes.iter().min().unwrap(), sizes.iter().max().unwrap());
            prop_assert!(most - least <= 1);
        }
    }
}
