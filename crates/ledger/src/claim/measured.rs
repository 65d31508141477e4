//! What was measured for a part of a claim, and what it says of it.

use mthp_judge::compare::MIN_BOOTS_SAMPLED;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::condition::{Condition, Truth};

/// The values of something in all boots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Range {
    /// The smallest.
    pub low: i64,
    /// The largest.
    pub high: i64,
}

impl Range {
    /// One value, always.
    #[must_use]
    pub fn exactly(value: i64) -> Self {
        Self { low: value, high: value }
    }

    /// Of these values; `None` without one.
    pub fn of(values: impl IntoIterator<Item = i64>) -> Option<Self> {
        values.into_iter().fold(None, |range: Option<Self>, value| {
            let range = range.unwrap_or(Self::exactly(value));
            Some(Self { low: range.low.min(value), high: range.high.max(value) })
        })
    }

    /// Is it the same in every boot?
    #[must_use]
    pub fn is_exact(self) -> bool {
        self.low == self.high
    }

    /// A multiple of it.
    #[must_use]
    pub fn times(self, factor: i64) -> Self {
        let (one, other) = (self.low.saturating_mul(factor), self.high.saturating_mul(factor));
        Self { low: one.min(other), high: one.max(other) }
    }
}

/// What became of a claim, or of a part of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// It holds, under the conditions that were run.
    Confirmed,
    /// It does not, under the conditions that were run.
    Refuted,
    /// It cannot be decided here.
    Undecided,
    /// Of a claim of several parts: they differ.
    Split,
}

impl Verdict {
    /// Of a whole claim, from its parts.
    #[must_use]
    pub fn of_parts(parts: &[Self]) -> Self {
        match parts {
            [] => Self::Undecided,
            [first, rest @ ..] if rest.iter().all(|part| part == first) => *first,
            _ => Self::Split,
        }
    }
}

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Confirmed => "confirmed",
            Self::Refuted => "refuted",
            Self::Undecided => "cannot be decided here",
            Self::Split => "differs by part",
        })
    }
}

/// Decides a part from its conditions. The text says why it cannot be decided, where it cannot.
///
/// All of `confirmed` hold of all values: confirmed. All of `refuted` do: refuted. Where one of the two is empty, it holds
/// when a condition of the other holds of no value ("otherwise"). Else neither is claimed; nor is it where a value is missing, or varies and there are fewer than [`MIN_BOOTS_SAMPLED`] boots of each kernel.
pub fn decide(
    confirmed: &[Condition],
    refuted: &[Condition],
    boots: usize,
    value: impl Fn(&str) -> Option<Range> + Copy,
) -> (Verdict, Option<String>) {
    let undecided = |why: String| (Verdict::Undecided, Some(why));
    for name in confirmed.iter().chain(refuted).flat_map(Condition::names) {
        match value(name) {
            None => return undecided(format!("{name} was not measured")),
            Some(range) if !range.is_exact() && boots < MIN_BOOTS_SAMPLED => {
                return undecided(format!(
                    "{name} varies, and {boots} boots of each kernel are too few for that; it takes {MIN_BOOTS_SAMPLED}"
                ));
            }
            Some(_) => {}
        }
    }
    let all = |conditions: &[Condition]| {
        !conditions.is_empty() && conditions.iter().all(|it| it.truth(value) == Some(Truth::Yes))
    };
    let not = |conditions: &[Condition]| conditions.iter().any(|it| it.truth(value) == Some(Truth::No));
    let holds = |its: &[Condition], others: &[Condition]| {
        if its.is_empty() { not(others) } else { all(its) }
    };
    match (holds(confirmed, refuted), holds(refuted, confirmed)) {
        (true, false) => (Verdict::Confirmed, None),
        (false, true) => (Verdict::Refuted, None),
        (true, true) => {
            undecided("both of the claim's conditions hold: its file contradicts itself".to_owned())
        }
        (false, false) => {
            let varies = confirmed.iter().chain(refuted).find(|it| it.truth(value) == Some(Truth::Varies));
            undecided(match varies {
                Some(condition) => {
                    format!("the values vary between boots, so that `{condition}` holds of some")
                }
                None => "neither of the claim's conditions holds of the values".to_owned(),
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conditions(texts: &[&str]) -> Vec<Condition> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn verdict(confirmed: &[&str], refuted: &[&str]) -> (Verdict, Option<String>) {
        decide(&conditions(confirmed), &conditions(refuted), 8, |name| match name {
            "two" => Some(Range::exactly(2)),
            "some" => Range::of([1, 3]),
            _ => None,
        })
    }

    #[test]
    fn each_verdict_and_why_there_is_none() {
        assert_eq!(verdict(&["two > 1"], &["two <= 1"]), (Verdict::Confirmed, None));
        assert_eq!(verdict(&["two > 2"], &["two <= 2"]), (Verdict::Refuted, None));
        let why = |confirmed: &[&str], refuted: &[&str]| {
            let (verdict, why) = verdict(confirmed, refuted);
            assert_eq!(verdict, Verdict::Undecided);
            why.unwrap()
        };
        assert!(why(&["two > 1"], &["two > 0"]).contains("contradicts"));
        assert!(why(&["gone > 1"], &["gone <= 1"]).contains("not measured"));
        assert!(why(&["some > 2"], &["some <= 2"]).contains("vary"));
        assert!(why(&["two > 5"], &["two < 0"]).contains("neither"));
        assert!(why(&[], &[]).contains("neither"));
        assert_eq!(verdict(&["two > 1", "two > 2"], &[]), (Verdict::Refuted, None));
        assert_eq!(verdict(&["two > 1"], &[]), (Verdict::Confirmed, None));
        assert_eq!(verdict(&[], &["two == 2", "two < 0"]), (Verdict::Confirmed, None));
        assert!(why(&["some > 2"], &[]).contains("vary"));
    }

    #[test]
    fn a_value_that_is_missing_or_varies_in_few_boots_decides_nothing() {
        let (confirmed, refuted) = (conditions(&["old > 5"]), conditions(&["old <= new"]));
        let (verdict, why) =
            decide(&confirmed, &refuted, 2, |name| (name == "old").then(|| Range::exactly(9)));
        assert_eq!((verdict, why.unwrap()), (Verdict::Undecided, "new was not measured".to_owned()));
        let apart = |name: &str| if name == "old" { Range::of([1000, 1300]) } else { Range::of([700, 999]) };
        assert_eq!(decide(&confirmed, &refuted, 2, apart).0, Verdict::Undecided);
        assert_eq!(decide(&confirmed, &refuted, 8, apart).0, Verdict::Confirmed);
    }

    #[test]
    fn a_claim_is_what_all_its_parts_are_or_depends() {
        use Verdict::{Confirmed, Refuted, Split, Undecided};
        assert_eq!(Verdict::of_parts(&[Confirmed, Confirmed]), Confirmed);
        assert_eq!(Verdict::of_parts(&[Confirmed, Refuted]), Split);
        assert_eq!(Verdict::of_parts(&[Confirmed, Undecided]), Split);
        assert_eq!(Verdict::of_parts(&[]), Undecided);
    }
}
