//! `cargo xtask bench`: what the suite itself costs. Ratios and CPU time; the wall's clock for orientation.

mod model;
mod workload;

use std::{
    fs,
    path::Path,
    process::{Command, ExitCode, Stdio},
    time::Instant,
};

use anyhow::{Context, Result, bail, ensure};
use comfy_table::{Cell, Table, presets};
use mthp_kernel::{PatchSeries, toolchain::Needs};
use mthp_lab::{Event, Lab, Project};
use mthp_record::boot::BootRecord;

use crate::{
    cli::Bench,
    setup,
    ui::{self, Progress},
};

const KERNEL: &str = "stock-6.12";
const SUITE: &str = "alignment";
/// The shipped patch whose new comment is made a different one each time, so that no cache knows it.
const TEMPLATE: (&str, &str) = ("comment-only.patch", "Larger anonymous mappings start at");

/// Measures and prints.
///
/// # Errors
/// When something it measures fails.
pub fn run(options: &Bench) -> Result<ExitCode> {
    let source = Project::here()?.kernel(KERNEL)?.source();
    setup::ensure(
        &Needs { sources: vec![source], qemu: options.common.qemu.is_none(), ..Needs::default() },
        options.common.setup,
    )?;
    let lab = super::lab(&options.common)?;
    let progress = Progress::new();
    let events = |event: &Event| progress.on(event);
    let mut table = Table::new();
    table.load_preset(presets::UTF8_HORIZONTAL_ONLY).set_header(["what", "measured", "bound", "ratio"]);

    let cold_cache = tempfile::tempdir().context("failed to make a folder for a cold cache")?;
    let cold;
    let measured = if options.cold {
        cold = Lab::open(Some(cold_cache.path()), options.common.qemu.as_deref(), lab.stop().clone())?;
        &cold
    } else {
        &lab
    };
    let (suite, _) = lab.project().suite(SUITE)?;
    let patch = unique_patch(&lab, cold_cache.path())?;
    let patched = measured.build_named(
        KERNEL,
        &[PatchSeries::read(&patch, false)?],
        &suite.fragments,
        "patched kernel",
        &events,
    )?;
    let root = patched.cost.root_cpu_millis;
    row(&mut table, "base build, CPU s", seconds(root), "≤ 300", share(root, 300_000));
    row(
        &mut table,
        "one-file patch build, CPU s",
        seconds(patched.cost.cpu_millis),
        "≤ 5 % of base",
        share(patched.cost.cpu_millis, root),
    );

    // What follows measures a patch on a built base: the kernel, and the objects that patches start from, which
    // may be gone (another compiler, ccache installed or removed) where the kernel is still in the cache.
    let base = lab.build_named(KERNEL, &[], &suite.fragments, "base kernel", &events)?;
    let warm = PatchSeries::read(&unique_patch(&lab, cold_cache.path())?, false)?;
    lab.build_named(KERNEL, &[warm], &suite.fragments, "its objects", &events)?;
    let patch = unique_patch(&lab, cold_cache.path())?;
    let first = verdict(options, &patch)?;
    row(&mut table, "new patch, command to verdict, s", seconds(first), "≤ 30", share(first, 30_000));
    let again = verdict(options, &patch)?;
    row(&mut table, "the same again, s", seconds(again), "≤ 15", share(again, 15_000));
    if options.workload {
        workload::measure(&mut table, &lab, options, &base, &events)?;
    }
    if options.model {
        model::measure(&mut table, &lab, options, &base, &events)?;
    }
    ui::answer(&table.to_string());
    Ok(ExitCode::SUCCESS)
}

/// Runs `test-kernel` with a patch that changes nothing, as a user would, and gives its time in milliseconds.
fn verdict(options: &Bench, patch: &Path) -> Result<u64> {
    command(options, &["--expect", "unchanged", "--patch", text(patch)?])
}

fn text(patch: &Path) -> Result<&str> {
    patch.to_str().context("failed to name the patch: its path is no text")
}

/// Runs `test-kernel` with these arguments, which must succeed, and gives its time in milliseconds.
fn command(options: &Bench, arguments: &[&str]) -> Result<u64> {
    let this = std::env::current_exe().context("failed to find this program")?;
    let mut command = Command::new(this);
    command.arg("test-kernel").args(arguments);
    if let Some(folder) = &options.common.cache_dir {
        command.arg("--cache-dir").arg(folder);
    }
    if let Some(qemu) = &options.common.qemu {
        command.arg("--qemu").arg(qemu);
    }
    let started = Instant::now();
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("failed to start {command:?}"))?;
    if !output.status.success() {
        bail!(
            "failed to measure: {command:?} ended with {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr)
        );
    }
    Ok(u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX))
}

/// The evidence of that name that a test of a boot gives.
fn evidence<'a>(record: &'a BootRecord, test: &str, name: &str) -> Result<&'a str> {
    ensure!(record.outcome.is_completed(), "the boot ended with {:?}", record.outcome);
    let result = record.tests.iter().find(|result| result.name == test);
    let result = result.with_context(|| format!("the guest ran no test {test}"))?;
    let text = result.evidence.get(name);
    text.map(String::as_str).with_context(|| format!("{test} ended with {:?}", result.outcome))
}

fn unique_patch(lab: &Lab, folder: &Path) -> Result<std::path::PathBuf> {
    let (name, words) = TEMPLATE;
    let template = lab.project().patch(name);
    let text =
        fs::read_to_string(&template).with_context(|| format!("failed to read {}", template.display()))?;
    ensure!(
        text.contains(words),
        "failed to make a new patch of {}: it does not say '{words}'",
        template.display()
    );
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH)?.as_nanos();
    let path = folder.join(format!("bench-{now}.patch"));
    fs::write(&path, text.replace(words, &format!("Bench {now}: they start at")))
        .with_context(|| format!("failed to write {}", path.display()))?;
    Ok(path)
}

fn row(table: &mut Table, what: &str, measured: String, bound: &str, ratio: String) {
    table.add_row([what, &measured, bound, &ratio].map(Cell::new));
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn seconds(millis: u64) -> String {
    format!("{:.1}", millis as f64 / 1000.0)
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn share(part: u64, whole: u64) -> String {
    if whole == 0 { "–".to_owned() } else { format!("{:.1} %", part as f64 * 100.0 / whole as f64) }
}
