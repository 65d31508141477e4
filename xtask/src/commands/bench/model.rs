//! What the cost model's plugin costs a guest, inside regions and outside, and what a whole run of the suite takes.

use anyhow::{Context, Result, bail};
use comfy_table::Table;
use mthp_kernel::BuiltKernel;
use mthp_lab::{Events, Lab, Model};
use mthp_record::boot::{BootRecord, Side};
use mthp_vm::accel::Accel;

use super::{command, evidence, row, seconds, share, text};
use crate::cli::Bench;

const SUITE: &str = "cost";
/// Eight million loads, in the same process outside a region and then inside.
const TEST: &str = "cost/stencil-24x4632KiB";
/// A kernel without this patch against one with it: the suite must see both what it costs and what it saves.
const PATCH: (&str, &str) = ("k1-align-any-length.patch", "mixed");
/// What the host does besides only ever makes a guest slower: the fastest of so many boots counts.
const BOOTS: u32 = 4;

/// Adds the model's rows.
pub(super) fn measure(
    table: &mut Table,
    lab: &Lab,
    options: &Bench,
    kernel: &BuiltKernel,
    events: &Events<'_>,
) -> Result<()> {
    let [plain, _] = fastest(lab, kernel, events, false)?;
    let [outside, inside] = fastest(lab, kernel, events, true)?;
    row(table, "a stencil under plain emulation, ms", millis(plain), "", String::new());
    row(table, "beside the plugin, outside regions, ms", millis(outside), "≤ 130 %", share(outside, plain));
    row(table, "inside a region, all machines, ms", millis(inside), "≤ 3000 %", share(inside, plain));
    let (patch, verdict) = PATCH;
    let patch = lab.project().patch(patch);
    let taken = command(options, &["--suite", SUITE, "--patch", text(&patch)?, "--expect", verdict])?;
    row(table, "suite cost, command to verdict, s", seconds(taken), "≤ 240", share(taken, 240_000));
    Ok(())
}

fn millis(micros: u64) -> String {
    (micros / 1000).to_string()
}

/// The fastest run outside a region and inside, in microseconds, with or without the plugin.
fn fastest(lab: &Lab, kernel: &BuiltKernel, events: &Events<'_>, modelled: bool) -> Result<[u64; 2]> {
    let folder = tempfile::tempdir().context("failed to make a folder for the console's log")?;
    let mut setting = lab.setting(SUITE, Accel::Tcg, folder.path())?;
    setting.tests = vec![TEST.to_owned()];
    match (&setting.model, modelled) {
        (Model::Missing(why), true) => bail!("failed to measure the cost model: {why}"),
        (_, true) => {}
        (_, false) => setting.model = Model::Unasked,
    }
    let mut least = [u64::MAX; 2];
    for boot in 0..BOOTS {
        let record = setting.boot(&kernel.vmlinux, Side::Base, boot, lab.stop(), events)?;
        let micros = micros(&record)?;
        least = [least[0].min(micros[0]), least[1].min(micros[1])];
    }
    Ok(least)
}

/// How long the test's pattern took outside a region and inside, as it tells.
fn micros(record: &BootRecord) -> Result<[u64; 2]> {
    let text = evidence(record, TEST, "micros")?;
    let value = |name: &str| -> Result<u64> {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let line = line.with_context(|| format!("{TEST} does not say how long it took {name}"))?;
        line.trim().parse().with_context(|| format!("failed to read how long {TEST} took {name}"))
    };
    Ok([value("outside")?, value("inside")?])
}
