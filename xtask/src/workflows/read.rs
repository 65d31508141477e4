//! The calls of `cargo xtask` in workflows.

use std::{collections::BTreeMap, fs, path::Path};

use serde::{Deserialize, de::DeserializeOwned};

/// A workflow, or an action made of steps, as far as it is looked at.
#[derive(Debug, Deserialize)]
pub struct Workflow {
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    pub permissions: BTreeMap<String, String>,
    pub jobs: BTreeMap<String, Job>,
}

#[derive(Debug, Deserialize)]
pub struct Job {
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    #[serde(default)]
    pub permissions: BTreeMap<String, String>,
    pub steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
pub struct Action {
    pub runs: Runs,
}

#[derive(Debug, Deserialize)]
pub struct Runs {
    pub steps: Vec<Step>,
}

#[derive(Debug, Deserialize)]
pub struct Step {
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    pub run: Option<String>,
    pub uses: Option<String>,
}

/// One call, with its variables as they are written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What follows `cargo xtask`, without quotes.
    pub words: Vec<String>,
}

pub fn yaml<T: DeserializeOwned>(path: &Path) -> T {
    let text = fs::read_to_string(path).unwrap();
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The calls of a script. Each must begin a line (after `exec`, if need be), so that none is overlooked.
pub fn calls(script: &str) -> Vec<Call> {
    let script = script.replace("\\\n", " ");
    let lines = script.lines().filter(|line| !line.trim_start().starts_with('#'));
    lines.filter(|line| line.contains("xtask") && !line.contains("--package xtask")).map(call).collect()
}

fn call(line: &str) -> Call {
    let words = shlex::split(line).unwrap_or_else(|| panic!("not a line of shell: {line}"));
    let words: Vec<&str> = words.iter().map(String::as_str).skip_while(|&word| word == "exec").collect();
    let Some(words) = words.strip_prefix(&["cargo", "xtask"]) else {
        panic!("a call that does not begin its line: {line}")
    };
    let ends = |word: &&&str| !matches!(word.chars().next(), Some('>' | '<' | '|' | '&' | ';'));
    Call { words: words.iter().take_while(ends).map(|&word| word.to_owned()).collect() }
}

impl Call {
    /// With every variable set to `value` of its name; what is written `${NAME:+WORD}` is left out unless `optional`.
    pub fn expand(&self, optional: bool, mut value: impl FnMut(&str) -> String) -> Vec<String> {
        let mut words = Vec::new();
        for word in &self.words {
            if let Some((name, inner)) = optional_word(word) {
                let _ = value(name);
                if optional {
                    words.push(plain(inner, &mut value));
                }
            } else {
                words.push(plain(word, &mut value));
            }
        }
        words
    }
}

/// `${NAME:+WORD}`, which is WORD where NAME is set and not empty, and nothing otherwise.
fn optional_word(word: &str) -> Option<(&str, &str)> {
    word.strip_prefix("${")?.strip_suffix('}')?.split_once(":+")
}

fn plain(word: &str, value: &mut impl FnMut(&str) -> String) -> String {
    let mut parts = word.split('$');
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let length = part.bytes().take_while(|byte| byte.is_ascii_uppercase() || *byte == b'_').count();
        assert!(length > 0, "an expansion that this test does not know: {word}");
        out.push_str(&value(&part[..length]));
        out.push_str(&part[length..]);
    }
    out
}

mod tests {
    use super::*;

    fn words(script: &str, optional: bool) -> Vec<Vec<String>> {
        calls(script).iter().map(|call| call.expand(optional, |name| name.to_lowercase())).collect()
    }

    #[test]
    fn a_call_is_what_a_shell_makes_of_its_line() {
        let script = "# cargo xtask no\ntrue\ncargo xtask plan --format github \\\n  --tree \"$TREE\" > out\nexec cargo xtask ci\n";
        assert_eq!(words(script, true), [vec!["plan", "--format", "github", "--tree", "tree"], vec!["ci"]]);
        let script = "cargo xtask plan ${TREE:+\"--tree=$TREE\"} | cat";
        assert_eq!(words(script, true), [["plan", "--tree=tree"]]);
        assert_eq!(words(script, false), [["plan"]]);
    }

    #[test]
    #[should_panic(expected = "does not begin its line")]
    fn a_call_that_could_be_overlooked_is_refused() {
        calls("out=\"$(cargo xtask plan)\"");
    }

    #[test]
    #[should_panic(expected = "does not know")]
    fn an_unknown_expansion_is_refused() {
        words("cargo xtask plan \"$(date)\"", true);
    }
}
