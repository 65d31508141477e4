//! Git repositories with their history: the user's own, which are only read, and mirrors of those behind a URL.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result};

use crate::{
    Cache, Event, Events,
    cache::Kind,
    error::bad_input,
    files, git, process,
    source::{is_url, short},
};

/// A repository that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Repository {
    place: String,
    path: PathBuf,
}

impl Repository {
    /// Opens a repository: a path to a work tree's top or to a bare repository, or a URL, which is mirrored into the
    /// cache and fetched again each time.
    ///
    /// # Errors
    /// [`BadInput`](crate::BadInput) for a path with no repository; [`Interrupted`](crate::Interrupted); and what git
    /// fails with.
    pub fn open(cache: &Cache, place: &str, events: &Events<'_>, stop: &AtomicBool) -> Result<Self> {
        let path = if is_url(place) { mirror(cache, place, events, stop)? } else { local(place)? };
        Ok(Self { place: place.to_owned(), path })
    }

    /// What it was opened by.
    #[must_use]
    pub fn place(&self) -> &str {
        &self.place
    }

    /// Where it lies: absolute, without symbolic links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where its own objects lie.
    ///
    /// # Errors
    /// What git fails with.
    pub(crate) fn objects(&self) -> Result<PathBuf> {
        let objects = self.path.join(self.line(&["rev-parse", "--git-path", "objects"])?);
        objects.canonicalize().with_context(|| format!("failed to find {}", objects.display()))
    }

    /// Where most of its objects lie: with the repository that it borrows from, if it is a clone of that kind. It is the same for all
    /// clones that borrow from one, and for all work trees of one.
    ///
    /// # Errors
    /// What git fails with.
    pub(crate) fn lender(&self) -> Result<PathBuf> {
        let own = self.objects()?;
        let borrowed = fs::read_to_string(own.join("info/alternates")).unwrap_or_default();
        let lender = borrowed.lines().find(|line| !line.starts_with('#')).map(|line| own.join(line));
        Ok(lender.and_then(|lender| lender.canonicalize().ok()).unwrap_or(own))
    }

    /// Whether it is a mirror of a URL.
    #[must_use]
    pub fn is_mirror(&self) -> bool {
        is_url(&self.place)
    }

    /// The commit that a revision (a hash, a tag, a branch, `v6.12~3`) names, in full.
    ///
    /// # Errors
    /// [`BadInput`](crate::BadInput) when there is none.
    pub fn commit(&self, revision: &str) -> Result<String> {
        git::commit(&self.path, revision).map_err(|error| {
            let hint = if self.shallow().is_ok_and(|ends| !ends.is_empty()) {
                "; it is a shallow clone: git fetch --unshallow brings the rest"
            } else {
                ""
            };
            bad_input(format!("{error:#}{hint}"))
        })
    }

    /// The commit at a branch's head: of a branch of the repository, or else of one it follows (`origin/master`).
    ///
    /// # Errors
    /// [`BadInput`](crate::BadInput) when there is no such branch.
    pub fn branch_head(&self, branch: &str) -> Result<String> {
        let heads = ["heads", "remotes"].map(|kind| format!("refs/{kind}/{branch}"));
        heads
            .iter()
            .find_map(|head| git::commit(&self.path, head).ok())
            .ok_or_else(|| bad_input(format!("failed to find the branch '{branch}' in {}", self.place)))
    }

    /// Whether `ancestor` is `commit` itself or one of those before it.
    ///
    /// # Errors
    /// [`BadInput`](crate::BadInput) when the history ends (in a shallow clone) before that is known.
    pub fn is_ancestor(&self, ancestor: &str, commit: &str) -> Result<bool> {
        let count = self.line(&["rev-list", "--count", "--max-count=1", ancestor, "--not", commit, "--"])?;
        if count == "0" {
            return Ok(true);
        }
        self.whole(ancestor, commit)?;
        Ok(false)
    }

    /// The best common ancestor of two commits, if they have one.
    ///
    /// # Errors
    /// [`BadInput`](crate::BadInput) when the history ends (in a shallow clone) before one is found.
    pub fn merge_base(&self, a: &str, b: &str) -> Result<Option<String>> {
        match self.line(&["merge-base", a, b]) {
            Ok(base) => Ok(Some(base)),
            // It says nothing and fails where there is none, and fails for other reasons: the commits tell these.
            Err(_) => {
                self.commit(a)?;
                self.commit(b)?;
                self.whole(a, b)?;
                Ok(None)
            }
        }
    }

    /// The commits of `bad` that are neither `good` nor before it, children before parents: a line each of the hash,
    /// the parents' hashes (with blanks between) and the subject, with tabs between.
    ///
    /// # Errors
    /// [`BadInput`](crate::BadInput) for what is no commit, and when the history ends (in a shallow clone) within
    /// the range.
    pub fn log(&self, good: &str, bad: &str) -> Result<String> {
        let (good, bad) = (self.commit(good)?, self.commit(bad)?);
        self.whole(&good, &bad)?;
        self.line(&[
            "log",
            "--topo-order",
            "--no-show-signature",
            "--no-decorate",
            "--no-color",
            "--encoding=UTF-8",
            "--format=%H%x09%P%x09%s",
            &format!("{good}..{bad}"),
            "--",
        ])
    }

    /// Files that are changed or not known to git, as `git status` words it; empty for a bare repository.
    ///
    /// # Errors
    /// What git fails with.
    pub fn changes(&self) -> Result<Vec<String>> {
        if self.line(&["rev-parse", "--is-bare-repository"])? == "true" {
            return Ok(Vec::new());
        }
        git::changes(&self.path)
    }

    /// A commit's subject.
    ///
    /// # Errors
    /// When git knows no such commit.
    pub fn subject(&self, commit: &str) -> Result<String> {
        self.show(commit, "%s")
    }

    /// A commit's author, as `Name <address>`.
    ///
    /// # Errors
    /// When git knows no such commit.
    pub fn author(&self, commit: &str) -> Result<String> {
        self.show(commit, "%an <%ae>")
    }

    /// When a commit was made, RFC 3339.
    ///
    /// # Errors
    /// When git knows no such commit.
    pub fn committed(&self, commit: &str) -> Result<String> {
        self.show(commit, "%cI")
    }

    /// A commit's parents; several for a merge.
    ///
    /// # Errors
    /// When git knows no such commit.
    pub fn parents(&self, commit: &str) -> Result<Vec<String>> {
        Ok(self.show(commit, "%P")?.split_whitespace().map(str::to_owned).collect())
    }

    fn show(&self, commit: &str, format: &str) -> Result<String> {
        let commit = self.commit(commit)?;
        let format = format!("--format={format}");
        self.line(&[
            "log",
            "--max-count=1",
            "--no-show-signature",
            "--no-color",
            "--encoding=UTF-8",
            &format,
            &commit,
            "--",
        ])
    }

    fn line(&self, arguments: &[&str]) -> Result<String> {
        git::line(&self.path, arguments)
    }

    /// Makes sure that the history of `bad` without that of `good` is all there.
    fn whole(&self, good: &str, bad: &str) -> Result<()> {
        let ends = self.shallow()?;
        if ends.is_empty() {
            return Ok(());
        }
        let range = self.line(&["rev-list", bad, "--not", good, "--"])?;
        match range.lines().find(|commit| ends.contains(*commit)) {
            None => Ok(()),
            Some(end) => Err(bad_input(format!(
                "failed to follow the history of {bad} back to {good}: {} is a shallow clone, which ends at {end}; \
                 git fetch --unshallow brings the rest",
                self.place
            ))),
        }
    }

    /// The commits whose parents a shallow clone leaves out.
    fn shallow(&self) -> Result<HashSet<String>> {
        if self.line(&["rev-parse", "--is-shallow-repository"])? != "true" {
            return Ok(HashSet::new());
        }
        let list = self.path.join(self.line(&["rev-parse", "--git-path", "shallow"])?);
        let text = fs::read_to_string(&list).with_context(|| format!("failed to read {}", list.display()))?;
        Ok(text.lines().map(str::to_owned).collect())
    }
}

fn local(place: &str) -> Result<PathBuf> {
    let not = |why: &str| bad_input(format!("failed to find a git repository at {place}: {why}"));
    let path = Path::new(place);
    if !path.is_dir() {
        return Err(not("there is no such folder"));
    }
    let path = path.canonicalize().with_context(|| format!("failed to find {place}"))?;
    let bare = git::line(&path, &["rev-parse", "--is-bare-repository"])
        .map_err(|_| not("it is none, or is damaged (see: git status)"))?;
    // Git looks for a repository upwards too; that one was not named.
    if bare != "true" && !git::is_top(&path) {
        return Err(not("it lies within a repository and is not its top"));
    }
    Ok(path)
}

fn mirror(cache: &Cache, url: &str, events: &Events<'_>, stop: &AtomicBool) -> Result<PathBuf> {
    if url.starts_with('-') {
        return Err(bad_input(format!("failed to use {url}: it begins with a dash")));
    }
    let hash = files::sha256(format!("mirror\n{url}").as_bytes());
    let key = short(&hash);
    let made = cache.produce(Kind::Repository, key, url, events, stop, |partial| {
        events(Event::Downloading(url.to_owned()));
        let mut clone = git::command(cache.root());
        clone.args(["clone", "--quiet", "--mirror", "--", url]).arg(partial);
        process::run_quiet(&mut clone, stop).with_context(|| format!("failed to fetch {url}")).map(drop)
    })?;
    if !made.fresh {
        let _lock = cache.lock(Kind::Repository, key, url, events, stop)?;
        events(Event::Downloading(url.to_owned()));
        let mut fetch = git::command(&made.path);
        fetch.args(["fetch", "--quiet", "--prune", "origin"]);
        process::run_quiet(&mut fetch, stop).with_context(|| format!("failed to fetch {url}"))?;
    }
    Ok(made.path)
}
