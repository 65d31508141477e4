//! A git history of the kernel that is known in full: what a bisection is tried on.
//!
//! On one large commit, the pristine source, lie small ones in files that little else depends on: harmless ones,
//! some that break the build, the boot or another test until a later one mends them, and the culprit. The same plan
//! always gives the same hashes.

mod change;
mod compose;
mod fault;
mod git;
mod harmless;
mod plan;
mod stream;
#[cfg(test)]
mod tests;

use std::{
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, ensure};
use mthp_kernel::{Cache, PatchSeries, PristineTree, cache::Kind as Entry, fetch, files};

use self::{
    compose::{Composed, Stock, compose},
    git::Repository,
};
pub use self::{
    fault::Fault,
    plan::{Broken, Plan, Side},
};
use crate::shared::lab;

/// The kernel of `kernels/` whose source the histories begin with.
pub const KERNEL: &str = "stock-6.12";

/// Part of the large commit's key: counts up when the way of importing changes.
const IMPORT_VERSION: &str = "1";

/// What a commit of a history does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing that a test could see.
    Harmless,
    /// From here on the kernel does not build.
    Unbuildable,
    /// From here on it does not boot.
    Unbootable,
    /// From here on it panics in tests of userfaultfd, and in those that mount a tmpfs with `huge=within_size`.
    PanicsElsewhere,
    /// Brings in the bug that is looked for.
    Culprit,
    /// Mends one of the first three.
    Mend,
    /// Brings a side branch in.
    Merge,
}

/// A commit of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Made {
    /// Its hash.
    pub id: String,
    /// Its place in the plan, from 1; a merge has none.
    pub position: Option<usize>,
    /// What it does.
    pub kind: Kind,
    /// Whether its image differs from its first parent's, where both build.
    pub changes_image: bool,
    /// The first line of its message.
    pub subject: String,
}

/// A history in the cache. It borrows the source's objects from another repository there, so that many are cheap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct History {
    /// A bare repository: the branch `main`, and the tag `base`.
    pub repository: PathBuf,
    /// The commit of the pristine source, which is good.
    pub base: String,
    /// All others, a parent before its children; the last is the branch's head.
    pub commits: Vec<Made>,
}

impl History {
    /// The commit at a place of the plan.
    #[must_use]
    pub fn at(&self, position: usize) -> Option<&Made> {
        self.commits.iter().find(|made| made.position == Some(position))
    }

    /// The first commit that does this.
    #[must_use]
    pub fn first(&self, kind: Kind) -> Option<&Made> {
        self.commits.iter().find(|made| made.kind == kind)
    }

    /// The head of the branch, which has the culprit and nothing else that is broken.
    #[must_use]
    pub fn head(&self) -> &str {
        self.commits.last().map_or(&self.base, |made| &made.id)
    }
}

/// Makes a history from the kernel's source, or finds it in the cache.
///
/// # Errors
/// When the plan contradicts itself, one of its changes does not fit the source, or git fails.
pub fn history(plan: &Plan) -> Result<History> {
    let (cache, stop) = (Cache::open(None)?, AtomicBool::new(false));
    let (tree, composed) = planned(plan, &cache, &stop)?;
    in_cache(&cache, &tree, &composed, &stop)
}

/// Whether a history could be made: every change fits the source. Nothing is made.
///
/// # Errors
/// When the plan contradicts itself, or the first change that does not fit.
pub fn fits(plan: &Plan) -> Result<()> {
    planned(plan, &Cache::open(None)?, &AtomicBool::new(false)).map(drop)
}

fn planned(plan: &Plan, cache: &Cache, stop: &AtomicBool) -> Result<(PristineTree, Composed)> {
    let project = lab()?.project();
    let tree = fetch(cache, &project.kernel(KERNEL)?.source(), &|_| {}, stop)?;
    let stock = Stock { harmless: harmless::all(project)?, culprit: PatchSeries::read(&plan.patch, false)? };
    let composed = compose(&tree.path, plan, &stock)?;
    Ok((tree, composed))
}

/// The large commit is made once for a source. The small ones are worked out anew each time, which is quick, and
/// looked up by their content: a changed generator finds no stale history.
fn in_cache(cache: &Cache, tree: &PristineTree, composed: &Composed, stop: &AtomicBool) -> Result<History> {
    let source = tree.identity.hash.get(..32).unwrap_or(&tree.identity.hash);
    let what = format!("a git history of {}", tree.identity.what);
    let base = cache.produce(
        Entry::Repository,
        &format!("history-base-{source}-{IMPORT_VERSION}"),
        &what,
        &|_| {},
        stop,
        |partial| {
            let message = format!("Import Linux {}", tree.identity.version);
            Repository::create(partial, None)?.import(|out| stream::base(out, &tree.path, &message))
        },
    )?;
    let id = base_id(&base.path)?;
    let stream = composed.stream(&id);
    let key = format!("history-{}", files::sha256(&stream).get(..32).unwrap_or_default());
    let made = cache.produce(Entry::Repository, &key, &what, &|_| {}, stop, |partial| {
        Repository::create(partial, Some(&base.path))?.import(|out| Ok(out.write_all(&stream)?))
    })?;
    read(made.path, id, composed)
}

fn base_id(repository: &Path) -> Result<String> {
    let marks = git::marks(repository)?;
    marks.into_iter().next().with_context(|| format!("{} has no commit", repository.display()))
}

fn read(repository: PathBuf, base: String, composed: &Composed) -> Result<History> {
    let ids = git::marks(&repository)?;
    ensure!(ids.len() == composed.commits.len(), "{} lacks commits", repository.display());
    let made = |(commit, id): (&compose::Commit, String)| Made {
        id,
        position: commit.position,
        kind: commit.kind,
        changes_image: commit.changes_image,
        subject: commit.subject.clone(),
    };
    Ok(History { repository, base, commits: composed.commits.iter().zip(ids).map(made).collect() })
}
