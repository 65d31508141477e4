//! The history between the ends: commits of a repository, or the patches of a series.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use mthp_bisect::{
    graph::{Graph, Revision},
    log::bisect_log,
    record::End,
    search::Search,
};
use mthp_judge::suite::Suite;
use mthp_kernel::{
    BadInput, PatchSeries, SourceSpec,
    config::Fragment,
    patch::Patch,
    repository::Repository,
    workspace::{Origin, Point},
};

use super::Place;
use crate::{
    BaseKernel, Events, Lab,
    laboratory::{Base, translate},
    load::Load,
    timing::Timings,
};

/// What is bisected.
pub(crate) struct History {
    /// As a reader would name it.
    pub(crate) place: String,
    pub(crate) good: End,
    pub(crate) bad: End,
    pub(crate) graph: Graph,
    pub(crate) fragment: Fragment,
    source: Source,
}

enum Source {
    Git(Repository),
    Series { base: Base, patches: Vec<Patch> },
}

/// The name of what a series goes on, among its revisions.
const BASE: &str = "base";

impl History {
    /// Reads the history.
    ///
    /// # Errors
    /// [`BadInput`] when there is no such repository, revision or series, the ends are not on one line of history, or a
    /// series does not go in.
    pub(crate) fn open(lab: &Lab, place: &Place, suite: &Suite, events: &Events<'_>) -> Result<Self> {
        match place {
            Place::Git { tree, good, bad } => {
                let fragment = Fragment::read(&lab.project().fragments(&suite.fragments))?;
                let translate = translate("repository", events);
                let repository = Repository::open(lab.cache(), tree, &translate, lab.stop().builds())?;
                Self::of_repository(repository, tree, good, bad, fragment)
            }
            Place::Series { patches, base } => {
                // Before a source is unpacked.
                let series = PatchSeries::read(patches, false)?;
                Self::of_series(lab.base(base, &suite.fragments, events)?, patches, series)
            }
        }
    }

    fn of_repository(
        repository: Repository,
        tree: &str,
        good: &str,
        bad: &str,
        fragment: Fragment,
    ) -> Result<Self> {
        let end = |asked: &str| -> Result<End> {
            let id = repository.commit(asked)?;
            Ok(End { asked: asked.to_owned(), subject: repository.subject(&id)?, id })
        };
        let (good, bad) = (end(good)?, end(bad)?);
        if good.id == bad.id {
            return Err(BadInput(format!(
                "failed to bisect: {} and {} are the same commit {}",
                good.asked, bad.asked, good.id
            ))
            .into());
        }
        if !repository.is_ancestor(&good.id, &bad.id)? {
            return Err(BadInput(unrelated(&repository, &good, &bad)?).into());
        }
        let graph = Graph::parse(&repository.log(&good.id, &bad.id)?)
            .with_context(|| format!("failed to read the history {}..{}", good.asked, bad.asked))?;
        Ok(Self { place: tree.to_owned(), good, bad, graph, fragment, source: Source::Git(repository) })
    }

    /// One revision without a history: that of `DIR@REV`, or the one that is checked out.
    ///
    /// # Errors
    /// [`BadInput`] when there is no such repository or revision, or the tree has changes that no commit holds.
    pub(crate) fn of_one(lab: &Lab, tree: &str, suite: &Suite, events: &Events<'_>) -> Result<Self> {
        let (dir, revision) = match SourceSpec::parse_tree(tree, false)? {
            SourceSpec::Tree { dir, revision, .. } => (dir, revision),
            _ => return Err(BadInput(format!("failed to use '{tree}' as a tree")).into()),
        };
        let place = dir.display().to_string();
        let translate = translate("repository", events);
        let repository = Repository::open(lab.cache(), &place, &translate, lab.stop().builds())?;
        if revision.is_none() && !repository.changes()?.is_empty() {
            return Err(BadInput(format!(
                "failed to take {place}: it has changes that are not committed, and a revision is judged as it was \
                 committed; --with-patch adds a patch to it"
            ))
            .into());
        }
        let asked = revision.unwrap_or_else(|| "HEAD".to_owned());
        let id = repository.commit(&asked)?;
        Self::of_commit(repository, &asked, id, lab, suite)
    }

    /// One commit without a history.
    ///
    /// # Errors
    /// When git cannot read it.
    pub(crate) fn of_commit(
        repository: Repository,
        asked: &str,
        id: String,
        lab: &Lab,
        suite: &Suite,
    ) -> Result<Self> {
        let fragment = Fragment::read(&lab.project().fragments(&suite.fragments))?;
        let place = repository.place().to_owned();
        let asked = asked.to_owned();
        let end = End { asked, subject: repository.subject(&id)?, id: id.clone() };
        let graph = Graph::line(vec![(id, end.subject.clone())], "what was before".to_owned())?;
        Ok(Self { place, good: end.clone(), bad: end, graph, fragment, source: Source::Git(repository) })
    }

    fn of_series(base: Base, path: &Path, series: PatchSeries) -> Result<Self> {
        base.accepts(std::slice::from_ref(&series))?;
        let patches = series.patches;
        let ids: Vec<(String, String)> = patches
            .iter()
            .enumerate()
            .map(|(at, patch)| (format!("patch-{:03}", at + 1), patch.subject.clone()))
            .collect();
        let Some((last, subject)) = ids.last().cloned() else {
            return Err(BadInput(format!("failed to bisect: {} holds no patch", path.display())).into());
        };
        let identity = &base.tree.identity;
        Ok(Self {
            place: format!("{} on {}", path.display(), identity.what),
            good: End {
                asked: format!("{} without the series", identity.what),
                id: BASE.to_owned(),
                subject: format!("{} {}", identity.what, identity.version),
            },
            bad: End { asked: "the whole series".to_owned(), id: last, subject },
            graph: Graph::line(ids, BASE.to_owned())?,
            fragment: base.fragment.clone(),
            source: Source::Series { base, patches },
        })
    }

    /// Where its revisions are built from.
    pub(crate) fn origin(&self) -> Origin<'_> {
        match &self.source {
            Source::Git(repository) => Origin::Git(repository),
            Source::Series { base, patches } => {
                Origin::Series { base: &base.tree, patches: base.patches.clone(), series: patches.clone() }
            }
        }
    }

    /// Of a series: the hash of what it goes on, and all patches on that.
    pub(crate) fn series(&self) -> (Option<String>, Vec<PatchSeries>) {
        match &self.source {
            Source::Git(_) => (None, Vec::new()),
            Source::Series { base, patches } => {
                let series = PatchSeries { patches: patches.clone(), revert: false };
                let all = base.patches.iter().cloned().chain([series]).collect();
                (Some(base.tree.identity.hash.clone()), all)
            }
        }
    }

    /// The bad end's source, to build selftests from, and the patches on it.
    ///
    /// # Errors
    /// When it cannot be fetched.
    fn bad_source(&self, lab: &Lab, suite: &Suite, events: &Events<'_>) -> Result<(Base, Vec<PatchSeries>)> {
        match &self.source {
            Source::Git(repository) => {
                let spec = format!("{}@{}", repository.path().display(), self.bad.id);
                let base = lab.base(&BaseKernel::Tree { spec, dirty: false }, &suite.fragments, events)?;
                Ok((base, Vec::new()))
            }
            Source::Series { base, patches } => {
                Ok((base.clone(), vec![PatchSeries { patches: patches.clone(), revert: false }]))
            }
        }
    }

    /// Makes what the guests do ready: a workload's disk, and selftests built from the bad end with patches on it.
    ///
    /// # Errors
    /// When they cannot be built.
    pub(crate) fn prepare(
        &self,
        load: &mut Load,
        lab: &Lab,
        suite: &Suite,
        patches: &[PatchSeries],
        events: &Events<'_>,
    ) -> Result<()> {
        let mut timings = Timings::default();
        load.assemble(lab, &mut timings, events)?;
        if load.has_selftests() {
            let (base, more) = self.bad_source(lab, suite, events)?;
            load.build_selftests(lab, &base, &[&more, patches].concat(), &mut timings, events)?;
        }
        Ok(())
    }

    /// A revision as the workspace names it.
    pub(crate) fn point(&self, id: &str) -> Result<Point> {
        match &self.source {
            Source::Git(_) => Ok(Point::Commit(id.to_owned())),
            Source::Series { .. } if id == BASE => Ok(Point::Patches(0)),
            Source::Series { .. } => {
                let number = id.strip_prefix("patch-").and_then(|number| number.parse().ok());
                number.map(Point::Patches).with_context(|| format!("failed to find the revision {id}"))
            }
        }
    }

    /// A revision's subject; empty where there is none.
    pub(crate) fn subject(&self, id: &str) -> String {
        match self.graph.get(id) {
            Some(revision) => revision.subject.clone(),
            None if id == self.good.id => self.good.subject.clone(),
            None => match &self.source {
                Source::Git(repository) => repository.subject(id).unwrap_or_default(),
                Source::Series { .. } => String::new(),
            },
        }
    }

    /// A revision of the range, or one that is known to be good.
    ///
    /// # Errors
    /// When it is neither.
    pub(crate) fn revision(&self, id: &str) -> Result<Revision> {
        if let Some(revision) = self.graph.get(id) {
            return Ok(revision.clone());
        }
        ensure!(self.graph.is_boundary(id) || id == self.good.id, "{id} is not in the range");
        Ok(Revision { id: id.to_owned(), parents: Vec::new(), subject: self.subject(id) })
    }

    /// The search as `git bisect log` tells it; `None` of a series.
    pub(crate) fn git_log(&self, search: &Search<'_>) -> Option<String> {
        let Source::Git(_) = self.source else { return None };
        let good =
            Revision { id: self.good.id.clone(), parents: Vec::new(), subject: self.good.subject.clone() };
        Some(bisect_log(search, &good))
    }

    /// Who wrote a revision, where that is known.
    pub(crate) fn author(&self, id: &str) -> Option<String> {
        match &self.source {
            Source::Git(repository) => repository.author(id).ok(),
            Source::Series { patches, .. } => {
                let Ok(Point::Patches(number)) = self.point(id) else { return None };
                patches.get(number.checked_sub(1)?)?.author.clone()
            }
        }
    }
}

/// What to say where the good end is no ancestor of the bad one.
fn unrelated(repository: &Repository, good: &End, bad: &End) -> Result<String> {
    if repository.is_ancestor(&bad.id, &good.id)? {
        return Ok(format!(
            "failed to bisect: the bad end {} is an ancestor of the good end {}; are --good and --bad swapped? To find the commit \
             that cured something is another question",
            bad.asked, good.asked
        ));
    }
    Ok(match repository.merge_base(&good.id, &bad.id)? {
        Some(base) => format!(
            "failed to bisect: {} is no ancestor of {}; they fork at {base}: try --good {base}, which is refused if it is bad too",
            good.asked, bad.asked
        ),
        None => format!("failed to bisect: {} and {} share no history", good.asked, bad.asked),
    })
}
