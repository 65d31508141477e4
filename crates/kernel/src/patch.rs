//! Patches: read from whatever form they come in, checked, and applied without ever touching what is shared.
//!
//! Applying is done here and not by `patch` or `git apply`: so that it can be tried on a pristine tree without
//! writing to it, so that a failure names its hunk, and so that a hostile patch meets no program that runs parts
//! of it (ed scripts) or follows links.

mod diff;
mod error;
mod hunks;
mod mail;
mod node;
mod series;
mod tree;

use std::path::Path;

use anyhow::Result;

pub use diff::{FilePatch, Hunk, HunkLine};
pub use error::{PatchError, Position};
pub(crate) use node::{Found, Node, remove};
pub use tree::{Applied, Changes, apply, apply_on};
pub(crate) use tree::{Files, apply_missing};

/// One patch: a message or a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Where it came from: the file's name, with the message's number if there are several.
    pub name: String,
    /// Its subject without `[PATCH …]`, or the name if it has none.
    pub subject: String,
    /// Who wrote it, if it says so.
    pub author: Option<String>,
    /// The mail's Message-ID.
    pub message_id: Option<String>,
    /// What it does to files, in its order.
    pub files: Vec<FilePatch>,
    /// SHA-256 of `text`.
    pub sha256: String,
    /// The patch as it was read, mail encoding taken off.
    pub text: Vec<u8>,
}

/// Patches in the order they are applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchSeries {
    /// The patches; for a revert, the last of the series first.
    pub patches: Vec<Patch>,
    /// Whether they are taken out instead of put in.
    pub revert: bool,
}

impl PatchSeries {
    /// Reads a unified diff, a `git format-patch` mail, an mbox with a series, or a quilt folder.
    ///
    /// # Errors
    /// When it cannot be read; as a [`PatchError`] when it is no patch, is malformed, binary, or reaches outside
    /// the tree.
    pub fn read(path: &Path, revert: bool) -> Result<Self> {
        let mut patches = series::read(path)?;
        if revert {
            patches.reverse();
        }
        Ok(Self { patches, revert })
    }

    /// Parses the text of a file that holds one or more patches.
    ///
    /// # Errors
    /// The same as [`Self::read`], but for reading.
    pub fn parse(name: &str, text: &[u8], revert: bool) -> Result<Self, PatchError> {
        let mut patches = series::parse(name, text, 1)?;
        if revert {
            patches.reverse();
        }
        Ok(Self { patches, revert })
    }
}
