//! The head of a branch against the last good run of its kind, and what brought what is worse.

mod blame;
mod compared;

use std::{path::PathBuf, time::Instant};

use anyhow::{Context, Result, bail};
use mthp_bisect::target::Target;
use mthp_judge::{
    report::{AcceleratorRecord, Report, Status, SuiteRecord, Unjudged},
    suite::Suite,
};
use mthp_kernel::{BuiltKernel, Repository, files};
use mthp_record::boot::{BootRecord, Side};
use mthp_store::{
    Store,
    history::Baseline,
    nightly::{Compared, Nightly, Regressed, Word},
    run::{Filter, Outcome, Revision, Run, Series},
};
use mthp_vm::accel::{Accel, AccelChoice};

use self::{
    blame::Blame,
    compared::{Heads, disagreement},
};
use crate::{
    Events, Folder, Lab,
    began::{Began, ending},
    bisect::{
        history::History,
        sight::{Eye, Image},
    },
    boots::accelerator,
    folder::NIGHTLY,
    laboratory::translate,
    load::Load,
    outputs,
    timing::Timings,
};

/// What a user asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The repository, only read; or its URL.
    pub tree: String,
    /// The branch whose head is tested.
    pub branch: String,
    /// The suite's name.
    pub suite: String,
    /// The store's file.
    pub store: PathBuf,
    /// The machine's name in the store.
    pub host: String,
    /// Whether what is worse is bisected at once.
    pub bisect: bool,
    /// Take the run for good whatever it is worse in, so that later ones are compared with it.
    pub accept: bool,
    /// Boots of the head, if not as the suite says.
    pub boots: Option<u32>,
    /// Which accelerator.
    pub accel: AccelChoice,
    /// The report's folder, if the user names one.
    pub folder: Option<PathBuf>,
}

/// A finished run.
#[derive(Debug)]
pub struct Finished {
    /// What it found, as it was written.
    pub nightly: Nightly,
    /// Its folder.
    pub folder: Folder,
}

/// Runs a night. The run is stored, whatever it found.
///
/// # Errors
/// When something that was given cannot be used, or the machinery failed; nothing is stored then.
pub fn run(lab: &Lab, request: &Request, events: &Events<'_>) -> Result<Finished> {
    let began = Began::now();
    let (mut suite, text) = lab.project().suite(&request.suite)?;
    if let Some(boots) = request.boots {
        suite.boots = boots;
    }
    let folder = Folder::make(request.folder.as_deref(), &began.stamp, "nightly")?;
    let mut nightly = Nightly::unfinished(
        env!("CARGO_PKG_VERSION"),
        &began.created,
        &request.tree,
        &request.branch,
        &suite.name,
    );
    nightly.host.clone_from(&request.host);
    nightly.store = request.store.display().to_string();
    folder.write_as(NIGHTLY, &nightly)?;
    let record = SuiteRecord { name: suite.name.clone(), sha256: files::sha256(text.as_bytes()) };
    let mut report = Report::unfinished(env!("CARGO_PKG_VERSION"), &began.created, record);
    outputs::write(&folder, &report)?;
    let night = Night { lab, request, suite: &suite, suite_sha256: files::sha256(text.as_bytes()), events };
    let outcome = night.fill(&folder, &began, &mut nightly);
    let (status, reason) = ending(lab, &outcome);
    nightly.status = status;
    if status != Status::Complete {
        nightly.reason = reason;
    }
    // Without a comparison, whoever collects JUnit must find an error there; a first run has nothing to report.
    if nightly.compared_with.is_none() && nightly.outcome == Some(Word::Good) {
        outputs::remove(&folder)?;
    } else if status != Status::Complete || nightly.outcome == Some(Word::Failed) {
        report.give_up(Unjudged::Failed, &nightly.reason);
        outputs::write(&folder, &report)?;
    }
    let written = folder.write_as(NIGHTLY, &nightly);
    // Of two errors (on a full disk, say) the first is the cause.
    outcome?;
    written?;
    Ok(Finished { nightly, folder })
}

/// The machine's own name.
#[must_use]
pub fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    match name.trim() {
        "" => "unnamed".to_owned(),
        name => name.to_owned(),
    }
}

struct Night<'a> {
    lab: &'a Lab,
    request: &'a Request,
    suite: &'a Suite,
    suite_sha256: String,
    events: &'a Events<'a>,
}

/// What the head showed.
struct Seen {
    series: Series,
    image: Result<BuiltKernel, String>,
    boots: Vec<BootRecord>,
    build_millis: Option<u64>,
    boots_millis: Option<u64>,
}

impl Night<'_> {
    fn fill(&self, folder: &Folder, began: &Began, nightly: &mut Nightly) -> Result<()> {
        // A store that cannot be used is told before an hour of work.
        let mut store = Store::open(&self.request.store)?;
        let stop = self.lab.stop().builds();
        let translate = translate("repository", self.events);
        let repository = Repository::open(self.lab.cache(), &self.request.tree, &translate, stop)?;
        let head = repository.branch_head(&self.request.branch)?;
        let revision = Revision {
            subject: repository.subject(&head)?,
            committed: repository.committed(&head)?,
            position: None,
            commit: head,
        };
        nightly.revision = Some(revision.clone());
        let seen = self.look(&repository, &revision, &store, folder, nightly)?;
        let baseline = store.last_good(&seen.series)?;
        nightly.compared_with = baseline.as_ref().map(|baseline| Compared {
            created: baseline.run.run.created.clone(),
            commit: baseline.run.run.revision.commit.clone(),
        });
        let (mut outcome, mut targets) = self.judge(&revision, &seen, baseline.as_ref(), folder, nightly)?;
        if self.request.accept
            && seen.boots.iter().all(|boot| boot.outcome.is_completed())
            && !seen.boots.is_empty()
        {
            if let Some(reason) = outcome.reason() {
                nightly.notes.push(format!("accepted as what later runs are compared with: {reason}"));
            }
            (outcome, targets) = (Outcome::Good, Vec::new());
        }
        nightly.conclude(&outcome);
        let run = Run {
            series: seen.series.clone(),
            created: began.created.clone(),
            revision: revision.clone(),
            suite_sha256: self.suite_sha256.clone(),
            image_sha256: seen.image.as_ref().ok().map(|kernel| kernel.identity.vmlinux_sha256.clone()),
            tool_version: env!("CARGO_PKG_VERSION").to_owned(),
            outcome: outcome.clone(),
            report: folder.path().display().to_string(),
            build_millis: seen.build_millis,
            boots_millis: seen.boots_millis,
        };
        let id = store.add(&run, &seen.boots)?;
        folder.write_as(NIGHTLY, nightly)?;
        let good = nightly.compared_with.as_ref().map(|run| run.commit.clone()).unwrap_or_default();
        let regressed = targets.iter().map(|target| Regressed {
            target: target.to_string(),
            test: target.test().map(str::to_owned),
            check: Some(target.label()),
            good: good.clone(),
            bad: revision.commit.clone(),
            culprit: None,
            known: false,
            undecided: None,
        });
        nightly.regressions = regressed.collect();
        let mut blame =
            Blame { night: self, repository: &repository, series: &seen.series, run: id, store: &mut store };
        blame.close(&seen.boots, nightly)?;
        blame.known(nightly)?;
        folder.write_as(NIGHTLY, nightly)?;
        if self.request.bisect {
            blame.find(&targets, folder, nightly)?;
        }
        Ok(())
    }

    /// Builds and boots the head.
    fn look(
        &self,
        repository: &Repository,
        revision: &Revision,
        store: &Store,
        folder: &Folder,
        nightly: &mut Nightly,
    ) -> Result<Seen> {
        let history = History::of_commit(
            repository.clone(),
            &self.request.branch,
            revision.commit.clone(),
            self.lab,
            self.suite,
        )?;
        let mut timings = Timings::default();
        let mut load = Load::choose(self.lab, self.suite, None, &[], None, &mut timings, self.events)?;
        load.assemble(self.lab, &mut timings, self.events)?;
        if load.has_selftests() {
            let (base, _) = history.bad_source(self.lab, self.suite, self.events)?;
            load.build_selftests(self.lab, &base, &[], &mut timings, self.events)?;
        }
        let setting = load.setting(self.lab, folder.path());
        let mut eye = Eye::open(self.lab, &history, &[], setting, &self.suite.gates, self.events)?;
        let started = Instant::now();
        let mut series = Series {
            tree: repository.place().to_owned(),
            branch: self.request.branch.clone(),
            host: self.request.host.clone(),
            accelerator: String::new(),
            suite: self.suite.name.clone(),
        };
        let kernel = match eye.build(&revision.commit, "head")? {
            Image::Built(kernel) => *kernel,
            Image::None(why) => {
                series.accelerator = self.unproven(store, &series)?;
                let image = Err(why);
                return Ok(Seen { series, image, boots: Vec::new(), build_millis: None, boots_millis: None });
            }
        };
        let build_millis = (!kernel.from_cache).then(|| crate::bisect::sight::millis(started));
        let stop = self.lab.stop();
        let chosen = accelerator(self.request.accel, &eye.setting, &kernel.vmlinux, stop, self.events)?;
        eye.setting.accel = chosen.accel;
        series.accelerator = chosen.accel.to_string();
        nightly.accelerator.clone_from(&series.accelerator);
        nightly.notes.extend(load.put_into(&mut eye.setting)?);
        let started = Instant::now();
        let kernels = [(revision.commit.as_str(), &kernel, Side::Patched)];
        let boots = eye.boot(&eye.setting, &kernels, self.suite.boots)?.concat();
        let boots_millis = Some(crate::bisect::sight::millis(started));
        let machinery =
            boots.iter().find(|boot| !boot.outcome.is_completed() && !boot.outcome.is_kernels_fault());
        if let Some(boot) = machinery {
            bail!("failed to boot the head: {}", mthp_judge::text::boot_failure(boot));
        }
        Ok(Seen { series, image: Ok(kernel), boots, build_millis, boots_millis })
    }

    /// What the run found, and what of it can be bisected.
    fn judge(
        &self,
        revision: &Revision,
        seen: &Seen,
        baseline: Option<&Baseline>,
        folder: &Folder,
        nightly: &mut Nightly,
    ) -> Result<(Outcome, Vec<Target>)> {
        let kernel = match &seen.image {
            Ok(kernel) => kernel,
            Err(reason) => return Ok((Outcome::Failed { reason: reason.clone() }, Vec::new())),
        };
        let failed = seen.boots.iter().find(|boot| !boot.outcome.is_completed());
        let Some(baseline) = baseline else {
            let outcome = match (failed, disagreement(&seen.boots)) {
                (Some(boot), _) => Outcome::Failed { reason: mthp_judge::text::boot_failure(boot) },
                (None, Some(reason)) => Outcome::Unjudged { reason },
                (None, None) => Outcome::Good,
            };
            return Ok((outcome, Vec::new()));
        };
        let heads = Heads::of(baseline, &seen.boots, self.suite, &seen.series.accelerator);
        nightly.notes.extend(heads.notes());
        heads.report(self, kernel, revision, folder).context("failed to write the comparison")?;
        let (outcome, targets) = heads.judged()?;
        if !targets.is_empty() && baseline.run.run.revision.commit == revision.commit {
            let reason = "the same revision was good in its last run: the machine, the compiler, QEMU or the tests changed, or a check is flaky";
            return Ok((Outcome::Unjudged { reason: reason.to_owned() }, Vec::new()));
        }
        Ok((outcome, targets))
    }

    /// The accelerator of a head that has no image to try it with: as asked, or as in the last run, or emulation.
    fn unproven(&self, store: &Store, series: &Series) -> Result<String> {
        let filter = Filter { accelerator: None, ..Filter::of(series) };
        Ok(match self.request.accel {
            AccelChoice::Auto => match store.runs(&filter, 1)?.into_iter().next() {
                Some(last) => last.run.series.accelerator,
                None => Accel::Tcg.to_string(),
            },
            choice => choice.to_string(),
        })
    }

    /// What ran the guests, for a report.
    fn accelerator(&self, seen: &str) -> AcceleratorRecord {
        AcceleratorRecord { kind: seen.to_owned(), why: format!("{} was asked for", self.request.accel) }
    }
}
