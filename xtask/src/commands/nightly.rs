//! `cargo xtask nightly`: the head of a branch against its last good run.

use std::process::ExitCode;

use anyhow::Result;
use mthp_judge::exit;
use mthp_kernel::{SourceSpec, toolchain::Needs};
use mthp_lab::{Project, nightly, workload};
use mthp_store::{
    nightly::{Word, markdown, render},
    place,
};

use crate::{
    cli::{BisectWhen, Format, Nightly},
    setup,
    ui::{self, Progress},
};

/// The page for a job's summary, in the report's folder.
const SUMMARY: &str = "summary.md";

/// Runs a night, and prints what came of it.
///
/// # Errors
/// When what was given cannot be used, or the machinery failed.
pub fn run(options: &Nightly) -> Result<ExitCode> {
    let store = place::locate(options.store.as_deref())?;
    let project = Project::here()?;
    let (suite, _) = project.suite(&options.suite)?;
    let spec = workload::spec(&project, &suite, None)?;
    let source = SourceSpec::Git { place: options.tree.clone(), revision: options.branch.clone() };
    let needs = Needs {
        sources: vec![source],
        qemu: options.common.qemu.is_none(),
        selftests: suite.selftests.is_some(),
        ..setup::of_workload(spec.as_ref(), &options.common)?
    };
    setup::ensure(&needs, options.common.setup)?;
    let lab = super::lab(&options.common)?;
    let progress = Progress::new();
    if let Some(spec) = spec.filter(|_| options.common.setup) {
        workload::fetch_parts(&lab, &spec, &|event| progress.on(event))?;
    }
    let request = nightly::Request {
        tree: options.tree.clone(),
        branch: options.branch.clone(),
        suite: options.suite.clone(),
        store,
        host: options.host.clone().unwrap_or_else(nightly::host_name),
        accept: options.accept,
        bisect: options.bisect == BisectWhen::Now,
        boots: options.boots,
        accel: options.accel,
        folder: options.report.clone(),
    };
    let finished = nightly::run(&lab, &request, &|event| progress.on(event))?;
    let found = &finished.nightly;
    let folder = finished.folder.path().display().to_string();
    let page = markdown(found, &folder);
    finished.folder.put(SUMMARY, page.as_bytes())?;
    match options.format {
        Format::Text => ui::answer(&render(found, &folder)),
        Format::Markdown => ui::answer(&page),
        Format::Json => ui::answer(&serde_json::to_string_pretty(found)?),
    }
    Ok(ExitCode::from(match found.outcome {
        Some(Word::Good) => exit::OK,
        Some(Word::Regressed) => exit::REGRESSED,
        Some(Word::Failed) => exit::PATCHED_KERNEL,
        Some(Word::Unjudged) | None => exit::INCONCLUSIVE,
    }))
}
