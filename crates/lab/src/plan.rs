//! The work as a list of jobs for many machines: kernels × suites × shards. Pure.

pub mod file;
pub mod regressions;

use mthp_kernel::BadInput;
use serde::Serialize;

use self::file::{Known, Nightly, Target};
use crate::shard::Shard;

/// GitHub starts no more jobs of one matrix.
pub const GITHUB_JOBS: usize = 256;

/// What is asked for.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Targets of `configs/nightly.toml`, or kernels of `kernels/`; empty means all targets.
    pub kernels: Vec<String>,
    /// Suites in place of each target's own; empty means those.
    pub suites: Vec<String>,
    /// Into how many parts each suite is split; at least 1.
    pub shards: u32,
}

/// Where a job's kernel comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A kernel of `kernels/`.
    Kernel(String),
    /// A branch of a public git repository.
    Tree {
        /// Its URL.
        tree: String,
        /// The branch.
        branch: String,
    },
}

/// One job, in the form that a workflow's matrix takes: every job has every field, and one that does not apply is empty.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Job {
    /// Unique among the jobs, and safe as the name of a file, an artifact or a branch.
    pub name: String,
    /// The git repository's URL; empty where there is a `kernel`.
    pub tree: String,
    /// The branch of it; empty where there is a `kernel`.
    pub branch: String,
    /// The kernel of `kernels/`; empty where there is a `tree`.
    pub kernel: String,
    /// The suite.
    pub suite: String,
    /// The part, for `--shard`: `I/N`.
    pub shard: String,
    /// N.
    pub shards: u32,
    /// The same part of the project's own tests, for nextest's `--partition`: `count:I/N`.
    pub partition: String,
}

/// A workflow's matrix, for `strategy.matrix: ${{ fromJSON(…) }}`.
#[derive(Debug, Serialize)]
pub struct Matrix<'a, T> {
    /// The jobs.
    pub include: &'a [T],
}

impl<'a, T> Matrix<'a, T> {
    /// The jobs as a matrix that GitHub takes.
    ///
    /// # Errors
    /// When they are more than [`GITHUB_JOBS`].
    pub fn of(jobs: &'a [T]) -> Result<Self, BadInput> {
        if jobs.len() > GITHUB_JOBS {
            return Err(BadInput(format!(
                "failed to make a matrix of {} jobs: GitHub takes {GITHUB_JOBS} at most; ask for fewer --shards, a --kernel or a --suite",
                jobs.len()
            )));
        }
        Ok(Self { include: jobs })
    }
}

/// The jobs: kernel by kernel, suite by suite, part by part; at least one.
///
/// # Errors
/// When a kernel or a suite is not known; the error lists those there are.
pub fn jobs(nightly: &Nightly, known: Known<'_>, wanted: &Wanted) -> Result<Vec<Job>, BadInput> {
    if let Some(name) = wanted.suites.iter().find(|name| !known.suites.contains(name)) {
        return Err(BadInput(format!(
            "failed to find a suite named '{name}'; there are: {}",
            known.suites.join(", ")
        )));
    }
    let mut jobs = Vec::new();
    for target in targets(nightly, known, &wanted.kernels)? {
        let suites = if wanted.suites.is_empty() { &target.suites } else { &wanted.suites };
        for suite in unique(suites) {
            jobs.extend(Shard::all(wanted.shards).map(|shard| job(&target, suite, shard)));
        }
    }
    Ok(jobs)
}

fn targets(nightly: &Nightly, known: Known<'_>, wanted: &[String]) -> Result<Vec<Target>, BadInput> {
    if wanted.is_empty() {
        return Ok(nightly.targets.clone());
    }
    let find = |name: &String| {
        let target = nightly.targets.iter().find(|target| target.name == *name).cloned();
        let kernel = || {
            known.kernels.contains(name).then(|| Target {
                name: name.clone(),
                source: Source::Kernel(name.clone()),
                suites: nightly.suites.clone(),
            })
        };
        target.or_else(kernel).ok_or_else(|| {
            let targets: Vec<&str> = nightly.targets.iter().map(|target| target.name.as_str()).collect();
            BadInput(format!(
                "failed to find a kernel named '{name}'; there are: {} (configs/nightly.toml), {} (kernels/)",
                targets.join(", "),
                known.kernels.join(", ")
            ))
        })
    };
    unique(wanted).map(find).collect()
}

/// Each name once, in order.
fn unique(names: &[String]) -> impl Iterator<Item = &String> {
    names
        .iter()
        .enumerate()
        .filter(|(at, name)| !names.iter().take(*at).any(|other| other == *name))
        .map(|(_, name)| name)
}

fn job(target: &Target, suite: &str, shard: Shard) -> Job {
    // No name of a kernel or a suite has an underscore: no two jobs get the same name.
    let part = if shard.of() == 1 { String::new() } else { format!("_{}-of-{}", shard.number(), shard.of()) };
    let (tree, branch, kernel) = match target.source.clone() {
        Source::Tree { tree, branch } => (tree, branch, String::new()),
        Source::Kernel(kernel) => (String::new(), String::new(), kernel),
    };
    Job {
        name: format!("{}_{suite}{part}", target.name),
        tree,
        branch,
        kernel,
        suite: suite.to_owned(),
        shard: shard.to_string(),
        shards: shard.of(),
        partition: format!("count:{shard}"),
    }
}

#[cfg(test)]
mod tests;
