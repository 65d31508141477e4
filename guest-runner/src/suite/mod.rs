//! The tests, and what a test reports.

mod collapse;
mod commit;
mod compat;
mod cost;
mod files;
mod fragmentation;
mod hints;
mod hugetlb;
mod integrity;
mod khugepaged;
mod khugepaged_advice;
mod ksm;
pub mod layout;
mod memfd;
mod migration;
mod mixed;
mod mlock;
mod mremap;
mod mthp;
mod pagemap;
mod placement;
mod procfs;
mod shared;
mod shmem;
mod shmem_sizes;
mod swap;
mod tmpfs;
mod userfaultfd;

use std::collections::BTreeMap;

use anyhow::Result;
use mthp_record::result::{Agreement, Check, Metric, Outcome, Polarity, TestResult, Unit};

use crate::{needs::Need, snapshot::cut};

/// The longest text of evidence that is kept.
const MAX_EVIDENCE: usize = 32 << 10;

/// One test of the registry.
pub struct Test {
    /// `group/case`.
    pub name: &'static str,
    /// Which promise it checks, and where that is written: a manual page, a kernel document, a commit's log. One line.
    pub contract: &'static str,
    /// What the guest must have.
    pub needs: &'static [Need],
    /// Run with randomised addresses, whatever the job says.
    pub randomised: bool,
    /// The test itself, in a process of its own.
    pub run: fn(&mut Findings) -> Result<()>,
}

/// Every test, in the order in which they run: the one that fragments memory is the last.
pub fn all() -> impl Iterator<Item = &'static Test> {
    [
        placement::TESTS,
        mixed::TESTS,
        hints::TESTS,
        shared::TESTS,
        files::TESTS,
        shmem::TESTS,
        khugepaged::TESTS,
        khugepaged_advice::TESTS,
        migration::TESTS,
        mthp::TESTS,
        pagemap::TESTS,
        userfaultfd::TESTS,
        hugetlb::TESTS,
        memfd::TESTS,
        mlock::TESTS,
        mremap::TESTS,
        integrity::TESTS,
        compat::TESTS,
        commit::TESTS,
        procfs::TESTS,
        tmpfs::TESTS,
        shmem_sizes::TESTS,
        ksm::TESTS,
        swap::TESTS,
    ]
    .into_iter()
    .chain(cost::TESTS.iter().copied())
    .chain([fragmentation::TESTS])
    .flatten()
}

/// The test of that name.
pub fn find(name: &str) -> Option<&'static Test> {
    all().find(|test| test.name == name)
}

/// What a test found so far.
#[derive(Debug, Default)]
pub struct Findings {
    checks: Vec<Check>,
    metrics: Vec<Metric>,
    agreements: Vec<Agreement>,
    /// Raw text worth keeping.
    pub evidence: BTreeMap<String, String>,
}

impl Findings {
    /// A contract: did `observed` turn out as `expected`?
    pub fn check<T: PartialEq + std::fmt::Display>(
        &mut self,
        name: &str,
        promise: &str,
        observed: T,
        expected: T,
    ) {
        self.checks.push(Check {
            name: name.to_owned(),
            promise: promise.to_owned(),
            passed: observed == expected,
            observed: observed.to_string(),
            expected: expected.to_string(),
        });
    }

    /// A measured value.
    pub fn metric(&mut self, name: &str, value: i64, unit: Unit, polarity: Polarity) {
        self.metrics.push(Metric { name: name.to_owned(), value, unit, polarity });
    }

    /// A value that the kernel has no business to change.
    pub fn agreement(&mut self, name: &str, promise: &str, value: String) {
        self.agreements.push(Agreement { name: name.to_owned(), promise: promise.to_owned(), value });
    }

    /// Text that shows how it came about.
    pub fn evidence(&mut self, name: &str, text: String) {
        self.evidence.insert(name.to_owned(), cut(text, MAX_EVIDENCE));
    }

    /// Does every check so far hold?
    pub fn all_hold(&self) -> bool {
        self.checks.iter().all(|check| check.passed)
    }

    /// The whole result.
    pub fn into_result(self, name: &str) -> TestResult {
        TestResult {
            name: name.to_owned(),
            outcome: Outcome::Completed,
            checks: self.checks,
            metrics: self.metrics,
            agreements: self.agreements,
            evidence: self.evidence,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn names_are_unique_and_have_a_group() {
        let names: BTreeSet<_> = all().map(|test| test.name).collect();
        assert_eq!(names.len(), all().count());
        assert!(names.iter().all(|name| name.split('/').count() == 2), "{names:?}");
    }

    #[test]
    fn every_test_says_in_one_line_which_promise_it_checks() {
        for test in all() {
            let contract = test.contract;
            assert!(contract.contains(": ") && contract.len() <= 120, "{}: {contract:?}", test.name);
            assert!(!contract.contains(['\n', '\t']), "{}: {contract:?}", test.name);
        }
    }

    #[test]
    fn a_check_passes_when_the_observed_is_the_expected() {
        let mut findings = Findings::default();
        findings.check("same", "they are the same", 1, 1);
        findings.check("other", "they are the same", 1, 2);
        let result = findings.into_result("a/b");
        assert_eq!(result.checks.iter().map(|check| check.passed).collect::<Vec<_>>(), [true, false]);
    }
}
