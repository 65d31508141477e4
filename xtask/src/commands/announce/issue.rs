//! What is said of a bisection, and by what it is known again. Pure.
//!
//! Subjects, names of tests and the summary are other people's words: in a title they are one line without control
//! characters, and all else stands in a fence, where Markdown mentions nobody and links nothing.

use mthp_judge::{report::Status, text};
use mthp_kernel::files;

use super::found::{Found, Outcome, Revision};

/// GitHub takes 256 characters.
const TITLE: usize = 200;
/// GitHub takes 65536 characters of a body; the rest of it is ours.
const SUMMARY: usize = 50_000;
/// Digits of a commit that are shown.
const SHORT: usize = 12;

/// An issue that is to be, or a comment on one that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The issue's title.
    pub title: String,
    /// In the body of the issue about the same culprit, and of no other.
    pub marker: String,
    /// In the issue, or a comment on it, that tells of the same range of commits.
    pub seen: String,
    text: String,
}

impl Announcement {
    /// Of a bisection that came to an end; `link`, a URL, is where all its files are.
    pub fn of(found: &Found, summary: &str, link: Option<&str>) -> Option<Self> {
        let outcome = found.outcome.as_ref().filter(|_| found.status == Status::Complete)?;
        let followed = found.followed();
        let question = &found.question;
        let (title, identity, said) = match outcome {
            Outcome::Culprit { revision, author } => (
                format!("{} broke {followed}: {}", short(revision), text::clean(&revision.subject)),
                vec!["culprit", &revision.id],
                [
                    vec![format!("first bad commit: {}", named(revision))],
                    author.iter().map(|author| format!("author: {}", text::clean(author))).collect(),
                ]
                .concat(),
            ),
            Outcome::Range { candidates } => (
                format!(
                    "One of {} broke {followed}: {}",
                    text::count(candidates.len(), "commit"),
                    ends(candidates)
                ),
                ["range"].into_iter().chain(candidates.iter().map(|one| one.id.as_str())).collect(),
                ["the first bad commit is one of these; all but the last could not be tried:".to_owned()]
                    .into_iter()
                    .chain(candidates.iter().map(named))
                    .collect(),
            ),
            Outcome::Unconfirmed { .. } | Outcome::Flaky { .. } | Outcome::ComesAndGoes { .. } => (
                format!("No commit can be named for a change of {followed}"),
                vec!["undecided", &question.place, &question.suite.name, &followed],
                vec![format!("no commit can be named: {}", undecided(outcome))],
            ),
        };
        let facts = [
            format!("followed: {followed}"),
            format!("suite: {}", text::clean(&question.suite.name)),
            format!("tree: {}", text::clean(&question.place)),
            format!("good: {}", text::clean(&question.good.id)),
            format!("bad: {}", text::clean(&question.bad.id)),
        ];
        let block = [said, facts.to_vec(), lines(summary)].concat().join("\n");
        let link = link.map(|link| format!("\nAll files: <{link}>\n")).unwrap_or_default();
        Some(Self {
            title: title.chars().take(TITLE).collect(),
            marker: marker(&identity),
            seen: marker(&["seen", &question.suite.name, &question.good.id, &question.bad.id]),
            text: format!("{}{link}", fenced(&block)),
        })
    }

    /// The issue's body.
    pub fn body(&self) -> String {
        format!("{}\n{}", self.marker, self.comment())
    }

    /// The same on the issue that there is.
    pub fn comment(&self) -> String {
        format!("{}\n{}", self.seen, self.text)
    }
}

/// Invisible where it is shown. A hash, since what it stands for may be anything.
fn marker(of: &[&str]) -> String {
    format!("<!-- mthp-regress {} -->", files::sha256(of.join("\0").as_bytes()))
}

/// Why not.
fn undecided(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Flaky { what } => {
            format!("it shows in some boots only: {}", text::list(what.iter().map(String::as_str), 5))
        }
        Outcome::ComesAndGoes { bad, good } => {
            format!("it comes and goes: bad at {}, good again at {}", short(bad), short(good))
        }
        Outcome::Unconfirmed { why } => text::clean(why),
        Outcome::Culprit { .. } | Outcome::Range { .. } => String::new(),
    }
}

fn ends(candidates: &[Revision]) -> String {
    match candidates {
        [] => "none is known".to_owned(),
        [only] => short(only),
        [first, .., last] => format!("{} to {}", short(first), short(last)),
    }
}

fn named(revision: &Revision) -> String {
    format!("{} (\"{}\")", text::clean(&revision.id), text::clean(&revision.subject))
}

fn short(revision: &Revision) -> String {
    text::clean(&revision.id).chars().take(SHORT).collect()
}

/// The summary without its own fence, of harmless characters, cut where it is too long.
fn lines(summary: &str) -> Vec<String> {
    let fence = |line: &str| line.starts_with("```");
    let mut lines = vec![String::new()];
    let mut length = 0;
    for line in summary.lines().filter(|line| !fence(line)) {
        let line = text::harmless(line);
        length += line.chars().count() + 1;
        if length > SUMMARY {
            lines.push("… cut here: summary.md of the report has all of it".to_owned());
            break;
        }
        lines.push(line);
    }
    lines
}

/// A fence that nothing inside can close.
fn fenced(block: &str) -> String {
    let longest = block.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("{fence}text\n{}\n{fence}\n", block.trim_end())
}

#[cfg(test)]
mod tests;
