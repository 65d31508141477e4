//! `cargo xtask bisect`: which commit, or which patch of a series, brought it.

use std::process::ExitCode;

use anyhow::{Context, Result};
use mthp_bisect::{record::Outcome, text};
use mthp_judge::exit;
use mthp_kernel::{BadInput, SourceSpec, toolchain::Needs};
use mthp_lab::{
    BaseKernel, Project,
    bisect::{self, Place},
};

use crate::{
    cli::{Bisect, Format},
    setup,
    ui::{self, Progress},
};

/// What a series goes on, where the user names nothing.
const DEFAULT_KERNEL: &str = "stock-6.12";
/// The page for a job's summary, in the report's folder.
const SUMMARY: &str = "summary.md";

/// Bisects, and prints what came of it.
///
/// # Errors
/// When the ends cannot be bisected, or the machinery failed.
pub fn run(options: &Bisect) -> Result<ExitCode> {
    if options.full_boots <= options.boots {
        return Err(BadInput(format!(
            "failed to use --full-boots {}: the proof takes more boots than a step ({})",
            options.full_boots, options.boots
        ))
        .into());
    }
    let place = place(options)?;
    setup::ensure(&needs(options, &place)?, options.common.setup)?;
    let lab = super::lab(&options.common)?;
    let progress = Progress::new();
    let request = bisect::Request {
        place,
        suite: options.suite.clone(),
        tests: options.test.clone(),
        check: options.check.clone(),
        with_patches: options.with_patch.clone(),
        step_boots: options.boots,
        full_boots: options.full_boots,
        accel: options.accel,
        folder: options.report.clone(),
        fresh: options.fresh,
    };
    let finished = bisect::run(&lab, &request, &|event| progress.on(event))?;
    let found = &finished.bisection;
    let folder = finished.folder.path().display().to_string();
    let page = text::markdown(found, &folder);
    finished.folder.put(SUMMARY, page.as_bytes())?;
    match options.format {
        Format::Text => ui::answer(&text::render(found, &folder)),
        Format::Markdown => ui::answer(&page),
        Format::Json => ui::answer(&serde_json::to_string_pretty(found)?),
    }
    Ok(ExitCode::from(match found.outcome {
        Some(Outcome::Culprit { .. }) => exit::OK,
        _ => exit::INCONCLUSIVE,
    }))
}

fn place(options: &Bisect) -> Result<Place> {
    if let Some(patches) = &options.patches {
        let base = match &options.on_tree {
            Some(tree) => BaseKernel::Tree { spec: tree.clone(), dirty: false },
            None => BaseKernel::Named(options.kernel.clone().unwrap_or_else(|| DEFAULT_KERNEL.to_owned())),
        };
        return Ok(Place::Series { patches: patches.clone(), base });
    }
    let given = |value: &Option<String>, flag: &str| {
        value.clone().with_context(|| format!("failed to bisect: {flag} is missing"))
    };
    Ok(Place::Git {
        tree: given(&options.tree, "--tree")?,
        good: given(&options.good, "--good")?,
        bad: given(&options.bad, "--bad")?,
    })
}

fn needs(options: &Bisect, place: &Place) -> Result<Needs> {
    let project = Project::here()?;
    let sources = match place {
        Place::Git { tree, bad, .. } => {
            vec![SourceSpec::Git { place: tree.clone(), revision: bad.clone() }]
        }
        Place::Series { base: BaseKernel::Named(name), .. } => vec![project.kernel(name)?.source()],
        Place::Series { base: BaseKernel::Tree { spec, dirty }, .. } => {
            vec![SourceSpec::parse_tree(spec, *dirty)?]
        }
    };
    let (suite, _) = project.suite(&options.suite)?;
    let spec = mthp_lab::workload::spec(&project, &suite, None)?;
    Ok(Needs {
        sources,
        qemu: options.common.qemu.is_none(),
        selftests: suite.selftests.is_some(),
        ..setup::of_workload(spec.as_ref(), &options.common)?
    })
}
