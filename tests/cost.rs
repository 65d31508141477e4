//! The cost model on the kernel with the limit to PMD-sized lengths and on the one that aligns any length: what it
//! counts is the same in every boot, and what it says of aliasing is what the shapes of caches say.

use std::{collections::BTreeMap, sync::OnceLock};

use anyhow::{Context, Result, anyhow, ensure};
use kernel_tests::shared;
use libtest_mimic::{Arguments, Failed, Trial};
use mthp_lab::Model;
use mthp_record::{
    boot::{BootRecord, Side},
    result::{Outcome, TestResult},
};
use mthp_vm::accel::Accel;

const SUITE: &str = "cost";
const STENCIL: &str = "cost/stencil-24x4632KiB";
const STOCK: &str = "stock-6.12";
/// Aligns every length from the PMD size on.
const ANY_LENGTH: &str = "k1-6.12";
const BOOTS: u32 = 5;

/// Metrics by name.
type Values = BTreeMap<String, i64>;

fn main() {
    let arguments = Arguments::from_args();
    let trials = vec![
        trial("five-boots-count-the-same", same_in_five_boots),
        trial("aligned-arrays-miss-in-the-second-level", aliasing),
        trial("a-hash-or-more-ways-end-it", what_if),
        trial("translations-are-not-the-cost", translations),
        trial("without-a-plugin-the-tests-are-skipped-with-the-reason", skipped),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

fn trial(name: &'static str, run: fn() -> Result<()>) -> Trial {
    Trial::test(name, move || run().map_err(|error| Failed::from(format!("{error:#}"))))
}

/// What the stencil's accesses cost on a kernel, one for each boot. The boots of both kernels serve all trials.
fn boots(kernel: &str) -> Result<&'static [Values]> {
    static STOCKS: OnceLock<Result<Vec<Values>, String>> = OnceLock::new();
    static ANY_LENGTHS: OnceLock<Result<Vec<Values>, String>> = OnceLock::new();
    let cell = if kernel == STOCK { &STOCKS } else { &ANY_LENGTHS };
    let made = cell.get_or_init(|| {
        let all = || (0..BOOTS).map(|index| values(&boot(kernel, index, |_| {})?)).collect::<Result<_>>();
        all().map_err(|error| format!("{error:#}"))
    });
    made.as_deref().map_err(|error| anyhow!("{error}"))
}

fn boot(kernel: &str, index: u32, change: impl FnOnce(&mut mthp_lab::Setting)) -> Result<BootRecord> {
    let lab = shared::lab()?;
    let built = shared::kernel(kernel, &[])?;
    let folder = tempfile::tempdir().context("failed to make a folder for the account")?;
    let mut setting = lab.setting(SUITE, Accel::Tcg, folder.path())?;
    setting.tests = vec![STENCIL.to_owned()];
    change(&mut setting);
    setting.boot(&built.vmlinux, Side::Base, index, lab.stop(), &|_| {})
}

fn stencil(record: &BootRecord) -> Result<&TestResult> {
    ensure!(record.outcome.is_completed(), "the boot did not complete: {:?}", record.outcome);
    record.tests.iter().find(|test| test.name == STENCIL).context("the stencil did not run")
}

fn values(record: &BootRecord) -> Result<Values> {
    let test = stencil(record)?;
    ensure!(test.outcome.is_completed(), "{:?}", test.outcome);
    let failed: Vec<_> = test.checks.iter().filter(|check| !check.passed).collect();
    ensure!(failed.is_empty(), "{failed:?}");
    Ok(test.metrics.iter().map(|metric| (metric.name.clone(), metric.value)).collect())
}

/// A value on both kernels: stock, any length.
fn both(name: &str) -> Result<(i64, i64)> {
    let of = |kernel| {
        let first = boots(kernel)?.first().context("there is no boot")?;
        first.get(name).copied().with_context(|| format!("{kernel} has no {name}"))
    };
    Ok((of(STOCK)?, of(ANY_LENGTH)?))
}

fn same_in_five_boots() -> Result<()> {
    for kernel in [STOCK, ANY_LENGTH] {
        let boots = boots(kernel)?;
        let (first, others) = boots.split_first().context("there is no boot")?;
        ensure!(others.len() + 1 == BOOTS as usize);
        let mut same = 0;
        for (name, value) in first.iter().filter(|(name, _)| !may_vary(name)) {
            let all: Vec<_> = others.iter().map(|other| other.get(name)).collect();
            ensure!(all.iter().all(|other| *other == Some(value)), "{kernel}: {name}: {value}, {all:?}");
            same += 1;
        }
        ensure!(same > 40, "{kernel}: only {same} values were compared");
    }
    Ok(())
}

/// What depends on more of an address than the test puts in order. The process's own pages, with the table of the arrays
/// and the sum, lie where they lay before: bits 12 and 13 are an index of the first level of Neoverse N1. The third
/// levels pick a slice by all bits, also by those that say which block of 2 MiB it is.
fn may_vary(name: &str) -> bool {
    name.ends_with("[neoverse-n1]") || ["l3.misses[", "model-cycles["].iter().any(|it| name.starts_with(it))
}

fn aliasing() -> Result<()> {
    let (stock, any) = both("loads")?;
    ensure!(stock == any, "the accesses differ: {stock}, {any}");
    let (stock, any) = both("l1.misses[trial]")?;
    ensure!(stock == any, "first level: {stock}, {any}");
    for machine in ["trial", "haswell", "skylake-sp", "sapphire-rapids", "zen3", "zen4", "neoverse-n1"] {
        let (stock, any) = both(&format!("l2.misses[{machine}]"))?;
        ensure!(any > 10 * stock, "{machine}: {stock}, {any}");
    }
    Ok(())
}

fn what_if() -> Result<()> {
    for machine in ["zen3-hashed", "zen3-l2-32way"] {
        let (stock, any) = both(&format!("l2.misses[{machine}]"))?;
        ensure!(10 * any < 11 * stock, "{machine}: {stock}, {any}");
    }
    Ok(())
}

fn translations() -> Result<()> {
    for machine in ["trial", "haswell", "zen3", "neoverse-n1"] {
        let (stock, any) = both(&format!("walks[{machine}]"))?;
        ensure!(0 < any && any < stock && stock < 1000, "{machine}: {stock}, {any}");
    }
    Ok(())
}

fn skipped() -> Result<()> {
    let why = "this QEMU takes no plugin";
    let record = boot(STOCK, 0, |setting| setting.model = Model::Missing(why.to_owned()))?;
    let test = stencil(&record)?;
    let expected = Outcome::NotApplicable { reason: why.to_owned() };
    ensure!(test.outcome == expected, "{:?}", test.outcome);
    ensure!(test.checks.is_empty() && test.metrics.is_empty());
    Ok(())
}
