//! What the reports of nightly runs say is to be bisected. Pure.

use mthp_judge::report::Status;
use mthp_kernel::BadInput;
use serde::{Deserialize, Serialize, de::IgnoredAny};

/// The name of a nightly run's report in its folder.
pub const REPORT: &str = "nightly.json";

/// A bisection, in the form that a workflow's matrix takes: one that has no test or no check has an empty one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Bisection {
    /// Unique among them, and safe as the name of a file or an artifact.
    pub name: String,
    /// The git repository.
    pub tree: String,
    /// The branch.
    pub branch: String,
    /// The suite.
    pub suite: String,
    /// The commit that works.
    pub good: String,
    /// The commit that does not.
    pub bad: String,
    /// The test to follow.
    pub test: String,
    /// The check of it.
    pub check: String,
}

/// `nightly.json`, as far as it is needed here.
#[derive(Deserialize)]
struct Night {
    status: Status,
    tree: String,
    branch: String,
    suite: String,
    #[serde(default)]
    regressions: Vec<Regression>,
}

#[derive(Deserialize)]
struct Regression {
    good: String,
    bad: String,
    test: Option<String>,
    check: Option<String>,
    /// What an earlier bisection found.
    culprit: Option<IgnoredAny>,
}

/// The bisections that `nightly.json` files ask for, in their order. Each file is its name and its text.
///
/// One for all that broke between the same two commits with one suite: it follows the first, and its report names what is not the
/// found commit's doing. What has a culprit already is left out.
///
/// # Errors
/// When a file is none, or a value in it would not survive the way through a command line.
pub fn bisections(files: &[(String, String)]) -> Result<Vec<Bisection>, BadInput> {
    let mut found: Vec<Bisection> = Vec::new();
    for (file, text) in files {
        let night: Night = serde_json::from_str(text)
            .map_err(|error| BadInput(format!("failed to read the nightly report {file}: {error}")))?;
        if night.status != Status::Complete {
            continue;
        }
        for regression in night.regressions.iter().filter(|one| one.culprit.is_none()) {
            let mut next = Bisection {
                name: String::new(),
                tree: night.tree.clone(),
                branch: night.branch.clone(),
                suite: night.suite.clone(),
                good: regression.good.clone(),
                bad: regression.bad.clone(),
                test: regression.test.clone().unwrap_or_default(),
                check: regression.check.clone().unwrap_or_default(),
            };
            next.check(file)?;
            if !found.iter().any(|other| other.range() == next.range()) {
                next.name = name(found.len() + 1, &next);
                found.push(next);
            }
        }
    }
    Ok(found)
}

impl Bisection {
    fn range(&self) -> [&str; 5] {
        [&self.tree, &self.branch, &self.suite, &self.good, &self.bad]
    }

    fn check(&self, file: &str) -> Result<(), BadInput> {
        for (what, value, must) in [
            ("tree", &self.tree, true),
            ("branch", &self.branch, true),
            ("suite", &self.suite, true),
            ("good", &self.good, true),
            ("bad", &self.bad, true),
            ("test", &self.test, false),
            ("check", &self.check, false),
        ] {
            // What begins so would be taken for a flag.
            if value.starts_with('-') || value.contains(char::is_control) || must && value.is_empty() {
                return Err(BadInput(format!(
                    "failed to read the nightly report {file}: the {what} {value:?} is empty, begins with -, or has control characters"
                )));
            }
        }
        Ok(())
    }
}

/// The number alone makes it unique; the rest is for people.
fn name(number: usize, of: &Bisection) -> String {
    let safe = |text: &str| -> String {
        text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(24).collect()
    };
    format!("{number}_{}_{}_{}", safe(&of.branch), safe(&of.suite), safe(&of.bad).get(..12).unwrap_or("bad"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;

    fn night(regressions: Value) -> Value {
        json!({
            "status": "complete", "outcome": "regressed", "tree": "https://example.org/linux", "branch": "a/b",
            "suite": "memory", "revision": "b".repeat(40), "regressions": regressions, "more": 1,
        })
    }

    fn regression(bad: &str, test: &str) -> Value {
        json!({"good": "a".repeat(40), "bad": bad.repeat(40), "test": test, "check": "touch"})
    }

    fn of(files: &[Value]) -> Result<Vec<Bisection>, String> {
        let files: Vec<(String, String)> =
            files.iter().map(|file| ("n/nightly.json".to_owned(), file.to_string())).collect();
        bisections(&files).map_err(|error| error.to_string())
    }

    #[test]
    fn what_broke_between_the_same_commits_is_bisected_once() {
        let nights = [
            night(json!([regression("b", "one"), regression("b", "two"), regression("c", "one")])),
            night(json!([regression("b", "three")])),
            night(json!([])),
        ];
        let found = of(&nights).unwrap();
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["1_a-b_memory_bbbbbbbbbbbb", "2_a-b_memory_cccccccccccc"]);
        assert_eq!((found[0].test.as_str(), found[0].check.as_str()), ("one", "touch"));
    }

    #[test]
    fn a_kernel_that_panics_has_neither_test_nor_check() {
        let found = of(&[night(json!([{"good": "a", "bad": "b", "test": null}]))]).unwrap();
        assert_eq!((found[0].test.as_str(), found[0].check.as_str()), ("", ""));
    }

    #[test]
    fn what_has_a_culprit_is_not_bisected_again() {
        let mut known = regression("b", "one");
        known["culprit"] = json!({"commit": "c"});
        let found = of(&[night(json!([known, regression("b", "two")]))]).unwrap();
        let tests: Vec<&str> = found.iter().map(|one| one.test.as_str()).collect();
        assert_eq!(tests, ["two"]);
    }

    #[test]
    fn a_run_that_did_not_end_asks_for_nothing() {
        for status in ["unfinished", "interrupted", "refused", "failed"] {
            let mut night = night(json!([regression("b", "one")]));
            night["status"] = json!(status);
            assert_eq!(of(&[night]).unwrap(), [], "{status}");
        }
    }

    #[test]
    fn what_is_no_report_is_named() {
        for (key, value) in [
            ("status", json!("done")),
            ("tree", json!("--upload-pack=x")),
            ("branch", json!("")),
            ("suite", json!("a\nb")),
            ("tree", json!(null)),
            ("regressions", json!([{"good": "a"}])),
            ("regressions", json!([{"good": "-a", "bad": "b"}])),
            ("regressions", json!([{"good": "a", "bad": "b", "test": "\u{1b}[2J"}])),
        ] {
            let mut night = night(json!([regression("b", "one")]));
            night[key] = value.clone();
            let error = of(&[night]).unwrap_err();
            assert!(error.contains("n/nightly.json"), "{key} {value}: {error}");
        }
        let error = bisections(&[("x".to_owned(), "{".to_owned())]).unwrap_err().to_string();
        assert!(error.starts_with("failed to read the nightly report x: "), "{error}");
    }

    proptest! {
        #[test]
        fn names_are_unique_and_safe(branches in prop::collection::vec("\\PC{1,40}", 1..8)) {
            let nights: Vec<Value> = branches.iter().map(|branch| {
                let mut night = night(json!([regression("é", "one")]));
                night["branch"] = json!(branch.trim_start_matches('-'));
                night
            }).filter(|night| night["branch"] != "").collect();
            let mut names: Vec<String> = of(&nights).unwrap().into_iter().map(|one| one.name).collect();
            prop_assert!(names.iter().all(|name| name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_".contains(&b))));
            let before = names.len();
            names.sort();
            names.dedup();
            prop_assert_eq!(names.len(), before);
        }
    }
}
