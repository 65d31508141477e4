//! What must be measured for claims: which tests of which kernels, in which suites' guests.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use anyhow::{Context, Result};
use mthp_judge::{report::SuiteRecord, suite::Suite};
use mthp_kernel::files;
use mthp_ledger::claim::file::{Claim, Kernel};
use mthp_workload::Spec;

use crate::{
    Events, Lab,
    guest::Runner,
    project::Project,
    selection::Selection,
    workload::{self, Gathered, Workload},
};

/// One kernel in one suite's guest: claims that ask for the same share its boots.
#[derive(Debug, Default)]
pub(super) struct Need {
    pub(super) tests: BTreeSet<String>,
    pub(super) boots: u32,
}

/// Which kernel: its manifest's name and the patches on it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    pub(super) name: String,
    pub(super) patches: Vec<PathBuf>,
}

impl From<&Kernel> for Key {
    fn from(kernel: &Kernel) -> Self {
        Self { name: kernel.kernel.clone(), patches: kernel.patches.clone() }
    }
}

impl std::fmt::Display for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.name)?;
        for patch in self.patches.iter().filter_map(|path| path.file_stem()) {
            write!(f, "+{}", patch.display())?;
        }
        Ok(())
    }
}

/// A kernel in a suite's guest.
pub(super) type Place = (String, Key);

/// A suite that claims use, and its workload.
pub(super) struct Used {
    pub(super) suite: Suite,
    pub(super) record: SuiteRecord,
    pub(super) workload: Option<(Spec, Workload)>,
}

/// The suites that claims use, by name.
pub(super) struct Suites(BTreeMap<String, Used>);

/// The suite's workload, if a claim asks for a scenario of it.
///
/// # Errors
/// When the workload's file is malformed.
pub(super) fn used_workload(
    project: &Project,
    suite: &Suite,
    claims: &[(Claim, String)],
) -> Result<Option<Spec>> {
    let spec = workload::spec(project, suite, None)?;
    let mut its = claims.iter().filter(|(claim, _)| claim.suite.as_ref() == Some(&suite.name));
    Ok(spec.filter(|spec| {
        let scenario = format!("{}/", spec.name);
        its.any(|(claim, _)| claim.values().any(|value| value.test.starts_with(&scenario)))
    }))
}

impl Suites {
    pub(super) fn of(lab: &Lab, claims: &[(Claim, String)], events: &Events<'_>) -> Result<Self> {
        let mut all = BTreeMap::new();
        for (claim, _) in claims {
            let Some(name) = &claim.suite else { continue };
            if all.contains_key(name) {
                continue;
            }
            let (suite, text) =
                lab.project().suite(name).with_context(|| format!("the suite of the claim {}", claim.id))?;
            let workload = match used_workload(lab.project(), &suite, claims)? {
                Some(spec) => Some((spec.clone(), Gathered::of(lab, spec, events)?.assemble(lab, events)?)),
                None => None,
            };
            let record = SuiteRecord { name: suite.name.clone(), sha256: files::sha256(text.as_bytes()) };
            all.insert(name.clone(), Used { suite, record, workload });
        }
        Ok(Self(all))
    }

    pub(super) fn get(&self, name: &str) -> Result<&Used> {
        self.0.get(name).with_context(|| format!("failed to find the suite {name}"))
    }

    /// The suite's tests and scenarios that are named.
    pub(super) fn selection(
        &self,
        suite: &str,
        runner: &Runner,
        tests: &BTreeSet<String>,
    ) -> Result<Selection> {
        let used = self.get(suite)?;
        let cases = used.workload.as_ref().map(|(spec, _)| spec.cases.as_slice()).unwrap_or_default();
        let tests: Vec<String> = tests.iter().cloned().collect();
        Ok(Selection::of(&used.suite, &runner.tests, cases, &[], &tests)?)
    }

    /// Everything that must be booted, each with the tests that claims ask for.
    pub(super) fn needs(&self, claims: &[(Claim, String)], runner: &Runner) -> Result<BTreeMap<Place, Need>> {
        let mut needs: BTreeMap<Place, Need> = BTreeMap::new();
        for (claim, _) in claims {
            let Some(suite) = &claim.suite else { continue };
            for value in claim.values() {
                let one = BTreeSet::from([value.test.clone()]);
                self.selection(suite, runner, &one)
                    .with_context(|| format!("failed to use the claim {}", claim.id))?;
                let Some(kernel) = claim.kernels.get(&value.kernel) else { continue };
                let need = needs.entry((suite.clone(), Key::from(kernel))).or_default();
                need.tests.extend(one);
                need.boots = need.boots.max(claim.boots);
            }
        }
        Ok(needs)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_that_asks_for_no_scenario_needs_no_workload() {
        let project = Project::here().unwrap();
        let (suite, _) = project.suite("cost").unwrap();
        let needs = |id: &str| {
            let claims: Vec<_> = project.claims().unwrap();
            let claims: Vec<_> = claims.into_iter().filter(|(claim, _)| claim.id == id).collect();
            assert_eq!(claims.len(), 1, "{id}");
            used_workload(&project, &suite, &claims).unwrap().map(|spec| spec.name)
        };
        assert_eq!(needs("malloc1-fills-less"), None);
        assert_eq!(needs("yolov5-caches").as_deref(), Some("yolov5"));
        assert_eq!(needs("maps-of-2mib-are-aligned"), None, "another suite's");
    }
}
