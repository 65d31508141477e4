//! From a plan to commits.

use std::path::Path;

use anyhow::{Context, Result};
use mthp_kernel::PatchSeries;

use super::{
    Kind,
    change::{Change, Overlay, Written},
    harmless::Harmless,
    plan::{Plan, Side, Step},
};

/// What commits are taken from.
pub(super) struct Stock {
    pub harmless: Vec<Harmless>,
    pub culprit: PatchSeries,
}

/// A commit that is to be made.
#[derive(Clone, Debug)]
pub(super) struct Commit {
    pub position: Option<usize>,
    pub kind: Kind,
    pub changes_image: bool,
    pub subject: String,
    /// Places in the list of commits; none for the base.
    pub parents: Vec<Option<usize>>,
    /// What differs from the first parent.
    pub files: Vec<Written>,
}

/// All commits on top of the base, a parent before its children.
pub(super) struct Composed {
    pub commits: Vec<Commit>,
}

/// Works out what each commit of a plan does to the files of a tree, which is only read.
pub(super) fn compose(tree: &Path, plan: &Plan, stock: &Stock) -> Result<Composed> {
    let mut harmless = stock.harmless.iter();
    let mut work = Vec::new();
    for (position, step) in (1..).zip(plan.steps()?) {
        let task = match step {
            Step::Harmless => Task::harmless(harmless.next().with_context(|| {
                format!(
                    "failed to find a harmless change for commit {position}: there are {}",
                    stock.harmless.len()
                )
            })?),
            Step::Break(fault) => Task::new(fault.kind(), fault.subject().to_owned(), fault.change()),
            Step::Mend(fault) => {
                Task::new(Kind::Mend, format!("Revert \"{}\"", fault.subject()), fault.change().reversed())
            }
            Step::Culprit => {
                let subject = stock.culprit.patches.first().map(|patch| patch.subject.clone());
                Task::new(Kind::Culprit, subject.unwrap_or_default(), Change::Patch(stock.culprit.clone()))
            }
        };
        work.push((position, task));
    }
    Composer { commits: Vec::new(), main: Line { head: None, files: Overlay::new(tree)? }, side: None }
        .run(plan, work)
}

struct Task {
    kind: Kind,
    changes_image: bool,
    subject: String,
    change: Change,
}

impl Task {
    fn new(kind: Kind, subject: String, change: Change) -> Self {
        Self { kind, changes_image: true, subject, change }
    }

    fn harmless(harmless: &Harmless) -> Self {
        let Harmless { subject, change, changes_image } = harmless.clone();
        Self { kind: Kind::Harmless, changes_image, subject, change }
    }
}

/// A line of development: its newest commit, and its files.
struct Line<'a> {
    head: Option<usize>,
    files: Overlay<'a>,
}

struct Composer<'a> {
    commits: Vec<Commit>,
    main: Line<'a>,
    side: Option<Line<'a>>,
}

impl Composer<'_> {
    fn run(mut self, plan: &Plan, work: Vec<(usize, Task)>) -> Result<Composed> {
        let forks = |at: usize| plan.side.is_some_and(|side| side.forks == at);
        if forks(0) {
            self.fork()?;
        }
        let mut merged = Vec::new();
        for (position, task) in work {
            let on_side = plan.side.is_some_and(|side: Side| side.has(position));
            let line = if on_side { self.side.as_mut().unwrap_or(&mut self.main) } else { &mut self.main };
            let files = line
                .files
                .apply(&task.change)
                .with_context(|| format!("failed to make commit {position} ({})", task.subject))?;
            let parents = vec![line.head];
            line.head = Some(self.commits.len());
            let Task { kind, changes_image, subject, change } = task;
            self.commits.push(Commit {
                position: Some(position),
                kind,
                changes_image,
                subject,
                parents,
                files,
            });
            if on_side {
                merged.push(change);
            }
            if forks(position) {
                self.fork()?;
            }
            if plan.side.is_some_and(|side| side.last == position) {
                self.merge(&merged)?;
            }
        }
        Ok(Composed { commits: self.commits })
    }

    fn fork(&mut self) -> Result<()> {
        self.side = Some(Line { head: self.main.head, files: self.main.files.fork()? });
        Ok(())
    }

    fn merge(&mut self, changes: &[Change]) -> Result<()> {
        let Some(side) = self.side.take() else { return Ok(()) };
        let mut files: Vec<Written> = Vec::new();
        for change in changes {
            for file in self.main.files.apply(change).context("failed to merge the side branch")? {
                files.retain(|other| other.name != file.name);
                files.push(file);
            }
        }
        let parents = vec![self.main.head, side.head];
        self.main.head = Some(self.commits.len());
        let subject = "Merge branch 'side'".to_owned();
        self.commits.push(Commit {
            position: None,
            kind: Kind::Merge,
            changes_image: true,
            subject,
            parents,
            files,
        });
        Ok(())
    }
}
