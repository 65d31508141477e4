//! A suite's selftests: their list, their programs built from the patched tree, and what is left out.

mod spec;

use std::sync::Arc;

use anyhow::{Context, Result};
use mthp_judge::{
    report::{FileRecord, SelftestsRecord},
    suite::Suite,
};
use mthp_kernel::{
    BadInput, PatchSeries,
    build::{self, Unbuilt},
};
use mthp_record::selftest::Selftest;

pub use self::spec::{Skip, Spec};
use crate::{
    event::{Event, Events},
    laboratory::{Base, Lab, translate},
    project::Project,
    request::BaseKernel,
};

/// What a boot needs of selftests.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// The tests to run.
    pub tests: Vec<Selftest>,
    /// Their programs.
    pub programs: Vec<Program>,
}

/// A program for the guest.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its path in the guest.
    pub path: String,
    /// Its bytes.
    pub content: Arc<Vec<u8>>,
}

/// Selftests that are ready to run.
#[derive(Clone, Debug)]
pub struct Selftests {
    /// The tests and their programs.
    pub loaded: Loaded,
    /// What the report says of them.
    pub record: SelftestsRecord,
    /// What a reviewer should know.
    pub notes: Vec<String>,
}

/// The list that a suite declares.
///
/// # Errors
/// When its file cannot be read or is malformed.
pub fn spec(project: &Project, suite: &Suite) -> Result<Option<Spec>> {
    suite.selftests.as_deref().map(|name| project.selftests(name)).transpose()
}

/// Builds the selftests of a kernel of `kernels/`, all of the list, for the suite's own tests.
///
/// # Errors
/// As [`build()`].
pub fn build_named(lab: &Lab, kernel: &str, fragments: &[String], spec: &Spec) -> Result<Selftests> {
    let base = lab.base(&BaseKernel::Named(kernel.to_owned()), fragments, &|_| {})?;
    let names: Vec<String> = spec.tests.iter().map(|test| test.name.clone()).collect();
    build(lab, &base, &[], spec, &names, &|_| {})
}

/// Builds the selftests of the patched tree, since a patch may bring its own; both kernels run the same programs.
///
/// # Errors
/// When none of the tests named in `wanted` can be built, and as [`build::selftests`].
pub(crate) fn build(
    lab: &Lab,
    base: &Base,
    patches: &[PatchSeries],
    spec: &Spec,
    wanted: &[String],
    events: &Events<'_>,
) -> Result<Selftests> {
    let label = "selftests";
    events(&Event::Began { label: label.to_owned(), what: "building".to_owned() });
    let all: Vec<PatchSeries> = base.patches.iter().chain(patches).cloned().collect();
    let built = build::selftests(
        lab.cache(),
        &base.tree,
        &all,
        &spec.folders,
        &translate(label, events),
        lab.stop().builds(),
    );
    let what = match &built {
        Ok(built) => format!("{} programs, {} did not build", built.built.len(), built.failed.len()),
        Err(_) => "failed".to_owned(),
    };
    events(&Event::Ended { label: label.to_owned(), what });
    assemble(spec, wanted, &built.context("failed to build the selftests")?)
}

fn assemble(spec: &Spec, wanted: &[String], built: &build::Selftests) -> Result<Selftests> {
    let mut loaded = Loaded::default();
    let mut files = Vec::new();
    let mut absent = Vec::new();
    for test in spec.tests.iter().filter(|test| wanted.contains(&test.name)) {
        let path = format!("{}/{}", mthp_record::selftest::PROGRAMS, test.program);
        if !loaded.programs.iter().any(|program| program.path == path) {
            let Some(content) = built.read(&test.program)? else {
                absent.push(test.name.as_str());
                continue;
            };
            files.extend(built.built.iter().filter(|program| program.name == test.program).map(|program| {
                FileRecord {
                    path: program.name.clone(),
                    bytes: program.bytes,
                    sha256: program.sha256.clone(),
                }
            }));
            loaded.programs.push(Program { path, content: Arc::new(content) });
        }
        loaded.tests.push(test.clone());
    }
    if loaded.tests.is_empty() {
        return Err(BadInput(format!(
            "failed to build a selftest that was asked for: {}\n  its log: {}",
            why(&built.failed, &absent),
            built.log.display()
        ))
        .into());
    }
    let record = SelftestsRecord { name: spec.group.clone(), key: built.key.clone(), files };
    Ok(Selftests { loaded, record, notes: notes(spec, built, &absent) })
}

fn why(failed: &[Unbuilt], absent: &[&str]) -> String {
    let own = |name: &&str| {
        let program = name.split_once('/').map_or(*name, |(_, program)| program);
        let reason = failed.iter().find(|one| one.name == program).map(|one| one.why.as_str());
        format!("{name} ({})", reason.unwrap_or("the tree has no such program"))
    };
    absent.iter().map(own).collect::<Vec<_>>().join(", ")
}

fn notes(spec: &Spec, built: &build::Selftests, absent: &[&str]) -> Vec<String> {
    let mut notes = Vec::new();
    if !absent.is_empty() {
        notes.push(format!(
            "selftests left out, since they could not be built: {}",
            why(&built.failed, absent)
        ));
    }
    let new: Vec<&str> = built
        .built
        .iter()
        .map(|program| program.name.as_str())
        .chain(built.failed.iter().map(|one| one.name.as_str()))
        .filter(|name| !spec.lists(name))
        .collect();
    if !new.is_empty() {
        notes.push(format!(
            "new selftests of the tree, not run, since no list names them yet: {}",
            new.join(", ")
        ));
    }
    let skips: Vec<String> =
        spec.skips.iter().map(|skip| format!("{} ({})", skip.program, skip.reason)).collect();
    if !skips.is_empty() {
        notes.push(format!("selftests that do not fit a small guest: {}", skips.join(", ")));
    }
    notes
}
