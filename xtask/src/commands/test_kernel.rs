//! `cargo xtask test-kernel`: from a patch to a verdict.

use std::process::ExitCode;

use anyhow::Result;
use mthp_judge::{
    exit, junit, ktap, markdown,
    terminal::{self, Style},
};
use mthp_kernel::{SourceSpec, toolchain::Needs};
use mthp_lab::{BaseKernel, Lab, Project, Request, experiment, workload};
use mthp_workload::Spec;

use crate::{
    cli::{ReportFormat, TestKernel},
    setup,
    ui::{self, Progress},
};

/// The base kernel of a patch, where the user names none.
const DEFAULT_KERNEL: &str = "stock-6.12";
/// The demonstration: the placement of 6.8 to 6.11, and the patch that limits it to PMD-sized lengths.
const DEMONSTRATION: (&str, &str) = ("demo-base", "fix-pmd-sized.patch");
/// Builds, boots, compares, and prints the verdict.
///
/// # Errors
/// When there is no verdict: what the user gave cannot be used, or the machinery failed.
pub fn run(options: &TestKernel) -> Result<ExitCode> {
    let spec = workload_spec(options)?;
    setup::ensure(&needs(options, spec.as_ref())?, options.common.setup)?;
    let lab = super::lab(&options.common)?;
    let progress = Progress::new();
    if let Some(spec) = spec.filter(|_| options.common.setup) {
        workload::fetch_parts(&lab, &spec, &|event| progress.on(event))?;
    }
    let finished = experiment::run(&lab, &request(options, &lab), &|event| progress.on(event))?;
    let report = &finished.report;
    let place = finished.folder.path().display().to_string();
    match options.format {
        ReportFormat::Markdown => ui::answer(&markdown::render(report, &place)),
        ReportFormat::Json => ui::answer(&serde_json::to_string_pretty(report)?),
        ReportFormat::Junit => ui::answer(&junit::render(report)?),
        ReportFormat::Ktap => ui::answer(&ktap::render(report)),
        ReportFormat::Text => {
            ui::answer(&terminal::render(
                report,
                &Style { width: ui::width(), color: ui::colour(), report: place },
            ));
        }
    }
    Ok(ExitCode::from(exit::of(report, options.expect)))
}

/// The workload that the suite, or the user, brings in.
fn workload_spec(options: &TestKernel) -> Result<Option<Spec>> {
    let project = Project::here()?;
    let (suite, _) = project.suite(&options.suite)?;
    workload::spec(&project, &suite, options.workload.as_deref())
}

fn needs(options: &TestKernel, spec: Option<&Spec>) -> Result<Needs> {
    let source = match &options.tree {
        Some(tree) => SourceSpec::parse_tree(tree, options.dirty)?,
        None => Project::here()?.kernel(kernel_name(options))?.source(),
    };
    Ok(Needs {
        sources: vec![source],
        qemu: options.common.qemu.is_none(),
        selftests: Project::here()?.suite(&options.suite)?.0.selftests.is_some(),
        ..setup::of_workload(spec, &options.common)?
    })
}

fn kernel_name(options: &TestKernel) -> &str {
    match &options.kernel {
        Some(name) => name,
        None if options.patch.is_empty() => DEMONSTRATION.0,
        None => DEFAULT_KERNEL,
    }
}

fn request(options: &TestKernel, lab: &Lab) -> Request {
    let base = match &options.tree {
        Some(tree) => BaseKernel::Tree { spec: tree.clone(), dirty: options.dirty },
        None => BaseKernel::Named(kernel_name(options).to_owned()),
    };
    let patches = if options.patch.is_empty() {
        vec![lab.project().patch(DEMONSTRATION.1)]
    } else {
        options.patch.clone()
    };
    Request {
        base,
        patches,
        revert: options.revert,
        suite: options.suite.clone(),
        workload: options.workload.clone(),
        tests: options.test.clone(),
        shard: options.shard,
        boots: options.boots,
        accel: options.accel,
        folder: options.report.clone(),
    }
}
