//! `nightly.json`: what a nightly run did and found, and how that reads.

use std::fmt::Write as _;

use mthp_judge::{report::Status, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    regression::Culprit,
    run::{Outcome, Revision, short},
};

/// The version of the file's format. It grows when a reader of the last one would misread the new one.
pub const SCHEMA_VERSION: u32 = 1;
/// Columns of the text.
const WIDTH: u16 = 100;

/// A nightly run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nightly {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The tool's version.
    pub tool_version: String,
    /// When it began, RFC 3339.
    pub created: String,
    /// Whether `outcome` is there and is one.
    pub status: Status,
    /// Why it is not complete, or why the outcome is not good; else empty.
    pub reason: String,
    /// The repository.
    pub tree: String,
    /// The branch.
    pub branch: String,
    /// The suite.
    pub suite: String,
    /// The machine's name in the store.
    pub host: String,
    /// `kvm` or `tcg`; empty until it is chosen.
    pub accelerator: String,
    /// The head that was tested, once it is known.
    pub revision: Option<Revision>,
    /// `good`, `regressed`, `failed` or `unjudged`; `None` until it is known.
    pub outcome: Option<Word>,
    /// The last good run, which it was compared with; `None` for the first run of its kind.
    pub compared_with: Option<Compared>,
    /// What a reviewer should know.
    pub notes: Vec<String>,
    /// What is worse than in that run.
    pub regressions: Vec<Regressed>,
    /// The store's file.
    pub store: String,
}

/// An [`Outcome`] without its reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// Nothing is worse, or there is nothing to compare with.
    Good,
    /// Something is worse.
    Regressed,
    /// The kernel does not build or does not work.
    Failed,
    /// It cannot be told.
    Unjudged,
}

impl From<&Outcome> for Word {
    fn from(outcome: &Outcome) -> Self {
        match outcome {
            Outcome::Good => Self::Good,
            Outcome::Regressed { .. } => Self::Regressed,
            Outcome::Failed { .. } => Self::Failed,
            Outcome::Unjudged { .. } => Self::Unjudged,
        }
    }
}

/// The run that a run was compared with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Compared {
    /// When it began.
    pub created: String,
    /// Its commit.
    pub commit: String,
}

/// Something that is worse than it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Regressed {
    /// What, in words.
    pub target: String,
    /// Its test, to be run alone; `None` where the whole suite has to be.
    pub test: Option<String>,
    /// What `bisect --check` takes to follow it.
    pub check: Option<String>,
    /// The last commit that is known to be good.
    pub good: String,
    /// The commit that is bad.
    pub bad: String,
    /// What brought it, where that is known.
    pub culprit: Option<Culprit>,
    /// Whether an earlier run found that.
    pub known: bool,
    /// Why no culprit is named, where it was looked for.
    pub undecided: Option<String>,
}

impl Nightly {
    /// The record of a run that has not begun.
    #[must_use]
    pub fn unfinished(tool_version: &str, created: &str, tree: &str, branch: &str, suite: &str) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool_version: tool_version.to_owned(),
            created: created.to_owned(),
            status: Status::Unfinished,
            reason: "the run did not finish".to_owned(),
            tree: tree.to_owned(),
            branch: branch.to_owned(),
            suite: suite.to_owned(),
            host: String::new(),
            accelerator: String::new(),
            revision: None,
            outcome: None,
            compared_with: None,
            notes: Vec::new(),
            regressions: Vec::new(),
            store: String::new(),
        }
    }

    /// Writes down what came of it.
    pub fn conclude(&mut self, outcome: &Outcome) {
        self.outcome = Some(outcome.into());
        self.reason = outcome.reason().unwrap_or_default().to_owned();
    }
}

/// The JSON schema of `nightly.json`.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Nightly).to_value()
}

/// The run in words, the answer first; `place` is the report's folder.
#[must_use]
pub fn render(it: &Nightly, place: &str) -> String {
    let mut lines = vec![headline(it)];
    if !it.reason.is_empty() && it.status == Status::Complete {
        lines.push(format!("  {}", text::clean(&it.reason)));
    }
    lines.push(match &it.compared_with {
        Some(run) => format!("  compared with {} of {}", short(&run.commit), text::clean(&run.created)),
        None => "  compared with nothing: no good run of this tree, branch, machine, accelerator and suite is stored".to_owned(),
    });
    for one in &it.regressions {
        lines.push(format!("  worse: {}: {}", text::clean(&one.target), blame(one)));
    }
    lines.extend(it.notes.iter().map(|note| format!("  note: {}", text::clean(note))));
    if matches!(it.outcome, Some(Word::Unjudged | Word::Regressed)) {
        lines.push("  if that is meant, or the compiler, QEMU or the tests changed: the same command with --accept compares later runs with this one".to_owned());
    }
    let mut out = String::new();
    for line in lines {
        let _ = writeln!(out, "{}", text::wrap(&line, WIDTH, 4));
    }
    let _ = writeln!(out, "\nstore: {}\nreport: {}", text::clean(&it.store), text::clean(place));
    out
}

/// The same for a job's summary.
#[must_use]
pub fn markdown(it: &Nightly, place: &str) -> String {
    text::fenced(&render(it, place))
}

/// The answer in a sentence.
#[must_use]
pub fn headline(it: &Nightly) -> String {
    let head = match &it.revision {
        Some(revision) => format!(" {} (\"{}\")", revision.short(), text::clean(&revision.subject)),
        None => String::new(),
    };
    let (branch, suite) = (text::clean(&it.branch), text::clean(&it.suite));
    match it.outcome.filter(|_| it.status == Status::Complete) {
        None => format!("nightly: unfinished: {branch}{head}: {}", text::clean(&it.reason)),
        Some(Word::Good) => format!("nightly: good: {branch}{head}, suite {suite}"),
        Some(Word::Regressed) => {
            let count = text::count(it.regressions.len(), "regression");
            format!("nightly: {count}: {branch}{head}, suite {suite}")
        }
        Some(Word::Failed) => format!("nightly: the kernel fails: {branch}{head}, suite {suite}"),
        Some(Word::Unjudged) => format!("nightly: cannot be told: {branch}{head}, suite {suite}"),
    }
}

fn blame(one: &Regressed) -> String {
    match (&one.culprit, &one.undecided) {
        (Some(Culprit::Commit { commit, subject }), _) => {
            let when = if one.known { "known: " } else { "" };
            format!("{when}{} (\"{}\")", short(commit), text::clean(subject))
        }
        (Some(Culprit::Range { good, bad }), _) => {
            format!("one of the commits behind {} up to {}", short(good), short(bad))
        }
        (None, Some(why)) => text::clean(why),
        (None, None) => format!("between {} and {}, not bisected yet", short(&one.good), short(&one.bad)),
    }
}

#[cfg(test)]
mod tests;
