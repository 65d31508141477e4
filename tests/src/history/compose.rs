//! From a plan to commits, and from commits to what `git fast-import` reads.

use std::{
    fs,
    io::Write,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, ensure};
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
    parents: Vec<Option<usize>>,
    files: Vec<Written>,
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

/// When the base was committed: any time will do, if it stays. Each commit is an hour after the one before.
const EPOCH: usize = 1_700_000_000;
const WHO: &str = "mthp-regress authors <mthp-regress@localhost>";

impl Composed {
    /// The stream that makes these commits on top of one that is there.
    pub(super) fn stream(&self, base: &str) -> Vec<u8> {
        let mut out = format!("reset refs/tags/base\nfrom {base}\n\n").into_bytes();
        for (index, commit) in self.commits.iter().enumerate() {
            head(&mut out, index + 1, index + 1, &commit.subject);
            for (word, parent) in ["from", "merge"].into_iter().zip(&commit.parents) {
                let name = parent.map_or_else(|| base.to_owned(), |parent| format!(":{}", parent + 1));
                out.extend_from_slice(format!("{word} {name}\n").as_bytes());
            }
            for file in &commit.files {
                let mode = if file.executable { "100755" } else { "100644" };
                entry(&mut out, mode, file.name.as_bytes(), &file.contents);
            }
            out.push(b'\n');
        }
        out
    }
}

/// A commit's beginning. Whatever line it is on, the branch ends at the last one.
fn head(out: &mut Vec<u8>, mark: usize, hours: usize, subject: &str) {
    let time = EPOCH + 3600 * hours;
    let message = format!("{subject}\n");
    let text = format!(
        "commit refs/heads/main\nmark :{mark}\nauthor {WHO} {time} +0000\ncommitter {WHO} {time} +0000\ndata {}\n{message}\n",
        message.len()
    );
    out.extend_from_slice(text.as_bytes());
}

fn entry(out: &mut Vec<u8>, mode: &str, name: &[u8], contents: &[u8]) {
    out.extend_from_slice(format!("M {mode} inline ").as_bytes());
    out.extend_from_slice(name);
    out.extend_from_slice(format!("\ndata {}\n", contents.len()).as_bytes());
    out.extend_from_slice(contents);
    out.push(b'\n');
}

/// Writes the stream that makes the base: every file of a tree, whatever its `.gitignore` says.
pub(super) fn base(out: &mut dyn Write, tree: &Path, message: &str) -> Result<()> {
    let mut text = Vec::new();
    head(&mut text, 1, 0, message);
    for name in names(tree)? {
        let path = tree.join(&name);
        let failed = || format!("failed to read {}", path.display());
        let metadata = path.symlink_metadata().with_context(failed)?;
        let bytes = name.as_os_str().as_bytes();
        // Git would take a name in quotes for one with escapes, and a line's end for the name's.
        ensure!(!bytes.starts_with(b"\"") && !bytes.contains(&b'\n'), "failed to import the name {name:?}");
        if metadata.is_symlink() {
            entry(
                &mut text,
                "120000",
                bytes,
                fs::read_link(&path).with_context(failed)?.as_os_str().as_bytes(),
            );
        } else {
            let executable = metadata.permissions().mode() & 0o111 != 0;
            let mode = if executable { "100755" } else { "100644" };
            entry(&mut text, mode, bytes, &fs::read(&path).with_context(failed)?);
        }
        out.write_all(&text).context("failed to write to git fast-import")?;
        text.clear();
    }
    out.write_all(b"reset refs/tags/base\nfrom :1\n\n").context("failed to write to git fast-import")
}

/// All files and links under a folder, sorted, relative to it.
fn names(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let path = root.join(&folder);
        let failed = || format!("failed to list {}", path.display());
        for entry in fs::read_dir(&path).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let name = folder.join(entry.file_name());
            if entry.file_type().with_context(failed)?.is_dir() {
                folders.push(name)
            } else {
                found.push(name)
            }
        }
    }
    found.sort();
    Ok(found)
}
