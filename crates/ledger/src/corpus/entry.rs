//! A known bug, as `kernels/corpus/ID.toml` declares it.

use std::{ops::Range, path::PathBuf};

use mthp_judge::{
    compare::CheckChange,
    file::{self, FileError},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::Spanned;

/// How a commit or an author is written that is not known.
pub const UNKNOWN: &str = "unknown";
/// The fewest digits by which a commit is named, as the kernel's own logs do.
const MIN_DIGITS: usize = 12;

/// A known bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Its name: the file's, without `.toml`.
    pub id: String,
    /// The bug in a line.
    pub title: String,
    /// What a user loses by it.
    pub harm: String,
    /// The kernel (`kernels/NAME.toml`) on which the patch goes.
    pub kernel: String,
    /// The patch that brings the bug back, or (where the kernel has it) takes it away; relative to the file.
    pub patch: PathBuf,
    /// What cured it upstream.
    pub fix: Fix,
    /// The checks that must turn; at least one.
    pub turns: Vec<Turn>,
}

/// The commit that cured a bug.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Fix {
    /// At least twelve hexadecimal digits, or [`UNKNOWN`].
    pub commit: String,
    /// Its subject.
    pub subject: String,
    /// Who wrote it, or [`UNKNOWN`].
    pub author: String,
    /// The kernels that have the bug, for example "6.7 to 6.11.6".
    pub affected: String,
    /// The first kernels with the fix, for example "6.12", "6.11.7".
    pub fixed_in: Vec<String>,
}

/// A check that the patch must turn.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Turn {
    /// The test.
    pub test: String,
    /// The check in it.
    pub check: String,
    /// What it does with the patch.
    #[serde(default)]
    pub to: To,
}

/// What a check does with the patch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum To {
    /// It held and fails: the patch brings the bug back.
    #[default]
    Fails,
    /// It failed and holds: the kernel has the bug, the patch cures it.
    Holds,
}

impl To {
    /// The change by which the judge tells it.
    #[must_use]
    pub fn change(self) -> CheckChange {
        match self {
            Self::Fails => CheckChange::Broken,
            Self::Holds => CheckChange::Fixed,
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    title: Spanned<String>,
    harm: Spanned<String>,
    kernel: Spanned<String>,
    patch: Spanned<PathBuf>,
    fix: Spanned<Fix>,
    turns: Spanned<Vec<Spanned<Turn>>>,
}

impl Entry {
    /// Reads an entry's file; `id` is the file's name without `.toml`.
    ///
    /// # Errors
    /// When the text is no entry. The error names the line.
    pub fn parse(id: &str, text: &str) -> Result<Self, FileError> {
        let raw: Raw = file::parse(text)?;
        let fault = |span: Range<usize>, message: &str| Err(FileError::at(text, &span, message.to_owned()));
        for (what, missing) in [
            (&raw.title, "an entry says in a line which bug it is"),
            (&raw.harm, "an entry says what a user loses"),
            (&raw.kernel, "an entry names the kernel that its patch goes on"),
        ] {
            if what.get_ref().trim().is_empty() {
                return fault(what.span(), missing);
            }
        }
        if raw.patch.get_ref().extension().is_none_or(|extension| extension != "patch") {
            return fault(raw.patch.span(), "the patch is a file whose name ends in .patch");
        }
        if let Some(problem) = fix_problem(raw.fix.get_ref()) {
            return fault(raw.fix.span(), problem);
        }
        let turns = raw.turns.get_ref();
        if turns.is_empty() {
            return fault(raw.turns.span(), "an entry names at least one check that must turn");
        }
        for (at, turn) in turns.iter().enumerate() {
            let Turn { test, check, .. } = turn.get_ref();
            if test.trim().is_empty() || check.trim().is_empty() {
                return fault(turn.span(), "a turn names a test and a check in it");
            }
            let same =
                |other: &&Spanned<Turn>| other.get_ref().test == *test && other.get_ref().check == *check;
            if turns.iter().take(at).any(|other| same(&other)) {
                return fault(turn.span(), "the same check is named twice");
            }
        }
        Ok(Self {
            id: id.to_owned(),
            title: raw.title.into_inner(),
            harm: raw.harm.into_inner(),
            kernel: raw.kernel.into_inner(),
            patch: raw.patch.into_inner(),
            fix: raw.fix.into_inner(),
            turns: raw.turns.into_inner().into_iter().map(Spanned::into_inner).collect(),
        })
    }
}

fn fix_problem(fix: &Fix) -> Option<&'static str> {
    let named = fix.commit.len() >= MIN_DIGITS && fix.commit.bytes().all(|byte| byte.is_ascii_hexdigit());
    if !named && fix.commit != UNKNOWN {
        return Some("the commit is at least twelve hexadecimal digits, or \"unknown\"");
    }
    if [&fix.subject, &fix.author, &fix.affected].iter().any(|text| text.trim().is_empty()) {
        return Some("the fix has a subject, an author and the kernels that have the bug");
    }
    fix.fixed_in.is_empty().then_some("fixed_in names the first kernels with the fix")
}

#[cfg(test)]
mod tests {
    use super::*;

    const K1: &str = include_str!("../../../../kernels/corpus/k1-align-any-length.toml");

    fn error(from: &str, to: &str) -> String {
        assert!(K1.contains(from), "the shipped entry no longer has {from}");
        Entry::parse("k1", &K1.replacen(from, to, 1)).unwrap_err().to_string()
    }

    #[test]
    fn a_shipped_entry_parses() {
        let entry = Entry::parse("k1", K1).unwrap();
        assert_eq!(entry.id, "k1");
        assert_eq!(entry.turns[0].to, To::Fails);
        assert_eq!(entry.turns[0].to.change(), CheckChange::Broken);
    }

    #[test]
    fn a_malformed_entry_is_an_error_with_its_line() {
        let line = |of: &str| K1.lines().position(|line| line.starts_with(of)).unwrap() + 1;
        let title = error("title = ", "titel = ");
        assert!(title.starts_with(&format!("line {}: unknown field `titel`", line("title"))), "{title}");
        let patch = error(".patch\"", ".diff\"");
        assert!(patch.starts_with(&format!("line {}: the patch is", line("patch"))), "{patch}");
        let commit = error("d4148aeab412", "d4148ae");
        assert!(commit.starts_with(&format!("line {}: the commit", line("[fix]"))), "{commit}");
        let check = error("check = \"neighbours-touch\"", "check = \"\"");
        assert!(check.starts_with(&format!("line {}: a turn names", line("[[turns]]"))), "{check}");
        assert!(error("neighbours-merge", "neighbours-touch").contains("twice"));
        assert!(error("harm = \"", "harm = \"\"\nx = \"").contains("unknown field"));
    }
}
