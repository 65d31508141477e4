//! Boots that run the YOLOv5 workload, shared by many trials.

use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail, ensure};
use mthp_lab::{
    Setting,
    workload::{Gathered, Loaded, Workload},
};
use mthp_record::{
    boot::{BootRecord, Side},
    result::{Outcome, TestResult},
    workload::Scenario,
};
use mthp_vm::accel::Accel;

use crate::shared::{kernel, lab};

/// The suite that runs the workload.
const SUITE: &str = "yolov5";

/// The scenario with the C library's defaults, and the one in which every large allocation is a mapping.
pub const SCENARIOS: [&str; 2] = ["yolov5/160", "yolov5/160-mmap-threshold"];

/// The workload, ready to run.
///
/// # Errors
/// When a part of it is missing or cannot be built.
pub fn workload() -> Result<&'static Workload> {
    static WORKLOAD: OnceLock<Result<Workload, String>> = OnceLock::new();
    let prepare = || {
        let lab = lab()?;
        let (suite, _) = lab.project().suite(SUITE)?;
        let spec =
            mthp_lab::workload::spec(lab.project(), &suite, None)?.context("the suite has no workload")?;
        Gathered::of(lab, spec, &|_| {})?.assemble(lab, &|_| {})
    };
    WORKLOAD
        .get_or_init(|| prepare().map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow!("{error}"))
}

/// The scenario of that name.
///
/// # Errors
/// When the workload has none.
pub fn scenario(name: &str) -> Result<Scenario> {
    let cases = &workload()?.spec.cases;
    let case = cases.iter().find(|case| case.scenario.name == name);
    Ok(case.with_context(|| format!("the workload has no scenario {name}"))?.scenario.clone())
}

/// Boots a kernel of `kernels/` that runs these scenarios; emulated, since the trials are about memory.
///
/// # Errors
/// When it cannot be built or booted.
pub fn boot(name: &str, scenarios: Vec<Scenario>, change: impl FnOnce(&mut Setting)) -> Result<BootRecord> {
    let kernel = kernel(name, &[])?;
    let lab = lab()?;
    let folder = tempfile::tempdir().context("failed to make a folder for the console's log")?;
    let mut setting = lab.setting(SUITE, Accel::Tcg, folder.path())?;
    setting.workload = Some(Loaded { scenarios, disk: workload()?.disk.path.clone() });
    change(&mut setting);
    setting.boot(&kernel.vmlinux, Side::Base, 0, lab.stop(), &|_| {})
}

/// The result of a test in a boot that completed.
///
/// # Errors
/// When the boot or the test did not complete.
pub fn completed<'a>(record: &'a BootRecord, test: &str) -> Result<&'a TestResult> {
    ensure!(record.outcome.is_completed(), "the boot ended with {:?}", record.outcome);
    let result = record.tests.iter().find(|result| result.name == test);
    let result = result.with_context(|| format!("the guest ran no test {test}"))?;
    match &result.outcome {
        Outcome::Completed => Ok(result),
        other => bail!("{test} ended with {other:?}"),
    }
}

/// A metric's value.
///
/// # Errors
/// When it was not measured.
pub fn metric(result: &TestResult, name: &str) -> Result<i64> {
    let metric = result.metrics.iter().find(|metric| metric.name == name);
    Ok(metric.with_context(|| format!("{}: {name} was not measured", result.name))?.value)
}
