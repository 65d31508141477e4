//! A condition over measured values: `old > new`, `old == 0`, `10 * new < old`, `touch == fails`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::measured::Range;

/// How a check that holds is written, and one that fails.
pub const WORDS: [(&str, i64); 2] = [("holds", 1), ("fails", 0)];

/// One comparison.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Condition {
    left: Term,
    relation: Relation,
    right: Term,
}

/// A number, or a multiple of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Term {
    Number(i64),
    Word(&'static str, i64),
    Value { times: i64, name: String },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Relation {
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

/// Does a condition hold of values that may vary?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Truth {
    /// For all of them.
    Yes,
    /// For none.
    No,
    /// For some.
    Varies,
}

// The longer ones first, so that `<=` is not read as `<`.
const RELATIONS: [(&str, Relation); 6] = [
    ("==", Relation::Equal),
    ("!=", Relation::Unequal),
    ("<=", Relation::LessOrEqual),
    (">=", Relation::GreaterOrEqual),
    ("<", Relation::Less),
    (">", Relation::Greater),
];

impl Condition {
    /// The names of the values it speaks of.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        [&self.left, &self.right].into_iter().filter_map(|term| match term {
            Term::Value { name, .. } => Some(name.as_str()),
            Term::Number(_) | Term::Word(..) => None,
        })
    }

    /// Does it hold? `value` gives a value's range; `None` where one was not measured.
    pub fn truth(&self, value: impl Fn(&str) -> Option<Range>) -> Option<Truth> {
        let of = |term: &Term| match term {
            Term::Number(number) | Term::Word(_, number) => Some(Range::exactly(*number)),
            Term::Value { times, name } => value(name).map(|range| range.times(*times)),
        };
        let (left, right) = (of(&self.left)?, of(&self.right)?);
        Some(self.relation.truth(left, right))
    }
}

impl Relation {
    fn truth(self, left: Range, right: Range) -> Truth {
        match self {
            Self::Equal if left.is_exact() && left == right => Truth::Yes,
            Self::Equal if left.high < right.low || right.high < left.low => Truth::No,
            Self::Equal => Truth::Varies,
            Self::Unequal => Self::Equal.truth(left, right).not(),
            Self::Less if left.high < right.low => Truth::Yes,
            Self::Less if left.low >= right.high => Truth::No,
            Self::Less => Truth::Varies,
            Self::GreaterOrEqual => Self::Less.truth(left, right).not(),
            Self::Greater => Self::Less.truth(right, left),
            Self::LessOrEqual => Self::Greater.truth(left, right).not(),
        }
    }
}

impl Truth {
    fn not(self) -> Self {
        match self {
            Self::Yes => Self::No,
            Self::No => Self::Yes,
            Self::Varies => Self::Varies,
        }
    }
}

impl std::str::FromStr for Condition {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (sign, relation, at) = RELATIONS
            .iter()
            .filter_map(|(sign, relation)| Some((sign, *relation, text.find(sign)?)))
            .min_by_key(|(sign, _, at)| (*at, usize::MAX - sign.len()))
            .ok_or_else(|| format!("`{text}`: a condition compares with one of == != < <= > >="))?;
        let left = text.get(..at).unwrap_or_default();
        let right = text.get(at + sign.len()..).unwrap_or_default();
        if left.ends_with(['=', '!', '<', '>']) || right.starts_with(['=', '<', '>']) {
            return Err(format!("`{text}`: a condition compares with one of == != < <= > >="));
        }
        Ok(Self { left: term(left)?, relation, right: term(right)? })
    }
}

fn term(text: &str) -> Result<Term, String> {
    let text = text.trim();
    if let Ok(number) = text.parse() {
        return Ok(Term::Number(number));
    }
    if let Some((word, number)) = WORDS.iter().find(|(word, _)| *word == text) {
        return Ok(Term::Word(word, *number));
    }
    let (times, name) = match text.split_once('*') {
        Some((times, name)) => {
            let times: i64 =
                times.trim().parse().map_err(|_| format!("`{text}`: a factor is a whole number"))?;
            if times == 0 {
                return Err(format!("`{text}`: a factor is not 0"));
            }
            (times, name.trim())
        }
        None => (1, text),
    };
    if !is_name(name) {
        return Err(format!("`{text}` is no number and no value's name (lower-case letters, digits, -)"));
    }
    Ok(Term::Value { times, name: name.to_owned() })
}

/// May a value be called so?
#[must_use]
pub fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        && WORDS.iter().all(|(word, _)| *word != name)
}

impl std::fmt::Display for Condition {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let sign =
            RELATIONS.iter().find(|(_, relation)| *relation == self.relation).map_or("", |(sign, _)| sign);
        write!(f, "{} {sign} {}", self.left, self.right)
    }
}

impl std::fmt::Display for Term {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Word(word, _) => f.write_str(word),
            Self::Value { times: 1, name } => f.write_str(name),
            Self::Value { times, name } => write!(f, "{times} * {name}"),
        }
    }
}

impl TryFrom<String> for Condition {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Condition> for String {
    fn from(condition: Condition) -> Self {
        condition.to_string()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn truth(text: &str) -> Option<Truth> {
        let condition: Condition = text.parse().unwrap();
        condition.truth(|name| match name {
            "one" => Some(Range::exactly(1)),
            "ten" => Some(Range::exactly(10)),
            "some" => Range::of([5, 10]),
            _ => None,
        })
    }

    #[test]
    fn a_condition_holds_for_all_values_or_for_none_or_varies() {
        for (text, expected) in [
            ("one < ten", Truth::Yes),
            ("ten<one", Truth::No),
            ("10 * one == ten", Truth::Yes),
            ("one == holds", Truth::Yes),
            ("one == fails", Truth::No),
            ("some > one", Truth::Yes),
            ("some < ten", Truth::Varies),
            ("some <= ten", Truth::Yes),
            ("some == ten", Truth::Varies),
            ("some == some", Truth::Varies),
            ("some != one", Truth::Yes),
            ("some >= 11", Truth::No),
            ("-3 < one", Truth::Yes),
        ] {
            assert_eq!(truth(text), Some(expected), "{text}");
        }
        assert_eq!(truth("one < missing"), None);
    }

    #[test]
    fn what_is_no_condition_is_told() {
        for (text, problem) in [
            ("one", "compares with"),
            ("one < Two", "no value's name"),
            ("x * one < 2", "whole number"),
            ("< 2", "no value's name"),
            ("one < two < three", "no value's name"),
            ("one => two", "one of =="),
            ("one =< two", "one of =="),
            ("one <> two", "one of =="),
        ] {
            let error = text.parse::<Condition>().unwrap_err();
            assert!(error.contains(problem), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn a_condition_survives_being_written(
            left in "[a-z][a-z0-9-]{0,6}",
            times in prop::sample::select(vec![-9_i64, -1, 1, 2, 9]),
            sign in prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]),
            right in any::<i64>(),
        ) {
            prop_assume!(is_name(&left));
            let condition: Condition = format!("{times} * {left} {sign} {right}").parse().unwrap();
            prop_assert_eq!(condition.to_string().parse::<Condition>().unwrap(), condition);
        }

        #[test]
        fn no_text_is_a_panic(text in ".*") {
            let _ = text.parse::<Condition>();
        }

        #[test]
        fn truth_agrees_with_every_pair_of_values(
            a in (-9_i64..9, 0_i64..5), b in (-9_i64..9, 0_i64..5),
            sign in prop::sample::select(vec!["==", "!=", "<", "<=", ">", ">="]),
        ) {
            let condition: Condition = format!("a {sign} b").parse().unwrap();
            let holds = |a: i64, b: i64| match sign {
                "==" => a == b, "!=" => a != b, "<" => a < b, "<=" => a <= b, ">" => a > b, _ => a >= b,
            };
            // The range's ends are values that were seen.
            let pairs: Vec<bool> = [a.0, a.0 + a.1].iter()
                .flat_map(|x| [b.0, b.0 + b.1].map(|y| holds(*x, y))).collect();
            let truth = condition.truth(|name| match name {
                "a" => Range::of([a.0, a.0 + a.1]), _ => Range::of([b.0, b.0 + b.1]),
            }).unwrap();
            match truth {
                Truth::Yes => prop_assert!(pairs.iter().all(|held| *held)),
                Truth::No => prop_assert!(pairs.iter().all(|held| !*held)),
                Truth::Varies => {}
            }
        }
    }
}
