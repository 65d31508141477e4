//! Every known bug, every harmless patch, and each kernel against itself: does the suite see what it should?

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use mthp_judge::{
    compare::{Comparison, compare},
    report::{AcceleratorRecord, Status, SuiteRecord},
    suite::Suite,
    verdict::{Judgement, judge},
};
use mthp_kernel::{BadInput, BuiltKernel, PatchSeries, files};
use mthp_ledger::corpus::{
    backtest::{Backtest, Cost, Harmless, Trial},
    entry::Entry,
    look::{self, Run},
};
use mthp_record::{
    boot::{BootRecord, Side},
    job::selects,
};
use mthp_vm::accel::{Accel, AccelChoice};

use crate::{
    BaseKernel, Events, Folder, Lab, Setting,
    boots::{Boot, accelerator, boot_all, workers},
    folder::BACKTEST,
    guest, host, kernels,
    laboratory::Base,
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
    let started = Instant::now();
    let (suite, text) = lab.project().suite(SUITE)?;
    let chosen = Chosen::of(lab, request)?;
    let now = jiff::Timestamp::now();
    let stamp = now.strftime("%Y%m%d-%H%M%S").to_string();
    let folder = Folder::make(request.folder.as_deref(), &stamp, "backtest")?;
    let created = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let record = SuiteRecord { name: suite.name.clone(), sha256: files::sha256(text.as_bytes()) };
    let mut backtest = Backtest::unfinished(env!("CARGO_PKG_VERSION"), &created, record, suite.boots);
    folder.write_as(BACKTEST, &backtest)?;
    let outcome = fill(lab, request, &suite, chosen, &folder, &mut backtest, events);
    backtest.wall_millis = millis(started);
    match &outcome {
        Ok(()) => {
            backtest.status = Status::Complete;
            backtest.reason.clear();
        }
        Err(error) => {
            backtest.status = Status::from(crate::experiment::unjudged(lab, error));
            backtest.reason = format!("{error:#}");
        }
    }
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

/// What is booted against which base.
struct Subject<T> {
    what: T,
    base: String,
    /// `None` for the base itself.
    patch: Option<PathBuf>,
    runs: u32,
}

/// The same with its kernel, or with why there is none.
struct Built<T> {
    subject: Subject<T>,
    kernel: Result<BuiltKernel, String>,
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
        backtest.bases.insert(name.clone(), kernels::record(name, kernel)?);
    }

    let Some((_, first)) = bases.all.values().next() else {
        bail!("failed to find anything to try");
    };
    let tests = suite.tests.clone();
    let mut setting = lab.setting_of(suite.clone(), tests, runner.program, folder.path());
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
    backtest.bugs = done.trials(
        bugs,
        |bug| bug.id.clone(),
        |bug, comparison, judgement| look::at_bug(&bug.turns, comparison, judgement),
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

struct Bases<'a> {
    lab: &'a Lab,
    suite: &'a Suite,
    events: &'a Events<'a>,
    all: BTreeMap<String, (Base, BuiltKernel)>,
}

impl Bases<'_> {
    /// Builds every subject's kernel, and the bases they go on.
    fn build_all<T>(&mut self, subjects: Vec<Subject<T>>) -> Result<Vec<Built<T>>> {
        let mut built = Vec::new();
        for subject in subjects {
            if !self.all.contains_key(&subject.base) {
                let named = BaseKernel::Named(subject.base.clone());
                let base = self.lab.base(&named, &self.suite.fragments, self.events)?;
                let kernel = self
                    .lab
                    .build(&base, &[], &subject.base, self.events)
                    .with_context(|| format!("failed to build {}", subject.base))?;
                self.all.insert(subject.base.clone(), (base, kernel));
            }
            let (base, kernel) =
                self.all.get(&subject.base).with_context(|| format!("{} is not built", subject.base))?;
            let kernel = match &subject.patch {
                None => Ok(kernel.clone()),
                Some(patch) => self.build(base, patch).or_else(|error| {
                    if self.lab.stop().is_stopped() { Err(error) } else { Ok(Err(format!("{error:#}"))) }
                })?,
            };
            built.push(Built { subject, kernel });
        }
        Ok(built)
    }

    fn build(&self, base: &Base, patch: &Path) -> Result<Result<BuiltKernel, String>> {
        let series = PatchSeries::read(patch, false)?;
        let label = patch.file_stem().unwrap_or_default().to_string_lossy();
        self.lab.build(base, &[series], &label, self.events).map(Ok)
    }
}

/// Whose boots, and in which run.
type Key = (String, u32);

/// All boots of a backtest, in their order.
struct Queue<'a> {
    lab: &'a Lab,
    setting: Setting,
    folder: &'a Folder,
    bases: &'a BTreeMap<String, (Base, BuiltKernel)>,
    boots: Vec<(Key, Setting, PathBuf, Side, u32)>,
}

impl Queue<'_> {
    fn base(&mut self, name: &str, run: u32) -> Result<()> {
        let (_, kernel) = self.bases.get(name).with_context(|| format!("{name} is not built"))?;
        self.add(name, run, kernel.vmlinux.clone(), Side::Base)
    }

    fn subject<T>(&mut self, name: &str, built: &Built<T>, run: u32) -> Result<()> {
        match &built.kernel {
            Ok(kernel) if run < built.subject.runs => {
                self.add(name, run, kernel.vmlinux.clone(), Side::Patched)
            }
            _ => Ok(()),
        }
    }

    fn add(&mut self, name: &str, run: u32, vmlinux: PathBuf, side: Side) -> Result<()> {
        let folder = self.folder.inner(&format!("{}/run-{}", name.replace(' ', "-"), run + 1))?;
        for index in 0..self.setting.suite.boots {
            let setting =
                Setting { subject: name.to_owned(), folder: folder.clone(), ..self.setting.clone() };
            self.boots.push(((name.to_owned(), run), setting, vmlinux.clone(), side, index));
        }
        Ok(())
    }

    fn boot(self, events: &Events<'_>) -> Result<Done> {
        let plan: Vec<Boot<'_>> = self
            .boots
            .iter()
            .map(|(_, setting, vmlinux, side, index)| Boot { setting, vmlinux, side: *side, index: *index })
            .collect();
        let records = boot_all(&plan, self.lab.stop(), events)?;
        if self.lab.stop().is_stopped() {
            bail!("interrupted; the consoles so far are in {}", self.folder.path().display());
        }
        let mut done = Done {
            records: BTreeMap::new(),
            suite: self.setting.suite.clone(),
            emulated: self.setting.accel == Accel::Tcg,
            bases: self.bases.iter().map(|(name, (_, kernel))| (name.clone(), kernel.clone())).collect(),
        };
        for ((key, ..), record) in self.boots.iter().zip(records) {
            done.records.entry(key.clone()).or_default().push(record);
        }
        Ok(done)
    }
}

/// What all boots left.
struct Done {
    records: BTreeMap<Key, Vec<BootRecord>>,
    suite: Suite,
    emulated: bool,
    bases: BTreeMap<String, BuiltKernel>,
}

impl Done {
    fn trials<T>(
        &self,
        built: Vec<Built<T>>,
        name: impl Fn(&T) -> String,
        look: impl Fn(&T, &Comparison, Judgement) -> Run,
    ) -> Result<Vec<Trial<T>>> {
        built.into_iter().map(|one| self.trial(one, &name, &look)).collect()
    }

    fn trial<T>(
        &self,
        built: Built<T>,
        name: &impl Fn(&T) -> String,
        look: &impl Fn(&T, &Comparison, Judgement) -> Run,
    ) -> Result<Trial<T>> {
        let Subject { what, base, patch, runs } = built.subject;
        let name = name(&what);
        let kernel = match built.kernel {
            Ok(kernel) => kernel,
            Err(why) => {
                return Ok(Trial {
                    subject: what,
                    kernel: None,
                    untried: Some(why),
                    same_image: false,
                    runs: Vec::new(),
                    cost: Cost::default(),
                });
            }
        };
        let mut seen = Vec::new();
        let mut longest = 0;
        for run in 0..runs {
            let of = |name: &str| self.records.get(&(name.to_owned(), run)).map_or(&[][..], Vec::as_slice);
            let boots: Vec<BootRecord> = of(&base).iter().chain(of(&name)).cloned().collect();
            longest = longest.max(of(&name).iter().map(|boot| boot.total_millis).sum());
            let comparison = compare(&boots, &self.suite.gates, self.emulated);
            let judgement = judge(&boots, &comparison);
            seen.push(look(&what, &comparison, judgement));
        }
        let at_a_time = workers(self.suite.guest.memory_mib).min(usize::try_from(self.suite.boots)?);
        let same = self.bases.get(&base).is_some_and(|base| base.same_image(&kernel));
        Ok(Trial {
            kernel: Some(kernels::record(&name, &kernel)?),
            subject: what,
            untried: None,
            same_image: same && patch.is_some(),
            runs: seen,
            cost: Cost {
                build_millis: if patch.is_some() { kernel.cost.wall_millis } else { 0 },
                built_now: !kernel.from_cache && patch.is_some(),
                boots_millis: longest / u64::try_from(at_a_time.max(1))?,
            },
        })
    }
}

fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}
