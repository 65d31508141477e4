//! Changes of files, and the files that they have made so far.

use std::{
    collections::BTreeSet,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use mthp_kernel::{PatchSeries, patch::apply};
use tempfile::TempDir;

/// One text of a file put in the place of another, which the file has once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Edit {
    pub file: &'static str,
    pub from: &'static str,
    pub to: &'static str,
}

impl Edit {
    fn reversed(self) -> Self {
        Self { file: self.file, from: self.to, to: self.from }
    }
}

/// What a commit does to files.
#[derive(Clone, Debug)]
pub(super) enum Change {
    Edits(Vec<Edit>),
    Patch(PatchSeries),
}

impl Change {
    /// The change that takes this one back.
    pub(super) fn reversed(self) -> Self {
        match self {
            Self::Edits(edits) => Self::Edits(edits.into_iter().rev().map(Edit::reversed).collect()),
            Self::Patch(mut series) => {
                series.patches.reverse();
                Self::Patch(PatchSeries { revert: !series.revert, ..series })
            }
        }
    }
}

/// A file as a commit leaves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Written {
    pub name: String,
    pub executable: bool,
    pub contents: Vec<u8>,
}

/// A tree that is only read, and in a folder of its own the files that differ.
pub(super) struct Overlay<'a> {
    tree: &'a Path,
    folder: TempDir,
    files: BTreeSet<String>,
}

impl<'a> Overlay<'a> {
    pub(super) fn new(tree: &'a Path) -> Result<Self> {
        let folder = tempfile::tempdir().context("failed to make a folder for changed files")?;
        Ok(Self { tree, folder, files: BTreeSet::new() })
    }

    /// The same files in another folder, to go on from differently.
    pub(super) fn fork(&self) -> Result<Self> {
        let mut fork = Self::new(self.tree)?;
        for name in &self.files {
            copy(&self.path(name), &fork.path(name))?;
        }
        fork.files.clone_from(&self.files);
        Ok(fork)
    }

    /// Makes a change, and gives the files that it wrote.
    pub(super) fn apply(&mut self, change: &Change) -> Result<Vec<Written>> {
        let names = match change {
            Change::Edits(edits) => self.edit(edits)?,
            Change::Patch(series) => self.patch(series)?,
        };
        names.into_iter().map(|name| self.written(name)).collect()
    }

    fn edit(&mut self, edits: &[Edit]) -> Result<BTreeSet<String>> {
        let mut names = BTreeSet::new();
        for Edit { file, from, to } in edits {
            self.take(file)?;
            let path = self.path(file);
            let text =
                fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
            let times = text.matches(from).count();
            ensure!(times == 1, "failed to change {file}: it has {times} times, and not once:\n{from}");
            fs::write(&path, text.replacen(from, to, 1))
                .with_context(|| format!("failed to write {}", path.display()))?;
            names.insert((*file).to_owned());
        }
        Ok(names)
    }

    fn patch(&mut self, series: &PatchSeries) -> Result<BTreeSet<String>> {
        for file in series.patches.iter().flat_map(|patch| &patch.files) {
            let (Some(new), old) = (&file.new, &file.old) else {
                bail!("failed to use a patch that deletes {}: no commit here does", file.name());
            };
            ensure!(old.as_ref().is_none_or(|old| old == new), "failed to use a patch that renames {new}");
            if old.is_some() {
                self.take(new)?;
            }
        }
        let changes = apply(self.folder.path(), std::slice::from_ref(series))?;
        changes.write(self.folder.path())?;
        let names: BTreeSet<String> = changes.paths().map(str::to_owned).collect();
        self.files.extend(names.iter().cloned());
        Ok(names)
    }

    fn take(&mut self, name: &str) -> Result<()> {
        if self.files.insert(name.to_owned()) {
            copy(&self.tree.join(name), &self.path(name))?;
        }
        Ok(())
    }

    fn written(&self, name: String) -> Result<Written> {
        let path = self.path(&name);
        let failed = || format!("failed to read {}", path.display());
        let mode = path.metadata().with_context(failed)?.permissions().mode();
        let contents = fs::read(&path).with_context(failed)?;
        Ok(Written { name, executable: mode & 0o111 != 0, contents })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().unwrap_or(to);
    fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
    fs::copy(from, to).with_context(|| format!("failed to copy {}", from.display()))?;
    Ok(())
}
