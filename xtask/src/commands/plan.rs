//! `cargo xtask plan`: the work as a list of jobs.

use std::{path::Path, process::ExitCode};

use anyhow::Result;
use mthp_judge::text::clean;
use mthp_lab::{
    Project,
    plan::{
        self, Job, Matrix, Source, Wanted,
        file::{Known, Target},
        regressions::{self, Bisection},
    },
};
use serde::Serialize;

use crate::{
    cli::{Plan, PlanFormat},
    reports, ui,
};

/// What a tree of the command line is called.
const OWN: &str = "own";

/// Prints the jobs.
///
/// # Errors
/// When a kernel or a suite is not known, `configs/nightly.toml` or a report is malformed, or the jobs are too many for
/// GitHub.
pub fn run(options: &Plan) -> Result<ExitCode> {
    ui::answer(&match &options.regressions {
        Some(folder) => show(&wanted_bisections(folder)?, options.format, bisection_line)?,
        None => show(&jobs(options)?, options.format, job_line)?,
    });
    Ok(ExitCode::SUCCESS)
}

fn jobs(options: &Plan) -> Result<Vec<Job>> {
    let project = Project::here()?;
    let (kernels, suites) = (project.kernels()?, project.suites()?);
    let known = Known { kernels: &kernels, suites: &suites };
    let mut nightly = project.nightly(known)?;
    if let (Some(tree), Some(branch)) = (&options.tree, &options.branch) {
        let source = Source::Tree { tree: tree.clone(), branch: branch.clone() };
        nightly.targets = vec![Target { name: OWN.to_owned(), source, suites: nightly.suites.clone() }];
    }
    let wanted =
        Wanted { kernels: options.kernel.clone(), suites: options.suite.clone(), shards: options.shards };
    Ok(plan::jobs(&nightly, known, &wanted)?)
}

fn wanted_bisections(folder: &Path) -> Result<Vec<Bisection>> {
    let mut files = Vec::new();
    for path in reports::find(folder, regressions::REPORT)? {
        files.push((path.display().to_string(), reports::read(&path)?));
    }
    Ok(regressions::bisections(&files)?)
}

fn show<T: Serialize>(jobs: &[T], format: PlanFormat, line: fn(&T) -> (&str, String)) -> Result<String> {
    Ok(match format {
        PlanFormat::Text => {
            let lines: Vec<(&str, String)> = jobs.iter().map(line).collect();
            let width = lines.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
            lines.iter().map(|(name, what)| format!("{name:width$}  {what}\n")).collect()
        }
        PlanFormat::Github => serde_json::to_string(&Matrix::of(jobs)?)?,
        PlanFormat::Json => serde_json::to_string_pretty(jobs)?,
    })
}

fn job_line(job: &Job) -> (&str, String) {
    let what = if job.tree.is_empty() {
        format!("kernel {}", job.kernel)
    } else {
        format!("{} branch {}", clean(&job.tree), clean(&job.branch))
    };
    (&job.name, format!("suite {}, shard {}, {what}", job.suite, job.shard))
}

fn bisection_line(it: &Bisection) -> (&str, String) {
    let [good, bad, tree, suite, test, check] =
        [&it.good, &it.bad, &it.tree, &it.suite, &it.test, &it.check].map(|text| clean(text));
    let followed = [test, check].join(" ");
    (
        &it.name,
        format!("{good}..{bad} of {tree}, suite {suite} {}", followed.trim_end()).trim_end().to_owned(),
    )
}
