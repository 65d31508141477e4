//! One revision, judged by itself: what `git bisect run` asks.

use std::path::PathBuf;

use anyhow::{Result, bail};
use mthp_bisect::{finding::Finding, target::Target};
use mthp_kernel::BadInput;
use mthp_record::boot::Side;
use mthp_vm::accel::AccelChoice;

use super::{
    history::History,
    sight::{Eye, Image},
};
use crate::{Events, Lab, boots::accelerator, load::Load, timing::Timings};

/// What is asked of a revision.
#[derive(Clone, Debug)]
pub struct Question {
    /// `DIR[@REV]`; without a revision, the one that is checked out.
    pub tree: String,
    /// The suite that has the test.
    pub suite: String,
    /// The test.
    pub test: String,
    /// Its check that decides; without one, all of them.
    pub check: Option<String>,
    /// Patches on the revision.
    pub with_patches: Vec<PathBuf>,
    /// How often it is booted.
    pub boots: u32,
    /// Which accelerator.
    pub accel: AccelChoice,
}

/// Builds and boots a revision and says what the check says.
///
/// # Errors
/// When what was given cannot be used, or the machinery failed.
pub fn judge(lab: &Lab, question: &Question, events: &Events<'_>) -> Result<Finding> {
    let (suite, _) = lab.project().suite(&question.suite)?;
    let patches = super::read_patches(&question.with_patches)?;
    let history = History::of_one(lab, &question.tree, &suite, events)?;
    let mut timings = Timings::default();
    let wanted = [question.test.clone()];
    let mut load = Load::choose(lab, &suite, None, &wanted, None, &mut timings, events)?;
    if question.test.ends_with('*') {
        return Err(BadInput(format!(
            "failed to judge by '{}': one test decides, not several",
            question.test
        ))
        .into());
    }
    history.prepare(&mut load, lab, &suite, &patches, events)?;
    let folder = tempfile::tempdir()?;
    let setting = load.setting(lab, folder.path(), events)?;
    let mut eye = Eye::open(lab, &history, &patches, setting, &suite.gates, events)?;
    let id = history.bad.id.clone();
    let kernel = match eye.build(&id, "revision")? {
        Image::None(reason) => return Ok(Finding::skipped(reason)),
        Image::Built(kernel) => kernel,
    };
    let chosen = match accelerator(question.accel, &eye.setting, &kernel.vmlinux, lab.stop(), events) {
        Ok(chosen) => chosen,
        Err(error) if lab.stop().is_stopped() => bail!(error),
        Err(error) => return Ok(Finding::skipped(format!("{error:#}"))),
    };
    eye.setting.accel = chosen.accel;
    load.put_into(&mut eye.setting)?;
    let records = eye.boot(&eye.setting, &[(&id, &kernel, Side::Patched)], question.boots)?;
    let target = match &question.check {
        Some(check) => Target::Check { test: question.test.clone(), check: check.clone() },
        None => Target::AllChecks { test: question.test.clone() },
    };
    Ok(mthp_bisect::target::judge(&target, &records.concat())?)
}
