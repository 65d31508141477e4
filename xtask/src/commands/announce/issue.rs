//! What is said of a bisection, and by what it is known again. Pure.
//!
//! Subjects and names of tests are other people's words: in a title they are one line without control characters, and all
//! else stands in a fence, where Markdown mentions nobody and links nothing.

use mthp_bisect::{
    graph::Revision,
    record::{Bisection, Outcome},
    text::{render, short},
};
use mthp_judge::{
    report::Status,
    text::{clean, count, harmless},
};
use mthp_kernel::files;

/// Characters; GitHub takes 256.
const TITLE: usize = 200;
/// Characters; GitHub takes 65536 of a body, the rest of which is ours.
const WORDS: usize = 60_000;

/// An issue that is to be, or a comment on one that is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Announcement {
    /// The title.
    pub title: String,
    /// In the body of the issue about the same culprit, and of no other.
    pub marker: String,
    /// In the issue, or in a comment on it, that tells of the same range of commits.
    pub seen: String,
    words: String,
}

impl Announcement {
    /// Of a bisection that came to an end; `link`, a URL, is where all its files are.
    pub fn of(it: &Bisection, link: Option<&str>) -> Option<Self> {
        let outcome = it.outcome.as_ref().filter(|_| it.status == Status::Complete)?;
        let followed = followed(it);
        let suite = &it.question.suite.name;
        let (title, identity) = match outcome {
            Outcome::Culprit { revision, .. } => (
                format!("{} broke {followed}: {}", clean(short(&revision.id)), clean(&revision.subject)),
                vec!["culprit", &revision.id],
            ),
            Outcome::Range { candidates } => (
                format!("One of {} broke {followed}{}", count(candidates.len(), "commit"), ends(candidates)),
                ["range"].into_iter().chain(candidates.iter().map(|one| one.id.as_str())).collect(),
            ),
            // What was seen on the way differs from night to night.
            Outcome::Unconfirmed { .. } | Outcome::Flaky { .. } | Outcome::ComesAndGoes { .. } => (
                format!("No commit can be named for a change of {followed}"),
                vec!["undecided", &it.question.place, suite, &followed],
            ),
        };
        let (good, bad) = (&it.question.good.id, &it.question.bad.id);
        let head = format!("{}, suite {}: {} to {}", it.question.place, suite, short(good), short(bad));
        let all = render(it, "bisect.json");
        let words = fenced(&[vec![harmless(&head), String::new()], lines(&all)].concat().join("\n"));
        Some(Self {
            title: title.chars().take(TITLE).collect(),
            marker: marker(&identity),
            seen: marker(&["seen", suite, good, bad]),
            words: link.map(|link| format!("{words}\nAll files: <{link}>\n")).unwrap_or(words),
        })
    }

    /// The body.
    pub fn body(&self) -> String {
        format!("{}\n{}", self.marker, self.comment())
    }

    /// The same on the issue that there is.
    pub fn comment(&self) -> String {
        format!("{}\n{}", self.seen, self.words)
    }
}

/// What is followed, in a line of harmless characters.
fn followed(it: &Bisection) -> String {
    let target = it.ends.as_ref().map(|ends| &ends.target);
    match target.map(|target| (target.test(), target.name())) {
        Some((Some(test), Some(name))) => format!("{} of {}", clean(name), clean(test)),
        Some((Some(test), None)) => clean(test),
        Some((None, _)) => "the kernel itself".to_owned(),
        None => format!("the suite {}", clean(&it.question.suite.name)),
    }
}

/// Invisible where it is shown. A hash, since what it stands for may be anything.
fn marker(of: &[&str]) -> String {
    format!("<!-- mthp-regress {} -->", files::sha256(of.join("\0").as_bytes()))
}

fn ends(candidates: &[Revision]) -> String {
    match candidates {
        [first, .., last] => format!(": {} to {}", clean(short(&first.id)), clean(short(&last.id))),
        _ => String::new(),
    }
}

/// Lines of harmless characters, cut where there are too many.
fn lines(all: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut length = 0;
    for line in all.lines().map(harmless) {
        length += line.chars().count() + 1;
        if length > WORDS {
            lines.push("… cut here: bisect.json has all of it".to_owned());
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
