//! From a patch to a verdict, as a user has it: whole experiments, on few tests.

use anyhow::{Result, ensure};
use kernel_tests::shared;
use libtest_mimic::{Arguments, Failed, Trial};
use mthp_judge::{report::json_schema, verdict::Verdict};
use mthp_lab::{BaseKernel, Request, experiment};
use mthp_vm::accel::AccelChoice;

fn main() {
    let arguments = Arguments::from_args();
    let trials = vec![
        story(
            "the-fix-on-the-old-rule-improves",
            "demo-base",
            "fix-pmd-sized.patch",
            false,
            Verdict::Improved,
        ),
        story(
            "the-old-rule-on-stock-regresses",
            "stock-6.12",
            "k1-align-any-length.patch",
            false,
            Verdict::Regressed,
        ),
        story(
            "the-old-rule-taken-out-improves",
            "k1-6.12",
            "k1-align-any-length.patch",
            true,
            Verdict::Improved,
        ),
        story("a-comment-changes-nothing", "stock-6.12", "comment-only.patch", false, Verdict::Unchanged),
        story(
            "a-patched-kernel-that-panics-is-told-apart",
            "stock-6.12",
            "broken/panics-at-boot.patch",
            false,
            Verdict::PatchedKernelFailed,
        ),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

fn story(
    name: &'static str,
    base: &'static str,
    patch: &'static str,
    revert: bool,
    expected: Verdict,
) -> Trial {
    Trial::test(name, move || {
        judge(base, patch, revert, expected).map_err(|error| Failed::from(format!("{error:#}")))
    })
}

fn judge(base: &str, patch: &str, revert: bool, expected: Verdict) -> Result<()> {
    let lab = shared::lab()?;
    let folder = tempfile::tempdir()?;
    let request = Request {
        base: BaseKernel::Named(base.to_owned()),
        patches: vec![lab.project().patch(patch)],
        revert,
        suite: shared::SUITE.to_owned(),
        workload: None,
        tests: vec!["placement/4632KiB".to_owned(), "placement/2MiB".to_owned()],
        shard: None,
        boots: None,
        accel: AccelChoice::Tcg,
        folder: Some(folder.path().to_owned()),
    };
    let report = experiment::run(lab, &request, &|_| {})?.report;
    ensure!(report.verdict == expected, "{}: {}", report.verdict, report.reasons.join("; "));
    let written: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(folder.path().join("report.json"))?)?;
    let validator = jsonschema::validator_for(&json_schema())?;
    let errors: Vec<String> = validator.iter_errors(&written).map(|error| error.to_string()).collect();
    ensure!(errors.is_empty(), "the report does not match its schema: {}", errors.join("; "));
    Ok(())
}
