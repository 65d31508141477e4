//! What takes long: many boots in a row, all equal. Runs with `cargo xtask ci --full`.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Result, ensure};
use kernel_tests::shared;
use libtest_mimic::{Arguments, Failed, Trial};
use mthp_vm::accel::Accel;

/// Of one kernel, booted under both names.
const BOOTS_A_SIDE: u32 = 100;
/// What is left of free memory depends on the order in which the kernel's own threads ran.
const VARIES: &str = "fragmentation/";

fn main() {
    let arguments = Arguments::from_args();
    let trial = Trial::test("two-hundred-boots-are-equal", || {
        two_hundred_boots().map_err(|error| Failed::from(format!("{error:#}")))
    });
    libtest_mimic::run(&arguments, vec![trial.with_ignored_flag(true)]).exit();
}

fn two_hundred_boots() -> Result<()> {
    let lab = shared::lab()?;
    let folder = tempfile::tempdir()?;
    let kernel = shared::kernel("stock-6.12", &[])?;
    let setting = lab.setting(shared::SUITE, Accel::Tcg, folder.path())?;
    let records = setting.boot_both(&kernel.vmlinux, &kernel.vmlinux, BOOTS_A_SIDE, lab.stop(), &|_| {})?;
    ensure!(records.len() == 2 * BOOTS_A_SIDE as usize, "only {} boots", records.len());
    let mut values: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for record in &records {
        ensure!(
            record.outcome.is_completed(),
            "boot {}/{} ended with {:?}",
            record.side,
            record.index,
            record.outcome
        );
        for test in record.tests.iter().filter(|test| !test.name.starts_with(VARIES)) {
            let found = serde_json::to_string(&(&test.outcome, &test.checks, &test.metrics))?;
            values.entry(test.name.clone()).or_default().insert(found);
        }
    }
    ensure!(!values.is_empty(), "no test was run");
    let differing: Vec<_> = values.iter().filter(|(_, found)| found.len() > 1).collect();
    ensure!(differing.is_empty(), "these differ between boots: {differing:#?}");
    Ok(())
}
