//! Every known bug, every harmless patch, and each kernel against itself: does the suite see what it should?

mod boots;
mod kernels;

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::{Result, bail};
use mthp_judge::{
    report::{AcceleratorRecord, SuiteRecord},
    suite::Suite,
};
use mthp_kernel::{BadInput, files};
use mthp_ledger::corpus::{
    backtest::{Backtest, Harmless},
    entry::Entry,
    look,
};
use mthp_record::job::selects;
use mthp_vm::accel::AccelChoice;

use self::{
    boots::Queue,
    kernels::{Bases, Subject},
};
use crate::{
    Events, Folder, Lab,
    began::{Began, ending},
    boots::accelerator,
    folder::BACKTEST,
    guest, host, kernels as records,
};

/// The suite that the corpus is tried with: every memory test.
pub const SUITE: &str = "memory";
/// The kernel on which harmless patches go, and which is set against itself.
pub const KERNEL: &str = "stock-6.12";

/// What a user asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// Only these bugs and harmless patches: names, or prefixes ending in `*`; empty means all, and then the kernel is
    /// set against itself too.
    pub only: Vec<String>,
    /// Runs of each bug and each harmless patch; at least 1.
    pub runs: u32,
    /// Runs of the kernel against itself.
    pub itself: u32,
    /// Which accelerator.
    pub accel: AccelChoice,
    /// The report's folder, if the user names one.
    pub folder: Option<PathBuf>,
}

/// A finished backtest.
#[derive(Debug)]
pub struct Finished {
    /// What it found, as it was written.
    pub backtest: Backtest,
    /// Its folder.
    pub folder: Folder,
}

/// Runs a backtest. Its file says "unfinished" until the end, and why after an error.
///
/// # Errors
/// When a file is malformed, a name is not known, or the machinery failed.
pub fn run(lab: &Lab, request: &Request, events: &Events<'_>) -> Result<Finished> {
    let began = Began::now();
    let (suite, text) = lab.project().suite(SUITE)?;
    let chosen = Chosen::of(lab, request)?;
    let folder = Folder::make(request.folder.as_deref(), &began.stamp, "backtest")?;
    let record = SuiteRecord { name: suite.name.clone(), sha256: files::sha256(text.as_bytes()) };
    let mut backtest = Backtest::unfinished(env!("CARGO_PKG_VERSION"), &began.created, record, suite.boots);
    folder.write_as(BACKTEST, &backtest)?;
    let outcome = fill(lab, request, &suite, chosen, &folder, &mut backtest, events);
    backtest.wall_millis = began.millis();
    (backtest.status, backtest.reason) = ending(lab, &outcome);
    let written = folder.write_as(BACKTEST, &backtest);
    // Of two errors (on a full disk, say) the first is the cause.
    outcome?;
    written?;
    Ok(Finished { backtest, folder })
}

/// What is tried.
struct Chosen {
    bugs: Vec<Entry>,
    harmless: Vec<(String, PathBuf)>,
    itself: u32,
}

impl Chosen {
    fn of(lab: &Lab, request: &Request) -> Result<Self> {
        let (mut bugs, mut harmless) = (lab.project().corpus()?, lab.project().harmless()?);
        let names: Vec<&str> =
            bugs.iter().map(|bug| bug.id.as_str()).chain(harmless.iter().map(|one| one.0.as_str())).collect();
        if let Some(pattern) =
            request.only.iter().find(|pattern| !names.iter().any(|name| selects(pattern, name)))
        {
            let known = names.join(", ");
            return Err(
                BadInput(format!("failed to find '{pattern}' in the corpus; there are: {known}")).into()
            );
        }
        for (at, name) in names.iter().enumerate() {
            let base = *name == KERNEL || bugs.iter().any(|bug| bug.kernel == *name);
            if base || names.iter().skip(at + 1).any(|other| other == name) {
                return Err(BadInput(format!(
                    "failed to use the corpus: {name} is the name of two of its bugs, harmless patches and kernels"
                ))
                .into());
            }
        }
        let mut itself = request.itself;
        if !request.only.is_empty() {
            let wanted = |name: &str| request.only.iter().any(|pattern| selects(pattern, name));
            bugs.retain(|bug| wanted(&bug.id));
            harmless.retain(|one| wanted(&one.0));
            itself = 0;
        }
        Ok(Self { bugs, harmless, itself })
    }
}

fn fill(
    lab: &Lab,
    request: &Request,
    suite: &Suite,
    chosen: Chosen,
    folder: &Folder,
    backtest: &mut Backtest,
    events: &Events<'_>,
) -> Result<()> {
    backtest.host = Some(host::record());
    backtest.qemu = Some(host::qemu(lab.qemu()));
    let runner = guest::build(lab.project(), events)?;
    let tests = runner.tests.iter().zip(&runner.contracts).filter(|(name, _)| suite.selects(name));
    backtest.contracts = tests.map(|(name, contract)| (name.clone(), contract.clone())).collect();
    known_tests(&chosen.bugs, &backtest.contracts)?;

    let mut bases = Bases { lab, suite, events, all: BTreeMap::new() };
    let bugs: Vec<Subject<Entry>> = chosen
        .bugs
        .into_iter()
        .map(|bug| Subject {
            base: bug.kernel.clone(),
            patch: Some(bug.patch.clone()),
            runs: request.runs,
            what: bug,
        })
        .collect();
    let harmless: Vec<Subject<Harmless>> = chosen
        .harmless
        .into_iter()
        .map(|(id, patch)| Subject {
            what: Harmless { id, subject: String::new() },
            base: KERNEL.to_owned(),
            patch: Some(patch),
            runs: request.runs,
        })
        .collect();
    let itself = (chosen.itself > 0).then(|| Subject {
        what: KERNEL.to_owned(),
        base: KERNEL.to_owned(),
        patch: None,
        runs: chosen.itself,
    });
    let bugs = bases.build_all(bugs)?;
    let mut harmless = bases.build_all(harmless)?;
    let itself = bases.build_all(itself.into_iter().collect())?;
    for built in &mut harmless {
        let kernel = built.kernel.as_ref().ok();
        let subject = kernel.and_then(|kernel| kernel.identity.patches.last()).map(|patch| &patch.subject);
        built.subject.what.subject = subject.cloned().unwrap_or_default();
    }
    for (name, (_, kernel)) in &bases.all {
        backtest.bases.insert(name.clone(), records::record(name, kernel)?);
    }

    let Some((_, first)) = bases.all.values().next() else {
        bail!("failed to find anything to try");
    };
    let tests = backtest.contracts.keys().cloned().collect();
    let mut setting = lab.setting_of(suite.clone(), tests, runner.program, folder.path(), events)?;
    let accel = accelerator(request.accel, &setting, &first.vmlinux, lab.stop(), events)?;
    setting.accel = accel.accel;
    backtest.accelerator = Some(AcceleratorRecord { kind: accel.accel.to_string(), why: accel.why });
    folder.write_as(BACKTEST, backtest)?;

    let mut queue = Queue { lab, setting, folder, bases: &bases.all, boots: Vec::new() };
    for run in 0..request.runs.max(chosen.itself) {
        for name in bases.all.keys() {
            queue.base(name, run)?;
        }
        for built in &bugs {
            queue.subject(&built.subject.what.id, built, run)?;
        }
        for built in &harmless {
            queue.subject(&built.subject.what.id, built, run)?;
        }
        for built in &itself {
            queue.subject(&format!("{} against itself", built.subject.what), built, run)?;
        }
    }
    let done = queue.boot(events)?;
    let boots = usize::try_from(suite.boots)?;
    for bug in &bugs {
        let entry = &bug.subject.what;
        if let Some(turn) = done.unknown_check(&entry.kernel, &entry.turns) {
            return Err(BadInput(format!(
                "failed to use the corpus entry {}: {} has no check {} on {}",
                entry.id, turn.test, turn.check, entry.kernel
            ))
            .into());
        }
    }
    backtest.bugs = done.trials(
        bugs,
        |bug| bug.id.clone(),
        |bug, comparison, judgement| look::at_bug(&bug.turns, boots, comparison, judgement),
    )?;
    backtest.harmless = done.trials(
        harmless,
        |one| one.id.clone(),
        |_, comparison, judgement| look::at_harmless(comparison, judgement),
    )?;
    backtest.itself = done.trials(
        itself,
        |name| format!("{name} against itself"),
        |_, comparison, judgement| look::at_harmless(comparison, judgement),
    )?;
    // Paths of this machine say nothing to a reader elsewhere.
    for trial in &mut backtest.bugs {
        trial.subject.patch = trial.subject.patch.file_name().map(PathBuf::from).unwrap_or_default();
    }
    Ok(())
}

/// A bug whose test is not in the suite could never be caught.
fn known_tests(bugs: &[Entry], contracts: &BTreeMap<String, String>) -> Result<(), BadInput> {
    for bug in bugs {
        if let Some(turn) = bug.turns.iter().find(|turn| !contracts.contains_key(&turn.test)) {
            let known = contracts.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(BadInput(format!(
                "failed to read the corpus entry {}: there is no test {} in the suite {SUITE}; there are: {known}",
                bug.id, turn.test
            )));
        }
    }
    Ok(())
}
