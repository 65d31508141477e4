//! What watching a workload costs it, and what a whole run of it takes.

use anyhow::{Context, Result};
use comfy_table::Table;
use mthp_kernel::BuiltKernel;
use mthp_lab::{
    Events, Lab,
    workload::{self, Gathered, Loaded},
};
use mthp_record::{
    boot::{BootRecord, Side},
    workload::Scenario,
};
use mthp_vm::accel::Accel;

use super::{command, evidence, row, seconds, share};
use crate::cli::Bench;

const SUITE: &str = "yolov5";
/// What a run from command to verdict is measured with: the size whose bound is declared.
const TESTS: [&str; 2] = ["yolov5/160", "yolov5/160-mmap-threshold"];
/// Inferences of each run, and how often watched and alone follow each other: the host's noise is larger than what
/// is looked for.
const INFERENCES: u32 = 8;
const ROUNDS: u32 = 3;

/// Adds the workload's rows.
pub(super) fn measure(
    table: &mut Table,
    lab: &Lab,
    options: &Bench,
    kernel: &BuiltKernel,
    events: &Events<'_>,
) -> Result<()> {
    let (watched, alone) = fastest(lab, kernel, events)?;
    row(table, "inference at 160, alone, s", seconds(alone / 1000), "", String::new());
    row(table, "the same, watched, s", seconds(watched / 1000), "≤ 105 % of alone", share(watched, alone));
    let mut arguments = vec!["--suite", SUITE, "--expect", "improved"];
    arguments.extend(TESTS.iter().flat_map(|test| ["--test", test]));
    let taken = command(options, &arguments)?;
    row(table, "workload at 160, command to verdict, s", seconds(taken), "≤ 120", share(taken, 120_000));
    Ok(())
}

/// The fastest inference in microseconds, watched and alone: the same program in turns in one guest, since what the
/// host does besides only ever makes it slower.
fn fastest(lab: &Lab, kernel: &BuiltKernel, events: &Events<'_>) -> Result<(u64, u64)> {
    let (suite, _) = lab.project().suite(SUITE)?;
    let spec = workload::spec(lab.project(), &suite, None)?.context("the suite has no workload")?;
    let workload = Gathered::of(lab, spec, events)?.assemble(lab, events)?;
    let case = workload.spec.cases.iter().find(|case| case.scenario.name == TESTS[0]);
    let scenario = &case.with_context(|| format!("the workload has no scenario {}", TESTS[0]))?.scenario;
    let mut scenarios = Vec::new();
    for round in 0..ROUNDS {
        for watched in [true, false] {
            let mut scenario = Scenario { name: name(round, watched), watched, ..scenario.clone() };
            scenario.order.inferences = INFERENCES;
            scenarios.push(scenario);
        }
    }
    let folder = tempfile::tempdir().context("failed to make a folder for the console's log")?;
    let mut setting = lab.setting(SUITE, Accel::Tcg, folder.path())?;
    setting.workload = Some(Loaded { scenarios, disk: workload.disk.path.clone() });
    let record = setting.boot(&kernel.vmlinux, Side::Base, 0, lab.stop(), events)?;
    let least = |watched| -> Result<u64> {
        let mut all = Vec::new();
        for round in 0..ROUNDS {
            all.extend(samples(&record, &name(round, watched))?);
        }
        all.into_iter().min().context("there is no sample")
    };
    Ok((least(true)?, least(false)?))
}

fn name(round: u32, watched: bool) -> String {
    format!("bench/{}-{round}", if watched { "watched" } else { "alone" })
}

/// Every inference's time, as the program tells it.
fn samples(record: &BootRecord, test: &str) -> Result<Vec<u64>> {
    let line =
        evidence(record, test, "latency-micros")?.lines().find_map(|line| line.strip_prefix("inference "));
    let line = line.with_context(|| format!("{test} has no samples"))?;
    serde_json::from_str(line).with_context(|| format!("failed to read the samples of {test}"))
}
