//! `bisect.json`, as far as an announcement needs it. Pure.

use mthp_judge::{report::Status, text::clean};
use serde::Deserialize;

/// What was asked, and what came of it.
#[derive(Debug, Deserialize)]
pub struct Found {
    /// Whether `outcome` is one.
    pub status: Status,
    /// Why it is not.
    pub reason: String,
    pub question: Question,
    ends: Option<Ends>,
    pub outcome: Option<Outcome>,
}

#[derive(Debug, Deserialize)]
pub struct Question {
    /// The repository.
    pub place: String,
    pub good: End,
    pub bad: End,
    pub suite: Suite,
}

#[derive(Debug, Deserialize)]
pub struct End {
    /// The commit.
    pub id: String,
}

#[derive(Debug, Deserialize)]
pub struct Suite {
    pub name: String,
}

#[derive(Debug, Deserialize)]
struct Ends {
    target: Target,
}

/// What is followed. Which fields there are depends on its kind.
#[derive(Debug, Deserialize)]
struct Target {
    kind: String,
    test: Option<String>,
    check: Option<String>,
    agreement: Option<String>,
    gate: Option<Gate>,
}

#[derive(Debug, Deserialize)]
struct Gate {
    metric: String,
}

/// What came of it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Outcome {
    /// One commit, proven against its parents.
    Culprit { revision: Revision, author: Option<String> },
    /// One of these, oldest first; all but the last were skipped.
    Range { candidates: Vec<Revision> },
    /// None: the one where the search ended does not differ from its parents.
    Unconfirmed { why: String },
    /// None: the ends differ in some boots only.
    Flaky { what: Vec<String> },
    /// None: a bad revision is followed by a good one.
    ComesAndGoes { bad: Revision, good: Revision },
}

#[derive(Debug, Deserialize)]
pub struct Revision {
    pub id: String,
    pub subject: String,
}

impl Found {
    /// Reads the file's text.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// What is followed, in a line of harmless characters.
    pub fn followed(&self) -> String {
        let Some(Ends { target }) = &self.ends else {
            return format!("the suite {}", clean(&self.question.suite.name));
        };
        let metric = target.gate.as_ref().map(|gate| &gate.metric);
        let name = target.check.as_ref().or(target.agreement.as_ref()).or(metric);
        match (&target.test, name) {
            (Some(test), Some(name)) => format!("{} of {}", clean(name), clean(test)),
            (Some(test), None) => clean(test),
            (None, _) if target.kind == "kernel" => "the kernel itself".to_owned(),
            (None, _) => clean(&target.kind),
        }
    }
}
