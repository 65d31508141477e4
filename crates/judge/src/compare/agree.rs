//! The agreements of one test that completed in every boot of both sides, each told as a check.
//!
//! The base says what is right: where its own boots disagree the value depends on more than the kernel, and
//! nothing can be laid to the patch.

use mthp_record::result::TestResult;

use super::{
    collect::Runs,
    measure::{names, uneven},
    types::{CheckChange, CheckComparison, CheckState, Pair},
};
use crate::text;

/// The most characters of a value that are shown: enough of a hash to tell it from another.
const VALUE: usize = 12;
/// The most different values that are shown for a side.
const VALUES: usize = 4;

pub(super) fn agreements(
    test: &str,
    runs: &Pair<Runs<'_>>,
    errors: &mut Vec<String>,
) -> Vec<CheckComparison> {
    let found = runs.map(|side| side.valid(test));
    let guarded = runs.any(|side| side.is_guarded(test));
    let all = |result: &TestResult| result.agreements.iter().map(|a| a.name.clone()).collect::<Vec<_>>();
    let mut comparisons = Vec::new();
    for name in names(&found, all) {
        if let Some(problem) = uneven(&found, all, &name) {
            errors.push(format!("{test}: the agreement {name} {problem}"));
            continue;
        }
        if guarded {
            continue;
        }
        let of = |results: &Vec<&TestResult>| -> Vec<String> {
            let agreements = results.iter().flat_map(|result| &result.agreements);
            agreements.filter(|a| a.name == name).map(|a| a.value.clone()).collect()
        };
        let first = found.patched.iter().flat_map(|result| &result.agreements).find(|a| a.name == name);
        let Some(promise) = first.map(|a| a.promise.clone()) else { continue };
        let values = found.map(of);
        comparisons.push(CheckComparison {
            name,
            promise,
            expected: "the same in every boot of both kernels".to_owned(),
            change: change(&values),
            sides: values.map(|side| state(side, values.base.first())),
        });
    }
    comparisons
}

fn change(values: &Pair<Vec<String>>) -> CheckChange {
    let right = values.base.first();
    let agrees = |side: &[String]| side.iter().all(|value| Some(value) == right);
    match (agrees(&values.base), agrees(&values.patched)) {
        (true, true) => CheckChange::StillPassing,
        (true, false) => CheckChange::Broken,
        (false, _) => CheckChange::Flaky,
    }
}

/// A boot passes where it has the base's first value.
fn state(values: &[String], right: Option<&String>) -> CheckState {
    let passed = values.iter().filter(|value| Some(*value) == right).count();
    let mut seen: Vec<String> = Vec::new();
    for value in values.iter().map(|value| shortened(value)) {
        if !seen.contains(&value) {
            seen.push(value);
        }
    }
    CheckState {
        passed,
        failed: values.len() - passed,
        observed: text::list(seen.iter().map(String::as_str), VALUES),
    }
}

fn shortened(value: &str) -> String {
    if value.chars().count() <= VALUE {
        return value.to_owned();
    }
    value.chars().take(VALUE).chain(['…']).collect()
}
