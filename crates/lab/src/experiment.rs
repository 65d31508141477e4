//! From a request to a report: build, boot, compare, judge.

use std::{path::Path, time::Instant};

use anyhow::{Context, Result, bail};
use mthp_judge::{
    compare::compare,
    report::{AcceleratorRecord, KernelRecord, Report, Status, SuiteRecord},
    suite::Suite,
    terminal,
};
use mthp_kernel::{BadInput, BuiltKernel, PatchSeries, files};
use mthp_vm::accel::Accel;

use crate::{
    began::{Began, unjudged},
    boots::accelerator,
    event::Events,
    folder::Folder,
    host, kernels,
    laboratory::Lab,
    load::Load,
    outputs,
    request::{BaseKernel, Request},
    timing::Timings,
};

/// Columns of the file of answers.
const ANSWERS_WIDTH: u16 = 100;

/// A finished experiment.
#[derive(Debug)]
pub struct Finished {
    /// The report, as it was written.
    pub report: Report,
    /// The report's folder.
    pub folder: Folder,
}

/// Runs an experiment. The report's folder says "unfinished" until the end, and "failed" with the reason after
/// an error.
///
/// # Errors
/// When there is no verdict: what the user gave cannot be used, or the machinery failed.
pub fn run(lab: &Lab, request: &Request, events: &Events<'_>) -> Result<Finished> {
    let (mut suite, text) = lab.project().suite(&request.suite)?;
    if let Some(boots) = request.boots {
        suite.boots = boots;
    }
    let patches = read_patches(request)?;
    let began = Began::now();
    let folder = Folder::make(request.folder.as_deref(), &began.stamp, &suite.name)?;
    let suite_record = SuiteRecord { name: suite.name.clone(), sha256: files::sha256(text.as_bytes()) };
    let mut report = Report::unfinished(env!("CARGO_PKG_VERSION"), &began.created, suite_record);
    outputs::write(&folder, &report)?;
    let outcome = fill(lab, request, &suite, &patches, &folder, &mut report, events);
    if let Err(error) = &outcome {
        report.give_up(unjudged(lab, error), &format!("{error:#}"));
    }
    let written = outputs::write(&folder, &report);
    // Of two errors (on a full disk, say) the first is the cause. A shard without a test is no error.
    if report.status != Status::Empty {
        outcome?;
    }
    written?;
    Ok(Finished { report, folder })
}

fn read_patches(request: &Request) -> Result<Vec<PatchSeries>> {
    if request.patches.is_empty() {
        return Err(BadInput("failed to compare: there is no patch".to_owned()).into());
    }
    let mut series = Vec::new();
    // Taking patches out goes backwards.
    let mut paths: Vec<&Path> = request.patches.iter().map(AsRef::as_ref).collect();
    if request.revert {
        paths.reverse();
    }
    for path in paths {
        series.push(PatchSeries::read(path, request.revert)?);
    }
    Ok(series)
}

fn fill(
    lab: &Lab,
    request: &Request,
    suite: &Suite,
    patches: &[PatchSeries],
    folder: &Folder,
    report: &mut Report,
    events: &Events<'_>,
) -> Result<()> {
    let mut timings = Timings::default();
    report.host = Some(host::record());
    report.qemu = Some(host::qemu(lab.qemu()));

    let mut load = Load::choose(
        lab,
        suite,
        request.workload.as_deref(),
        &request.tests,
        request.shard,
        &mut timings,
        events,
    )?;
    let started = Instant::now();
    let base_source = lab.base(&request.base, &suite.fragments, events)?;
    // Before a build of minutes, not after it.
    base_source.accepts(patches)?;
    timings.note("source", started, None);
    load.assemble(lab, &mut timings, events)?;
    load.build_selftests(lab, &base_source, patches, &mut timings, events)?;
    load.describe(report);
    let started = Instant::now();
    let base =
        lab.build(&base_source, &[], "base kernel", events).context("failed to build the base kernel")?;
    timings.note("build base", started, spent(&base));
    report.base = Some(keep_kernel(folder, "base", &label(&request.base), &base)?);
    let started = Instant::now();
    let patched = lab
        .build(&base_source, patches, "patched kernel", events)
        .context("failed to build the patched kernel")?;
    timings.note("build patched", started, spent(&patched));
    report.patched =
        Some(keep_kernel(folder, "patched", &format!("{} + patch", label(&request.base)), &patched)?);
    keep_patches(folder, "base", &base_source.patches)?;
    keep_patches(folder, "patched", patches)?;
    for patch in patched.identity.patches.iter().filter(|patch| patch.fuzz > 0) {
        report.notes.push(format!(
            "{} went in with {} lines of context ignored: look whether it landed where it belongs",
            patch.name, patch.fuzz
        ));
    }
    if base.same_image(&patched) {
        report.notes.push("the patch changes no built object: both images are identical".to_owned());
    }

    let mut setting = load.setting(lab, folder.path(), events)?;
    let chosen = timings
        .time("accelerator", || accelerator(request.accel, &setting, &base.vmlinux, lab.stop(), events))?;
    setting.accel = chosen.accel;
    report.accelerator = Some(AcceleratorRecord { kind: chosen.accel.to_string(), why: chosen.why });
    report.notes.extend(load.put_into(&mut setting)?);
    report.notes.extend(setting.unmodelled());
    outputs::write(folder, report)?;

    let boots = timings.time("boots", || {
        setting.boot_both(&base.vmlinux, &patched.vmlinux, suite.boots, lab.stop(), events)
    })?;
    if lab.stop().is_stopped() {
        report.boots = boots;
        bail!("interrupted; what was found so far is in {}", folder.path().display());
    }
    let comparison = compare(&boots, &suite.gates, chosen.accel == Accel::Tcg);
    load.draw(&boots, folder)?;
    let drawn = setting.model.draw(&comparison, folder)?;
    if !drawn.is_empty() {
        report.notes.push(format!("what the cost model counted: {}", drawn.join(", ")));
    }
    report.timings = timings.into_vec();
    report.complete(boots, comparison);
    if let Some(answers) = terminal::answers(report, ANSWERS_WIDTH) {
        folder.put(terminal::ANSWERS_FILE, answers.as_bytes())?;
    }
    Ok(())
}

/// What this run's own build took; a kernel out of the cache took nothing.
fn spent(kernel: &BuiltKernel) -> Option<u64> {
    (!kernel.from_cache).then_some(kernel.cost.cpu_millis)
}

fn label(base: &BaseKernel) -> String {
    match base {
        BaseKernel::Named(name) => name.clone(),
        BaseKernel::Tree { spec, .. } => spec.clone(),
    }
}

fn keep_kernel(folder: &Folder, side: &str, label: &str, kernel: &BuiltKernel) -> Result<KernelRecord> {
    let config = format!("config-{side}");
    folder.keep(&kernel.config, &config)?;
    let build_log = format!("build-{side}.log");
    folder.keep(&kernel.log, &build_log)?;
    Ok(KernelRecord { build_log: Some(build_log), config: Some(config), ..kernels::record(label, kernel)? })
}

fn keep_patches(folder: &Folder, side: &str, series: &[PatchSeries]) -> Result<()> {
    for (number, patch) in series.iter().flat_map(|series| &series.patches).enumerate() {
        folder.put(&format!("{side}-{:02}.patch", number + 1), &patch.text)?;
    }
    Ok(())
}
