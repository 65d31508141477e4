//! Which commit brought it: revision after revision is built from the last one's objects, booted, and judged by the one
//! check that differs between the ends.
//!
//! The journal is written after everything that was found out; the same request goes on from there after a kill.

mod ends;
pub(crate) mod history;
mod journal;
pub mod one;
pub(crate) mod sight;
mod steps;
mod verify;

use std::path::PathBuf;

use anyhow::Result;
use mthp_bisect::record::{Bisection, Question};
use mthp_judge::{
    report::{PatchRecord, SuiteRecord},
    suite::Suite,
};
use mthp_kernel::{PatchSeries, files};
use mthp_vm::accel::AccelChoice;

use self::{history::History, journal::Journal, sight::Eye};
use crate::{
    BaseKernel, Event, Events, Folder, Lab, Setting,
    began::{Began, ending},
    host,
    load::Load,
    timing::Timings,
};

/// Boots of a revision on the way, unless the user says otherwise. The suspect is tested at full strength in the end.
pub const STEP_BOOTS: u32 = 1;
/// Boots of each end, and of the suspect and its parents.
pub const FULL_BOOTS: u32 = 4;

/// What a user asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Where to look.
    pub place: Place,
    /// The suite's name.
    pub suite: String,
    /// Only these tests of it; empty means all.
    pub tests: Vec<String>,
    /// The check, cost or agreement to follow, if not the first that differs.
    pub check: Option<String>,
    /// Patches to put on every revision, in order.
    pub with_patches: Vec<PathBuf>,
    /// Boots of a revision on the way; at least 1.
    pub step_boots: u32,
    /// Boots of each end, and of the suspect and its parents; more than `step_boots`.
    pub full_boots: u32,
    /// Which accelerator.
    pub accel: AccelChoice,
    /// The report's folder, if the user names one.
    pub folder: Option<PathBuf>,
    /// Begin anew, even if the same request was killed earlier.
    pub fresh: bool,
}

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a git history.
    Git {
        /// The repository, only read; or its URL.
        tree: String,
        /// A revision that works.
        good: String,
        /// One that does not.
        bad: String,
    },
    /// In a series of patches.
    Series {
        /// An mbox, or a quilt folder.
        patches: PathBuf,
        /// What they go on.
        base: BaseKernel,
    },
}

/// A finished bisection.
#[derive(Debug)]
pub struct Finished {
    /// What came of it, as it was written.
    pub bisection: Bisection,
    /// Its folder.
    pub folder: Folder,
}

/// Bisects, or goes on with a bisection that was killed.
///
/// # Errors
/// When the ends cannot be bisected or something else that was given cannot be used
/// ([`BadInput`](mthp_kernel::BadInput)), or the machinery failed.
pub fn run(lab: &Lab, request: &Request, events: &Events<'_>) -> Result<Finished> {
    let began = Began::now();
    let (suite, text) = lab.project().suite(&request.suite)?;
    let suite_record = SuiteRecord { name: suite.name.clone(), sha256: files::sha256(text.as_bytes()) };
    let patches = read_patches(&request.with_patches)?;
    let history = History::open(lab, &request.place, &suite, events)?;
    let mut timings = Timings::default();
    let load = Load::choose(lab, &suite, None, &request.tests, None, &mut timings, events)?;
    let (base_sha256, series) = history.series();
    let question = Question {
        place: history.place.clone(),
        good: history.good.clone(),
        bad: history.bad.clone(),
        base_sha256,
        series: series.iter().flat_map(patch_records).collect(),
        fragment_sha256: files::sha256(history.fragment.text().as_bytes()),
        guest_sha256: load.guest_sha256(),
        accel: request.accel.to_string(),
        qemu: lab.qemu().version.clone(),
        suite: suite_record,
        tests: request.tests.clone(),
        check: request.check.clone(),
        with_patches: patches.iter().flat_map(patch_records).collect(),
        step_boots: request.step_boots,
        full_boots: request.full_boots,
    };
    let mut journal = Journal::open(lab, request, question, &began, events)?;
    journal.write()?;
    if journal.resumed {
        let known = mthp_judge::text::count(journal.bisection.tried.len(), "revision");
        let what = format!("an earlier run left {known}; going on from there (--fresh begins anew)");
        events(&Event::Ended { label: "journal".to_owned(), what });
    }
    let inquiry = Inquiry { lab, request, suite: &suite, patches: &patches, history: &history, events };
    let outcome = inquiry.fill(load, &mut journal);
    journal.end(began.millis(), ending(lab, &outcome))?;
    outcome?;
    Ok(Finished { bisection: journal.bisection, folder: journal.folder })
}

fn read_patches(paths: &[PathBuf]) -> Result<Vec<PatchSeries>> {
    paths.iter().map(|path| PatchSeries::read(path, false)).collect()
}

fn patch_records(series: &PatchSeries) -> Vec<PatchRecord> {
    let record = |patch: &mthp_kernel::patch::Patch| PatchRecord {
        name: patch.name.clone(),
        subject: Some(patch.subject.clone()),
        sha256: patch.sha256.clone(),
        reverted: series.revert,
    };
    series.patches.iter().map(record).collect()
}

/// What is asked, and of what.
struct Inquiry<'a> {
    lab: &'a Lab,
    request: &'a Request,
    suite: &'a Suite,
    patches: &'a [PatchSeries],
    history: &'a History,
    events: &'a Events<'a>,
}

impl Inquiry<'_> {
    fn fill(&self, mut load: Load, journal: &mut Journal) -> Result<()> {
        let Self { lab, request, suite, patches, history, events } = *self;
        journal.bisection.host = Some(host::record());
        journal.bisection.qemu = Some(host::qemu(lab.qemu()));
        history.prepare(&mut load, lab, suite, patches, events)?;
        let setting = load.setting(lab, journal.folder.path(), events)?;
        let mut eye = Eye::open(lab, history, patches, setting, &suite.gates, events)?;
        if !ends::verify(&mut eye, request.accel, &load, journal)? {
            return Ok(());
        }
        let outcome = steps::walk(&mut eye, journal)?;
        // All tests that were chosen, to see what else is the suspect's doing.
        let whole = load.setting(lab, journal.folder.path(), events)?;
        let whole = Setting { accel: eye.setting.accel, ..whole };
        verify::at_full_strength(&mut eye, whole, &load, outcome, journal)
    }
}
