//! The journal: found again by the same request after a kill, and written after everything that was found out.

use std::{fs, io::ErrorKind, path::PathBuf};

use anyhow::{Context, Result};
use mthp_bisect::record::{Bisection, Question, Tried};
use mthp_judge::report::Status;
use mthp_kernel::{
    BadInput,
    cache::{Kind, Lock},
    files,
};

use super::Request;
use crate::{Events, Folder, Lab, began::Began, folder::BISECT, laboratory::translate};

/// A bisection's record and where it is kept.
pub(super) struct Journal {
    pub(super) bisection: Bisection,
    pub(super) folder: Folder,
    /// Names the folder to who asks the same again.
    pointer: PathBuf,
    /// Held against a second run of the same question.
    _lock: Lock,
    earlier_millis: u64,
    /// Whether an earlier run left it.
    pub(super) resumed: bool,
}

impl Journal {
    /// The journal that a killed run of the same question left, or a new one.
    ///
    /// # Errors
    /// When the named folder holds another bisection, or nothing can be written.
    pub(super) fn open(
        lab: &Lab,
        request: &Request,
        question: Question,
        began: &Began,
        events: &Events<'_>,
    ) -> Result<Self> {
        let key = files::sha256(serde_json::to_string(&question)?.as_bytes());
        let key = key.get(..32).unwrap_or(&key);
        let what = "a bisection of the same question";
        let stop = lab.stop().builds();
        let lock = lab.cache().lock(
            Kind::Work,
            &format!("bisection-{key}"),
            what,
            &translate(what, events),
            stop,
        )?;
        let pointer = lab.cache().notes("bisections")?.join(key);
        let left = match &request.folder {
            Some(folder) => Some(folder.clone()),
            None => fs::read_to_string(&pointer).ok().map(|text| PathBuf::from(text.trim_end())),
        };
        let earlier = left.as_ref().and_then(|folder| read(&folder.join(BISECT)));
        let unfinished = |earlier: &Bisection| {
            !matches!(earlier.status, Status::Complete | Status::Refused) && !request.fresh
        };
        if let (Some(folder), Some(earlier)) = (&request.folder, &earlier)
            && unfinished(earlier)
            && earlier.question != question
        {
            return Err(BadInput(format!(
                "failed to use {} for the report: it holds an unfinished bisection of something else; \
                 name another folder, or give --fresh to throw it away",
                folder.display()
            ))
            .into());
        }
        let resumed = earlier.filter(|earlier| unfinished(earlier) && earlier.question == question);
        let named = if resumed.is_some() { left } else { request.folder.clone() };
        let folder = Folder::make(named.as_deref(), &began.stamp, "bisect")?;
        fs::write(&pointer, folder.path().as_os_str().as_encoded_bytes())
            .with_context(|| format!("failed to write {}", pointer.display()))?;
        let was = resumed.is_some();
        let bisection = resumed
            .unwrap_or_else(|| Bisection::unfinished(env!("CARGO_PKG_VERSION"), &began.created, question));
        Ok(Self {
            earlier_millis: bisection.wall_millis,
            bisection,
            folder,
            pointer,
            _lock: lock,
            resumed: was,
        })
    }

    /// Writes it, whole or not at all.
    pub(super) fn write(&self) -> Result<()> {
        self.folder.write_as(BISECT, &self.bisection)
    }

    /// Adds what was found of a revision, and writes it.
    pub(super) fn add(&mut self, tried: Tried) -> Result<()> {
        self.bisection.tried.push(tried);
        self.write()
    }

    /// Ends this run.
    pub(super) fn end(&mut self, millis: u64, (status, reason): (Status, String)) -> Result<()> {
        self.bisection.wall_millis = self.earlier_millis + millis;
        (self.bisection.status, self.bisection.reason) = (status, reason);
        self.write()?;
        if matches!(status, Status::Complete | Status::Refused) {
            // Asked again, it is looked for anew.
            match fs::remove_file(&self.pointer) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(error)
                        .with_context(|| format!("failed to remove {}", self.pointer.display()));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// A journal, if there is one that this version reads.
fn read(path: &std::path::Path) -> Option<Bisection> {
    serde_json::from_slice(&fs::read(path).ok()?).ok()
}
