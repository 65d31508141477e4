//! `cargo xtask bisect-step`: one revision, for `git bisect run`.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    process::ExitCode,
};

use anyhow::Result;
use mthp_bisect::finding::Finding;
use mthp_kernel::{SourceSpec, toolchain::Needs};
use mthp_lab::bisect::one;

use crate::{
    cli::BisectStep,
    setup,
    ui::{self, Progress},
};

/// The check fails.
const BAD: u8 = 1;
/// Nothing can be said of the revision; git looks for another one near it.
pub const SKIP: u8 = 125;

/// Judges the revision. Whatever goes wrong is no verdict on it: git would take any other code for "bad".
pub fn run(options: &BisectStep) -> ExitCode {
    let finding = match catch_unwind(AssertUnwindSafe(|| judge(options))) {
        Ok(Ok(finding)) => finding,
        Ok(Err(error)) => Finding::skipped(format!("error: {error:#}")),
        Err(_) => Finding::skipped("this program failed; that is a bug of it"),
    };
    ui::say(&format!("bisect-step: {finding}"));
    match finding {
        Finding::Good => ExitCode::SUCCESS,
        Finding::Bad => ExitCode::from(BAD),
        Finding::Skipped { .. } => ExitCode::from(SKIP),
    }
}

fn judge(options: &BisectStep) -> Result<Finding> {
    let needs = Needs {
        sources: vec![SourceSpec::parse_tree(&options.tree, false)?],
        qemu: options.common.qemu.is_none(),
        ..Needs::default()
    };
    setup::ensure(&needs, options.common.setup)?;
    let lab = super::lab(&options.common)?;
    let progress = Progress::new();
    let question = one::Question {
        tree: options.tree.clone(),
        suite: options.suite.clone(),
        test: options.test.clone(),
        check: options.check.clone(),
        with_patches: options.with_patch.clone(),
        boots: options.boots,
        accel: options.accel,
    };
    one::judge(&lab, &question, &|event| progress.on(event))
}
