//! Boots kernels: side by side on the cores there are, in the order of [`crate::schedule`].

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    thread,
    time::Duration,
};

use anyhow::{Context, Result, anyhow};
use mthp_judge::suite::Suite;
use mthp_record::{
    boot::{BootOutcome, BootRecord, Side},
    job::{Job, Misbehaviour},
    selftest::PROGRAMS,
};
use mthp_vm::{
    accel::{Accel, AccelChoice, Accelerator, choose, in_words, kvm_opens},
    boot::{Event as BootEvent, boot},
    initramfs::{self, Member},
    plan::{BootPlan, Deadlines},
    qemu::Qemu,
};

use crate::{
    event::{Event, Events},
    model::{Model, account_name},
    schedule, selftests,
    stop::Stop,
    workload::Loaded,
};

/// What is the same for all boots of an experiment.
#[derive(Clone, Debug)]
pub struct Setting {
    /// Whose boots these are, where several kernels are booted in one run; else empty.
    pub subject: String,
    /// The QEMU that boots.
    pub qemu: Qemu,
    /// The guest runner's bytes.
    pub runner: Arc<[u8]>,
    /// Memory, CPUs, deadlines.
    pub suite: Suite,
    /// Which tests of the runner: patterns.
    pub tests: Vec<String>,
    /// The workload's scenarios and disk, if the suite has one.
    pub workload: Option<Loaded>,
    /// The kernel's own selftests, if the suite has some.
    pub selftests: Option<selftests::Loaded>,
    /// What runs the guest's instructions.
    pub accel: Accel,
    /// Where the consoles' logs go; it exists.
    pub folder: PathBuf,
    /// A fault for the guest to commit, in the suite's own tests.
    pub misbehave: Option<Misbehaviour>,
    /// More files for the guest's root, in the suite's own tests.
    pub extra: Vec<Extra>,
    /// Whether the regions of its tests are modelled.
    pub model: Model,
}

/// A file for the guest's root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Extra {
    /// A folder, before what lies in it.
    Folder(&'static str),
    /// A file with its content.
    File(&'static str, Vec<u8>),
    /// A symbolic link and where it points.
    Link(&'static str, &'static str),
}

impl Extra {
    fn member(&self) -> Member<'_> {
        match self {
            Self::Folder(path) => Member::Folder { path },
            Self::File(path, content) => Member::File { path, permissions: 0o644, content },
            Self::Link(path, target) => Member::Link { path, target },
        }
    }
}

impl Setting {
    /// Boots `vmlinux` once.
    ///
    /// # Errors
    /// When the host cannot start QEMU or write into the folder.
    pub fn boot(
        &self,
        vmlinux: &Path,
        side: Side,
        index: u32,
        stop: &Stop,
        events: &Events<'_>,
    ) -> Result<BootRecord> {
        let given = &self.suite.deadlines;
        let deadlines =
            Deadlines { boot_secs: given.boot_secs, test_secs: given.test_secs, run_secs: given.run_secs }
                .scaled(self.accel);
        let nonce = nonce(side, index)?;
        let job = Job {
            nonce,
            tests: self.tests.clone(),
            scenarios: self.workload.iter().flat_map(|loaded| loaded.scenarios.clone()).collect(),
            selftests: self.selftests.iter().flat_map(|loaded| loaded.tests.clone()).collect(),
            test_deadline_secs: deadlines.test_secs,
            misbehave: self.misbehave,
        };
        let mut more: Vec<Member<'_>> = self.extra.iter().map(Extra::member).collect();
        if let Some(loaded) = &self.selftests {
            more.push(Member::Folder { path: PROGRAMS });
            more.extend(loaded.programs.iter().map(|program| Member::File {
                path: &program.path,
                permissions: 0o755,
                content: &program.content,
            }));
        }
        let archive = initramfs::build_with(&self.runner, &job, &more)?;
        let file = tempfile::Builder::new()
            .prefix(&format!("initramfs-{side}-{index}-"))
            .tempfile_in(&self.folder)
            .with_context(|| format!("failed to make a file in {}", self.folder.display()))?;
        fs::write(file.path(), archive)
            .with_context(|| format!("failed to write {}", file.path().display()))?;
        let account = self.folder.join(account_name(side, index));
        let plugin = match self.accel {
            Accel::Tcg => self.model.plugin(vmlinux, &account, nonce)?,
            Accel::Kvm => None,
        };
        let plan = BootPlan {
            side,
            index,
            vmlinux: vmlinux.to_owned(),
            initramfs: file.path().to_owned(),
            disk: self.workload.as_ref().map(|loaded| loaded.disk.clone()),
            memory_mib: self.suite.guest.memory_mib,
            cpus: self.suite.guest.cpus,
            fake_nodes: self.suite.guest.fake_nodes,
            accel: self.accel,
            machine: self.qemu.default_machine(),
            deadlines,
            folder: self.folder.clone(),
            nonce,
            extra_cmdline: self.suite.cmdline.clone(),
            plugin,
        };
        let subject = if self.subject.is_empty() { String::new() } else { format!("{} ", self.subject) };
        let label = format!("boot {subject}{side}/{index}");
        events(&Event::Began { label: label.clone(), what: "booting".to_owned() });
        let mut record = boot(&self.qemu, &plan, stop.boots(), &|event| {
            if let Some(what) = step(&event) {
                events(&Event::Now { label: label.clone(), what });
            }
        })?;
        let watched = plan.plugin.is_some().then_some(nonce);
        self.model.settle(watched, &account, &mut record.tests);
        events(&Event::Ended { what: summary(&record), label });
        Ok(record)
    }

    /// What a reader must know if the suite asks for a cost model and its boots have none.
    pub(crate) fn unmodelled(&self) -> Option<String> {
        let why = match &self.model {
            Model::Missing(why) => why.as_str(),
            Model::Ready(_) if self.accel == Accel::Kvm => {
                "it needs emulation (--accel tcg); under KVM the suite has the guest's hardware events at most"
            }
            Model::Unasked | Model::Ready(_) => return None,
        };
        Some(format!("there is no cost model: {why}"))
    }

    /// Boots both kernels `boots` times each, base and patched in turn, side by side as the host allows. The
    /// records come back in the order of the schedule.
    ///
    /// # Errors
    /// When a boot could not be started; the others are waited for.
    pub fn boot_both(
        &self,
        base: &Path,
        patched: &Path,
        boots: u32,
        stop: &Stop,
        events: &Events<'_>,
    ) -> Result<Vec<BootRecord>> {
        let plan: Vec<Boot<'_>> = schedule::interleaved(boots)
            .into_iter()
            .map(|(side, index)| {
                let vmlinux = match side {
                    Side::Base => base,
                    Side::Patched => patched,
                };
                Boot { setting: self, vmlinux, side, index }
            })
            .collect();
        boot_all(&plan, stop, events)
    }
}

/// One boot of many.
#[derive(Clone, Copy, Debug)]
pub struct Boot<'a> {
    /// Its guest, and the folder of its console.
    pub setting: &'a Setting,
    /// The kernel.
    pub vmlinux: &'a Path,
    /// Which side the record is of.
    pub side: Side,
    /// Its number within the side.
    pub index: u32,
}

/// How many guests of that much memory the host runs side by side.
#[must_use]
pub fn workers(guest_mib: u32) -> usize {
    let cores = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    schedule::side_by_side(cores, available_mib(), u64::from(guest_mib))
}

/// Boots all of them in their order, side by side as the host allows for the largest. The records come back in the
/// same order; when the run is stopped, only those of the boots that began.
///
/// # Errors
/// When a boot could not be started; the others are waited for.
pub fn boot_all(plan: &[Boot<'_>], stop: &Stop, events: &Events<'_>) -> Result<Vec<BootRecord>> {
    let largest = plan.iter().map(|boot| boot.setting.suite.guest.memory_mib).max().unwrap_or(1);
    let queue = Mutex::new(plan.iter().enumerate());
    let done: Mutex<Vec<(usize, Result<BootRecord>)>> = Mutex::default();
    thread::scope(|scope| {
        for _ in 0..workers(largest).min(plan.len()) {
            scope.spawn(|| {
                loop {
                    let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                    let Some((place, boot)) = next else { return };
                    if stop.is_stopped() {
                        return;
                    }
                    let record = boot.setting.boot(boot.vmlinux, boot.side, boot.index, stop, events);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((place, record));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, record)| record).collect()
}

/// Chooses the accelerator by a trial boot of `vmlinux` that runs no test.
///
/// # Errors
/// When KVM is asked for and does not work, or the trial was interrupted.
pub fn accelerator(
    choice: AccelChoice,
    setting: &Setting,
    vmlinux: &Path,
    stop: &Stop,
    events: &Events<'_>,
) -> Result<Accelerator> {
    let label = "accelerator".to_owned();
    events(&Event::Began { label: label.clone(), what: format!("{choice} asked for") });
    // Only an emulator tells a model what the guest does.
    if choice == AccelChoice::Auto && setting.model.is_ready() {
        let accelerator =
            Accelerator { accel: Accel::Tcg, why: "the suite's cost model needs emulation".to_owned() };
        events(&Event::Ended { label, what: format!("{}: {}", accelerator.accel, accelerator.why) });
        return Ok(accelerator);
    }
    let chosen = choose(choice, kvm_opens, |accel, deadline| {
        let trial_folder = tempfile::tempdir_in(&setting.folder)
            .with_context(|| format!("failed to make a folder in {}", setting.folder.display()))?;
        let mut trial = setting.clone();
        trial.accel = accel;
        trial.folder = trial_folder.path().to_owned();
        trial.tests = Vec::new();
        trial.workload = None;
        trial.selftests = None;
        trial.model = Model::Unasked;
        trial.suite.deadlines.boot_secs = secs(deadline);
        trial.suite.deadlines.run_secs = secs(deadline);
        trial.boot(vmlinux, Side::Base, 0, stop, &|_| {})
    });
    let what = match &chosen {
        Ok(accelerator) => format!("{}: {}", accelerator.accel, accelerator.why),
        Err(error) => format!("{error:#}"),
    };
    events(&Event::Ended { label, what });
    chosen
}

fn secs(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX).max(1)
}

fn step(event: &BootEvent) -> Option<String> {
    match event {
        BootEvent::Hello { tests, millis } => Some(format!("up after {millis} ms, {} tests", tests.len())),
        BootEvent::TestStarted(name) => Some(name.clone()),
        BootEvent::Failure(line) => Some(line.clone()),
        BootEvent::Started | BootEvent::ConsoleLine(_) | BootEvent::TestFinished(_) | BootEvent::Ended(_) => {
            None
        }
    }
}

fn summary(record: &BootRecord) -> String {
    match record.outcome {
        BootOutcome::Completed => {
            format!("{} tests in {:.1} s", record.tests.len(), millis_to_secs(record.total_millis))
        }
        ref outcome => in_words(outcome),
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn millis_to_secs(millis: u64) -> f64 {
    millis as f64 / 1000.0
}

/// Differs from boot to boot and from run to run, so that a stale stream is noticed.
fn nonce(side: Side, index: u32) -> Result<u64> {
    let now = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_err(|error| anyhow!("failed to read the clock: {error}"))?;
    let side = match side {
        Side::Base => 0,
        Side::Patched => 1,
    };
    let nanos = u64::try_from(now.as_nanos() & u128::from(u64::MAX >> 12)).unwrap_or_default();
    Ok(nanos ^ (u64::from(std::process::id()) << 32) ^ (u64::from(index) << 1) ^ side)
}

/// The host's available memory, or a guess that allows one boot where it does not tell.
fn available_mib() -> u64 {
    fs::read_to_string("/proc/meminfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
            line.split_whitespace().nth(1)?.parse::<u64>().ok()
        })
        .map_or(0, |kib| kib / 1024)
}
