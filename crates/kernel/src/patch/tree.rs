//! Patches on a tree: worked out in memory, so that nothing is written before all of them are known to apply.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::Result;

use super::{
    FilePatch, Patch, PatchError, PatchSeries, Position, hunks,
    node::{Found, KIND, LINK, Node, remove},
};
use crate::files;

/// A patch that was applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// Its name.
    pub name: String,
    /// Its subject.
    pub subject: String,
    /// Its hash.
    pub sha256: String,
    /// The most context lines that had to be ignored for it.
    pub fuzz: usize,
    /// Whether it was taken out.
    pub reverted: bool,
}

/// What patches make of a tree.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The patches, in the order they were applied.
    pub applied: Vec<Applied>,
    files: Files,
}

/// Files that are different from the tree's; none for one that is gone.
pub(crate) type Files = BTreeMap<String, Option<Node>>;

/// Why one file of a patch does not apply.
enum Trouble {
    Rejected(String),
    Outside(String, String),
    Failed(anyhow::Error),
}

fn rejected<T>(why: impl Into<String>) -> Result<T, Trouble> {
    Err(Trouble::Rejected(why.into()))
}

/// Applies patches to a tree, which is only read.
///
/// # Errors
/// A [`PatchError`] for one that does not apply, is in the tree already (or, for a revert, is not), or goes
/// through a symbolic link; others for files that cannot be read.
pub fn apply(tree: &Path, series: &[PatchSeries]) -> Result<Changes> {
    apply_on(tree, &[], series)
}

/// As [`apply`], on a kernel that has patches of its own. An error counts those apart: a user's one patch is
/// patch 1 of 1.
///
/// # Errors
/// As [`apply`].
pub fn apply_on(tree: &Path, own: &[PatchSeries], series: &[PatchSeries]) -> Result<Changes> {
    let mut changes = Changes::default();
    changes.extend(tree, own, Err)?;
    changes.extend(tree, series, Err)?;
    Ok(changes)
}

/// As [`apply_on`] with several groups, each counted apart, but patches of `series` that are in already (or, for a
/// revert, are not) are left out; they are given beside.
///
/// # Errors
/// As [`apply`], but for those.
pub(crate) fn apply_missing(
    tree: &Path,
    groups: &[&[PatchSeries]],
    series: &[PatchSeries],
) -> Result<(Changes, Vec<PatchError>)> {
    let mut changes = Changes::default();
    let mut left_out = Vec::new();
    for group in groups {
        changes.extend(tree, group, Err)?;
    }
    changes.extend(tree, series, |error| {
        left_out.push(error);
        Ok(())
    })?;
    Ok((changes, left_out))
}

impl Changes {
    /// Applies patches on top; `idle` decides on one that would change nothing.
    fn extend(
        &mut self,
        tree: &Path,
        group: &[PatchSeries],
        mut idle: impl FnMut(PatchError) -> Result<(), PatchError>,
    ) -> Result<()> {
        let total = group.iter().map(|series| series.patches.len()).sum();
        let patches =
            group.iter().flat_map(|series| series.patches.iter().map(|patch| (patch, series.revert)));
        for (number, (patch, revert)) in (1..).zip(patches) {
            let position =
                || Position { number, total, name: patch.name.clone(), subject: patch.subject.clone() };
            let result = apply_patch(tree, &self.files, patch, revert);
            // Fuzz finds a place for a change that is made already; so does nothing else.
            if !matches!(result, Ok((_, 0)) | Err((_, Trouble::Failed(_))))
                && matches!(apply_patch(tree, &self.files, patch, !revert), Ok((_, 0)))
            {
                let patch = position();
                idle(if revert {
                    PatchError::NotInTree { patch }
                } else {
                    PatchError::AlreadyApplied { patch }
                })?;
                continue;
            }
            let fuzz = match result {
                Ok((files, fuzz)) => {
                    self.files = files;
                    fuzz
                }
                Err((file, Trouble::Rejected(why))) => {
                    return Err(PatchError::Rejected { patch: position(), file, why }.into());
                }
                Err((_, Trouble::Outside(file, why))) => {
                    return Err(PatchError::Outside { name: patch.name.clone(), file, why }.into());
                }
                Err((_, Trouble::Failed(error))) => return Err(error),
            };
            self.applied.push(Applied {
                name: patch.name.clone(),
                subject: patch.subject.clone(),
                sha256: patch.sha256.clone(),
                fuzz,
                reverted: revert,
            });
        }
        Ok(())
    }

    /// The files that are different from the tree's.
    pub fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    /// The hash of a file's new content; none for one that is gone, or is not different.
    #[must_use]
    pub fn sha256(&self, path: &str) -> Option<String> {
        self.files.get(path)?.as_ref().map(|node| files::sha256(&node.contents))
    }

    /// Writes the changes into a clone of the tree. Files are replaced and never written to: the clone shares
    /// them with the tree.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn write(&self, clone: &Path) -> Result<()> {
        for (name, node) in &self.files {
            let path = clone.join(name);
            match node {
                Some(node) => node.write(&path)?,
                None => remove(&path)?,
            }
        }
        Ok(())
    }

    /// The files that are different from the tree's; none for one that is gone.
    pub(crate) fn into_files(self) -> Files {
        self.files
    }
}

/// The files after a patch, and its fuzz; or the file that is in the way.
fn apply_patch(
    tree: &Path,
    files: &Files,
    patch: &Patch,
    revert: bool,
) -> Result<(Files, usize), (String, Trouble)> {
    let mut overlay = Overlay { tree, files: files.clone() };
    let mut fuzz = 0;
    let mut one = |file: &FilePatch| {
        fuzz = overlay.apply(file).map_err(|trouble| (file.name().to_owned(), trouble))?.max(fuzz);
        Ok(())
    };
    if revert {
        patch.files.iter().rev().try_for_each(|file| one(&file.reversed()))?;
    } else {
        patch.files.iter().try_for_each(one)?;
    }
    Ok((overlay.files, fuzz))
}

struct Overlay<'a> {
    tree: &'a Path,
    files: Files,
}

impl Overlay<'_> {
    fn apply(&mut self, patch: &FilePatch) -> Result<usize, Trouble> {
        let before = match &patch.old {
            Some(name) => match self.node(name)? {
                Some(node) => Some(node),
                None => return rejected("there is no such file in the tree (names are taken with -p1)"),
            },
            None => None,
        };
        let link_before = before.as_ref().is_some_and(|node| node.is_link());
        let link_told = patch.old_mode.or(patch.new_mode).is_some_and(|mode| mode & KIND == LINK);
        if link_before && !link_told && !patch.hunks.is_empty() {
            let name = patch.name().to_owned();
            return Err(Trouble::Outside(
                name,
                "it is a symbolic link, and the patch takes it for a file".to_owned(),
            ));
        }
        let contents = before.as_ref().map(|node| node.contents.as_slice()).unwrap_or_default();
        let done = match hunks::apply(contents, &patch.hunks) {
            Ok(done) => done,
            Err(index) => {
                let (line, start) =
                    patch.hunks.get(index).map(|hunk| (hunk.line, hunk.old_start)).unwrap_or_default();
                return rejected(format!(
                    "hunk {} of {} (line {line} of the patch, for line {start} of the file) does not match",
                    index + 1,
                    patch.hunks.len()
                ));
            }
        };
        let moved = patch.old != patch.new;
        if let Some(new) = &patch.new
            && moved
            && self.node(new)?.is_some()
        {
            return rejected("the file is in the tree already");
        }
        if patch.new.is_none() && !patch.copy && !done.contents.is_empty() {
            return rejected("the patch deletes the file, which has more in it than the patch says");
        }
        if let Some(old) = &patch.old
            && moved
            && !(patch.copy && patch.new.is_some())
        {
            self.files.insert(old.clone(), None);
        }
        if let Some(new) = &patch.new {
            let mode = patch.new_mode.or(before.map(|node| node.mode)).unwrap_or(0o100_644);
            match mode & KIND {
                0o100_000 => {}
                LINK => inside(new, &done.contents)?,
                _ => return rejected(format!("mode {mode:o} is neither a file's nor a link's")),
            }
            self.files.insert(new.clone(), Some(Node { contents: done.contents, mode }));
        }
        Ok(done.fuzz)
    }

    /// A file or link as the patches so far leave it.
    fn node(&self, name: &str) -> Result<Option<Node>, Trouble> {
        for (at, _) in name.match_indices('/') {
            let folder = name.get(..at).unwrap_or_default();
            let is_link = match self.files.get(folder) {
                Some(node) => node.as_ref().is_some_and(|node| node.is_link()),
                None => self.tree.join(folder).is_symlink(),
            };
            if is_link {
                return Err(Trouble::Outside(name.to_owned(), format!("{folder} is a symbolic link")));
            }
        }
        if let Some(node) = self.files.get(name) {
            return Ok(node.clone());
        }
        let path: PathBuf = self.tree.join(name);
        let failed = |error: std::io::Error| {
            Trouble::Failed(anyhow::Error::new(error).context(format!("failed to read {}", path.display())))
        };
        match Node::read(&path).map_err(failed)? {
            Found::Nothing => Ok(None),
            Found::Node(node) => Ok(Some(node)),
            Found::Other => rejected("it is not a file in the tree"),
        }
    }
}

/// Does a link stay in the tree?
fn inside(name: &str, target: &[u8]) -> Result<(), Trouble> {
    let target = String::from_utf8_lossy(target);
    let outside =
        || Err(Trouble::Outside(name.to_owned(), format!("it would be a symbolic link to {target}")));
    if target.starts_with('/') || target.is_empty() || target.contains(['\n', '\0']) {
        return outside();
    }
    let mut depth = name.matches('/').count();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => match depth.checked_sub(1) {
                Some(up) => depth = up,
                None => return outside(),
            },
            _ => depth += 1,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
