//! The kernel's own selftests, as a user has them: on a kernel that keeps their promises and on one that does not.

use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, ensure};
use kernel_tests::{inference::completed, shared};
use libtest_mimic::{Arguments, Failed, Trial};
use mthp_kernel::PatchSeries;
use mthp_lab::selftests::{self, Loaded};
use mthp_record::boot::{BootRecord, Side};
use mthp_vm::accel::Accel;

const SUITE: &str = "kselftest-mm";
const KERNEL: &str = "stock-6.12";
/// Quick ones: with points, without, and the one that sees the broken kernel.
const TESTS: [&str; 4] = [
    "kselftest-mm/map_fixed_noreplace",
    "kselftest-mm/mkdirty",
    "kselftest-mm/hugetlb_dio",
    "kselftest-mm/gup_test",
];

fn main() {
    let arguments = Arguments::from_args();
    let mut trials: Vec<Trial> =
        TESTS.iter().map(|test| trial(format!("{KERNEL}::{test}"), move || passes(test))).collect();
    trials.push(trial("broken::map_fixed_noreplace".to_owned(), fails));
    libtest_mimic::run(&arguments, trials).exit();
}

fn trial(name: String, run: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::test(name, move || run().map_err(|error| Failed::from(format!("{error:#}"))))
}

fn boot(patches: &[PatchSeries]) -> Result<BootRecord> {
    let lab = shared::lab()?;
    let (suite, _) = lab.project().suite(SUITE)?;
    let spec = selftests::spec(lab.project(), &suite)?.context("the suite has no selftests")?;
    let built = selftests::build_named(lab, KERNEL, &suite.fragments, &spec)?;
    let kernel = shared::kernel(KERNEL, patches)?;
    let folder = tempfile::tempdir().context("failed to make a folder for the console's log")?;
    let mut setting = lab.setting(SUITE, Accel::Tcg, folder.path())?;
    let wanted = |name: &str| TESTS.contains(&name);
    let tests = built.loaded.tests.into_iter().filter(|test| wanted(&test.name)).collect();
    setting.selftests = Some(Loaded { tests, ..built.loaded });
    setting.boot(&kernel.vmlinux, Side::Base, 0, lab.stop(), &|_| {})
}

/// One boot serves all trials on the kernel that keeps the promises.
fn stock() -> Result<&'static BootRecord> {
    static BOOT: OnceLock<Result<BootRecord, String>> = OnceLock::new();
    BOOT.get_or_init(|| boot(&[]).map_err(|error| format!("{error:#}")))
        .as_ref()
        .map_err(|error| anyhow!("{error}"))
}

fn passes(test: &str) -> Result<()> {
    let result = completed(stock()?, test)?;
    let points = result.checks.iter().filter(|check| check.name.starts_with("point-")).count();
    ensure!(points > 0, "{test} reports no point");
    for check in &result.checks {
        ensure!(check.passed, "{}: {}: {}", check.name, check.promise, check.observed);
    }
    Ok(())
}

fn fails() -> Result<()> {
    let lab = shared::lab()?;
    let patch = PatchSeries::read(&lab.project().patch("broken/noreplace-replaces.patch"), false)?;
    let record = boot(&[patch])?;
    let result = completed(&record, "kselftest-mm/map_fixed_noreplace")?;
    let failing = result.checks.iter().filter(|check| !check.passed).count();
    ensure!(failing > 1, "{failing} checks fail: {:?}", result.evidence.get("output"));
    let other = completed(&record, "kselftest-mm/mkdirty")?;
    ensure!(other.checks.iter().all(|check| check.passed), "mkdirty fails too");
    Ok(())
}
