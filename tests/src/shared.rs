//! Kernels and boots that many trials share.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    sync::{Mutex, OnceLock, PoisonError},
};

use anyhow::{Context, Result, anyhow};
use mthp_kernel::{BuiltKernel, PatchSeries};
use mthp_lab::{Event, Lab, Setting, Stop};
use mthp_record::{
    boot::{BootRecord, Side},
    job::Misbehaviour,
};
use mthp_vm::accel::Accel;

/// The suite whose values are asserted.
pub const SUITE: &str = "alignment";

/// The laboratory of this process.
///
/// # Errors
/// When something it needs is missing; the error says what.
pub fn lab() -> Result<&'static Lab> {
    static LAB: OnceLock<Result<Lab, String>> = OnceLock::new();
    LAB.get_or_init(|| Lab::open(None, None, Stop::new().map_err(in_full)?).map_err(in_full))
        .as_ref()
        .map_err(|error| anyhow!("{error}"))
}

/// A kernel of `kernels/`, with patches on top.
///
/// # Errors
/// When it cannot be built.
pub fn kernel(name: &str, patches: &[PatchSeries]) -> Result<BuiltKernel> {
    let lab = lab()?;
    let (suite, _) = lab.project().suite(SUITE)?;
    lab.build_named(name, patches, &suite.fragments, "kernel", &quiet)
}

/// Boots `kernel` with the given fault and tests; emulated, since these tests are about outcomes.
///
/// # Errors
/// When the boot could not be started.
pub fn boot(
    kernel: &BuiltKernel,
    tests: &[&str],
    misbehave: Option<Misbehaviour>,
    change: impl FnOnce(&mut Setting),
) -> Result<BootRecord> {
    let lab = lab()?;
    let folder = tempfile::tempdir().context("failed to make a folder for the console's log")?;
    let mut setting = lab.setting(SUITE, Accel::Tcg, folder.path())?;
    if !tests.is_empty() {
        setting.tests = tests.iter().map(|&test| test.to_owned()).collect();
    }
    setting.misbehave = misbehave;
    change(&mut setting);
    setting.boot(&kernel.vmlinux, Side::Base, 0, lab.stop(), &quiet)
}

/// The record of one boot of a kernel of `kernels/` that runs the whole suite. All trials of one test run
/// share it, in one process (`cargo test`) or in many (nextest).
///
/// # Errors
/// When the kernel cannot be built or booted.
pub fn record(name: &str) -> Result<BootRecord> {
    static RECORDS: Mutex<BTreeMap<String, Result<BootRecord, String>>> = Mutex::new(BTreeMap::new());
    let mut records = RECORDS.lock().unwrap_or_else(PoisonError::into_inner);
    records
        .entry(name.to_owned())
        .or_insert_with(|| record_of_this_run(name).map_err(in_full))
        .clone()
        .map_err(|error| anyhow!("{error}"))
}

fn record_of_this_run(name: &str) -> Result<BootRecord> {
    let Some(run) = std::env::var_os("NEXTEST_RUN_ID") else {
        return boot(&kernel(name, &[])?, &[], None, |_| {});
    };
    let folder = std::env::temp_dir().join("mthp-regress-boots").join(run);
    fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let lock = folder.join(format!("{name}.lock"));
    let lock = File::create(&lock).with_context(|| format!("failed to make {}", lock.display()))?;
    lock.lock().context("failed to wait for another trial's boot")?;
    let kept = folder.join(format!("{name}.json"));
    if let Ok(text) = fs::read_to_string(&kept) {
        return serde_json::from_str(&text).with_context(|| format!("failed to read {}", kept.display()));
    }
    let record = boot(&kernel(name, &[])?, &[], None, |_| {})?;
    fs::write(&kept, serde_json::to_vec(&record)?)
        .with_context(|| format!("failed to write {}", kept.display()))?;
    Ok(record)
}

fn quiet(_: &Event) {}

fn in_full(error: anyhow::Error) -> String {
    format!("{error:#}")
}
