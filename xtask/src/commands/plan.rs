//! `cargo xtask plan`: the work as a list of jobs.

use std::{fmt::Write as _, process::ExitCode};

use anyhow::Result;
use mthp_lab::{
    Project,
    plan::{self, Job, Matrix, Wanted, file::Known},
};

use crate::{
    cli::{Plan, PlanFormat},
    ui,
};

/// Prints the jobs.
///
/// # Errors
/// When a kernel or a suite is not known, `configs/nightly.toml` is malformed, or the jobs are too many for GitHub.
pub fn run(options: &Plan) -> Result<ExitCode> {
    let project = Project::here()?;
    let (kernels, suites) = (project.kernels()?, project.suites()?);
    let known = Known { kernels: &kernels, suites: &suites };
    let wanted =
        Wanted { kernels: options.kernel.clone(), suites: options.suite.clone(), shards: options.shards };
    let jobs = plan::jobs(&project.nightly(known)?, known, &wanted)?;
    ui::answer(&match options.format {
        PlanFormat::Text => text(&jobs),
        PlanFormat::Github => serde_json::to_string(&Matrix::of(&jobs)?)?,
        PlanFormat::Json => serde_json::to_string_pretty(&jobs)?,
    });
    Ok(ExitCode::SUCCESS)
}

fn text(jobs: &[Job]) -> String {
    let width = jobs.iter().map(|job| job.name.len()).max().unwrap_or(0);
    let mut out = String::new();
    for job in jobs {
        let what = if job.tree.is_empty() {
            format!("kernel {}", job.kernel)
        } else {
            format!("{} branch {}", job.tree, job.branch)
        };
        let _ = writeln!(out, "{:width$}  suite {}, shard {}, {what}", job.name, job.suite, job.shard);
    }
    out
}
