//! Where a workspace's revisions come from.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, bail};

use super::tree::settle;
use crate::{
    Cache, Event, Events, PatchError, PatchIdentity, PatchSeries, PristineTree, Repository, SourceIdentity,
    build::make::link_tree,
    cache::{Kind, writing},
    error::bad_input,
    git::{self, objects},
    patch::{self, Changes, Files, Found, Node, Patch},
    source::{SourceKind, makefile_version},
};

/// What is built, revision after revision.
#[derive(Clone, Debug)]
pub enum Origin<'a> {
    /// Commits of a repository.
    Git(&'a Repository),
    /// A series of patches on a tree, patch by patch.
    Series {
        /// The tree.
        base: &'a PristineTree,
        /// The base's own patches; each point has all of them.
        patches: Vec<PatchSeries>,
        /// The series.
        series: Vec<Patch>,
    },
}

/// One revision of an [`Origin`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Point {
    /// A commit of the repository, by its whole hash.
    Commit(String),
    /// The first so many patches of the series.
    Patches(usize),
}

/// What is to be built.
pub(super) struct Target {
    /// The name of the tree below all patches: `git-COMMIT`, or a pristine tree's.
    pub base: String,
    /// What that tree is.
    pub source: SourceIdentity,
    /// The patches on it, but for those that are in it already.
    pub patches: Vec<PatchIdentity>,
    /// Why those are left out.
    pub left_out: Vec<PatchError>,
    /// The files that the patches make other than in the tree.
    pub files: Files,
}

impl Target {
    fn new(base: String, source: SourceIdentity, (changes, left_out): (Changes, Vec<PatchError>)) -> Self {
        let patches = changes.applied.iter().map(PatchIdentity::from).collect();
        Self { base, source, patches, left_out, files: changes.into_files() }
    }
}

impl Origin<'_> {
    /// What all its revisions have in common, for the key.
    pub(super) fn name(&self) -> Result<String> {
        Ok(match self {
            Self::Git(repository) => format!("git\0{}", repository.lender()?.display()),
            Self::Series { base, .. } => format!("tree\0{}", base.id),
        })
    }

    /// Where its objects lie, for a clone that comes after it.
    pub(super) fn objects(&self) -> Result<Option<PathBuf>> {
        match self {
            Self::Git(repository) => repository.objects().map(Some),
            Self::Series { .. } => Ok(None),
        }
    }

    /// What a point is with patches on top. `scratch` is a folder to work in.
    pub(super) fn target(&self, point: &Point, with: &[PatchSeries], scratch: &Path) -> Result<Target> {
        match (self, point) {
            (Self::Git(repository), Point::Commit(commit)) => {
                let commit = repository.commit(commit)?;
                let source = identity(repository, &commit)?;
                let changes = apply_on_commit(repository.path(), &commit, with, scratch)?;
                Ok(Target::new(format!("git-{commit}"), source, changes))
            }
            (Self::Series { base, patches, series }, Point::Patches(count)) => {
                let Some(first) = series.get(..*count) else {
                    bail!("failed to take {count} patches of a series of {}", series.len());
                };
                let first = [PatchSeries { patches: first.to_vec(), revert: false }];
                let changes = patch::apply_missing(&base.path, &[patches, &first], with)?;
                Ok(Target::new(base.id.clone(), base.identity.clone(), changes))
            }
            (Self::Git(_), Point::Patches(_)) => {
                bail!("failed to take patches of a series from a repository")
            }
            (Self::Series { .. }, Point::Commit(_)) => {
                bail!("failed to take a commit from a series of patches")
            }
        }
    }

    /// The files that differ between two of its trees, or none if one of them is no more. The first may be that of
    /// another clone, whose objects lie in `others`.
    pub(super) fn between(&self, from: &str, others: Option<&Path>, to: &str) -> Result<Option<Vec<String>>> {
        if from == to {
            return Ok(Some(Vec::new()));
        }
        match (self, commit_of(from), commit_of(to)) {
            (Self::Git(repository), Some(from), Some(to)) if repository.commit(from).is_ok() => {
                objects::changed(repository.path(), None, from, to).map(Some)
            }
            // The other clone may be gone, and the commit with it.
            (Self::Git(repository), Some(from), Some(to)) if others.is_some_and(Path::is_dir) => {
                Ok(objects::changed(repository.path(), others, from, to).ok())
            }
            _ => Ok(None),
        }
    }

    /// Files of one of its trees, of those names that it has.
    pub(super) fn nodes(&self, base: &str, names: &BTreeSet<String>) -> Result<BTreeMap<String, Node>> {
        match (self, commit_of(base)) {
            (Self::Git(repository), Some(commit)) => objects::nodes(repository.path(), commit, names),
            (Self::Git(_), None) => bail!("failed to read the tree {base}: it is no commit"),
            (Self::Series { base, .. }, _) => {
                let mut nodes = BTreeMap::new();
                for name in names {
                    let path = base.path.join(name);
                    let found =
                        Node::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
                    if let Found::Node(node) = found {
                        nodes.insert(name.clone(), node);
                    }
                }
                Ok(nodes)
            }
        }
    }

    /// Unpacks one of its trees into a folder that does not exist yet.
    pub(super) fn unpack(
        &self,
        cache: &Cache,
        target: &Target,
        into: &Path,
        events: &Events<'_>,
        stop: &AtomicBool,
    ) -> Result<()> {
        let pristine = match self {
            Self::Git(_) => cache.find(Kind::Tree, &target.base).map(|entry| entry.join("tree")),
            Self::Series { base, .. } => Some(base.path.clone()),
        };
        match (self, commit_of(&target.base), pristine) {
            (Self::Git(repository), Some(commit), None) => {
                events(Event::Unpacking(target.source.what.clone()));
                fs::create_dir(into).map_err(|error| writing(error, into))?;
                git::unpack(repository.path(), commit, into, stop)
            }
            (_, _, Some(pristine)) => {
                events(Event::Cloning);
                link_tree(&pristine, into, stop).map(drop)
            }
            (_, None, None) => bail!("failed to unpack the tree {}: it is no commit", target.base),
            (Self::Series { .. }, _, None) => bail!("failed to unpack the tree {}", target.base),
        }
    }
}

fn commit_of(base: &str) -> Option<&str> {
    base.strip_prefix("git-")
}

fn identity(repository: &Repository, commit: &str) -> Result<SourceIdentity> {
    let what = format!("{}@{}", repository.place(), commit.get(..12).unwrap_or(commit));
    let names = ["Makefile", "Kconfig"].map(str::to_owned);
    let nodes = objects::nodes(repository.path(), commit, &BTreeSet::from(names))?;
    let version = nodes
        .get("Makefile")
        .and_then(|node| makefile_version(&String::from_utf8_lossy(&node.contents)))
        .filter(|_| nodes.contains_key("Kconfig"))
        .ok_or_else(|| {
            bad_input(format!(
                "failed to take {what}: it is no kernel tree (no Makefile with VERSION and PATCHLEVEL, or no Kconfig)"
            ))
        })?;
    let kind = if repository.is_mirror() { SourceKind::Git } else { SourceKind::Tree };
    Ok(SourceIdentity { kind, what, version, package_version: None, hash: commit.to_owned() })
}

/// Applies patches to those files of a commit that they name, in a folder of their own.
fn apply_on_commit(
    repository: &Path,
    commit: &str,
    with: &[PatchSeries],
    scratch: &Path,
) -> Result<(Changes, Vec<PatchError>)> {
    let files = with.iter().flat_map(|series| &series.patches).flat_map(|patch| &patch.files);
    let mut names = BTreeSet::new();
    for name in files.flat_map(|file| [&file.old, &file.new]).flatten() {
        // Folders too: one that is a link must be one here.
        names.extend(name.match_indices('/').filter_map(|(at, _)| name.get(..at)).map(str::to_owned));
        names.insert(name.clone());
    }
    let nodes = objects::nodes(repository, commit, &names)?;
    settle(scratch, &nodes.into_iter().map(|(name, node)| (name, Some(node))).collect())?;
    patch::apply_missing(scratch, &[], with)
}
