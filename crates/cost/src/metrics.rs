//! From an account of a boot to metrics of its tests.

use std::collections::{BTreeMap, BTreeSet};

use mthp_record::{
    cost::{Account, RegionAccount, is_modelled},
    result::{Check, Metric, TestResult},
};

use crate::{Latencies, measure};

/// The check that guards a test's numbers (see [`mthp_record::result::GUARD`]).
pub const VALID_ACCOUNT: &str = "valid-account";

/// Why an account cannot be used. No test has been changed then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The plugin found fault with the marks.
    Marks(Vec<String>),
    /// A region belongs to no test of the boot.
    NoTest {
        /// The region.
        region: String,
    },
    /// Two regions have the same name.
    Twice {
        /// The region.
        region: String,
    },
    /// A machine was modelled of which no latencies are known.
    UnknownMachine {
        /// The machine.
        machine: String,
    },
    /// A region's counts are not those of the account's machines.
    OtherMachines {
        /// The region.
        region: String,
        /// The machine that is missing or too many.
        machine: String,
    },
    /// The test says itself what only the account may say.
    Taken {
        /// The test.
        test: String,
        /// The name of the metric or check.
        name: String,
    },
}

impl std::fmt::Display for Fault {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("failed to use the account of the cost model: ")?;
        match self {
            Self::Marks(faults) => write!(f, "{}", faults.join("; ")),
            Self::NoTest { region } => write!(f, "the region {region} belongs to no test of the boot"),
            Self::Twice { region } => write!(f, "it has the region {region} twice"),
            Self::UnknownMachine { machine } => write!(f, "no latencies are known of its machine {machine}"),
            Self::OtherMachines { region, machine } => {
                write!(f, "the machine {machine} is not both in its list and in the region {region}")
            }
            Self::Taken { test, name } => write!(f, "the test {test} has a {name} of its own"),
        }
    }
}

impl std::error::Error for Fault {}

/// Puts what was counted in each region onto the completed test that owns it: the one whose name is the region's,
/// or the longest that is followed by a `/` in it. `latencies` knows the machines by name.
///
/// A test with regions gets the check [`VALID_ACCOUNT`], and its metrics if it holds: if every region saw an access.
/// A completed test that is made for the model and has no region gets the failing check. Other tests are left as they are, and so are
/// those that did not complete.
///
/// # Errors
/// When the account cannot be used; then no test is changed.
pub fn attach(
    account: &Account,
    latencies: impl Fn(&str) -> Option<Latencies>,
    tests: &mut [TestResult],
) -> Result<(), Fault> {
    if !account.faults.is_empty() {
        return Err(Fault::Marks(account.faults.clone()));
    }
    let machines = machines(account, latencies)?;
    let owned = owners(account, tests)?;
    let mut found = Vec::new();
    for (at, test) in tests.iter().enumerate().filter(|(_, test)| test.outcome.is_completed()) {
        let regions = owned.get(&at).map_or(&[][..], Vec::as_slice);
        if regions.is_empty() && !is_modelled(&test.name) {
            continue;
        }
        let guard = guard(regions);
        let metrics = if guard.passed { metrics(&test.name, regions, &machines) } else { Vec::new() };
        if let Some(name) = taken(test, &metrics) {
            return Err(Fault::Taken { test: test.name.clone(), name });
        }
        found.push((at, guard, metrics));
    }
    for (at, guard, metrics) in found {
        tests[at].checks.push(guard);
        tests[at].metrics.extend(metrics);
    }
    Ok(())
}

/// Gives every completed test that is made for the model the failing check: its boot has no account that can be used.
pub fn refuse(why: &str, tests: &mut [TestResult]) {
    for test in tests.iter_mut().filter(|test| is_modelled(&test.name) && test.outcome.is_completed()) {
        test.checks.push(Check { passed: false, observed: why.to_owned(), ..guard(&[]) });
    }
}

/// The account's machines with their latencies, in its order; every region has counts of all of them and no others.
fn machines(
    account: &Account,
    latencies: impl Fn(&str) -> Option<Latencies>,
) -> Result<Vec<(&str, Latencies)>, Fault> {
    let asked: BTreeSet<&str> = account.machines.iter().map(String::as_str).collect();
    for region in &account.regions {
        let counted = region.machines.keys().map(String::as_str).collect();
        if let Some(machine) = asked.symmetric_difference(&counted).next() {
            return Err(Fault::OtherMachines { region: region.name.clone(), machine: (*machine).to_owned() });
        }
    }
    let known =
        |name: &'_ String| latencies(name).ok_or_else(|| Fault::UnknownMachine { machine: name.clone() });
    account.machines.iter().map(|name| Ok((name.as_str(), known(name)?))).collect()
}

/// The regions of each test, by its place.
fn owners<'a>(
    account: &'a Account,
    tests: &[TestResult],
) -> Result<BTreeMap<usize, Vec<&'a RegionAccount>>, Fault> {
    let mut owned: BTreeMap<usize, Vec<&RegionAccount>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for region in &account.regions {
        if !seen.insert(&region.name) {
            return Err(Fault::Twice { region: region.name.clone() });
        }
        let owns = |test: &TestResult| part(&test.name, &region.name).is_some();
        let of =
            tests.iter().enumerate().filter(|(_, test)| owns(test)).max_by_key(|(_, test)| test.name.len());
        let (at, _) = of.ok_or_else(|| Fault::NoTest { region: region.name.clone() })?;
        owned.entry(at).or_default().push(region);
    }
    Ok(owned)
}

/// Which part of a test a region is: `Some(None)` for the whole, `None` for one of another test.
fn part<'a>(test: &str, region: &'a str) -> Option<Option<&'a str>> {
    match region.strip_prefix(test)? {
        "" => Some(None),
        rest => rest.strip_prefix('/').filter(|part| !part.is_empty()).map(Some),
    }
}

fn guard(regions: &[&RegionAccount]) -> Check {
    let empty = regions.iter().find(|region| region.loads == 0 && region.stores == 0);
    let (passed, observed) = match (regions.len(), empty) {
        (0, _) => (false, "no region".to_owned()),
        (_, Some(region)) => (false, format!("no access in the region {}", region.name)),
        (1, None) => (true, "1 region".to_owned()),
        (n, None) => (true, format!("{n} regions")),
    };
    Check {
        name: VALID_ACCOUNT.to_owned(),
        promise: "the emulator's account covers the test's regions".to_owned(),
        passed,
        observed,
        expected: "accesses in each region, and at least one region".to_owned(),
    }
}

fn metrics(test: &str, regions: &[&RegionAccount], machines: &[(&str, Latencies)]) -> Vec<Metric> {
    let mut metrics = Vec::new();
    for region in regions {
        let part = part(test, &region.name).flatten();
        metrics.extend(measure::of_all(part, region));
        for (machine, latencies) in machines {
            let counts = region.machines.get(*machine).copied().unwrap_or_default();
            metrics.extend(measure::of_machine(part, machine, &counts, latencies));
        }
    }
    metrics
}

/// A name that the test has given already.
fn taken(test: &TestResult, metrics: &[Metric]) -> Option<String> {
    let metric = metrics.iter().find(|new| test.metrics.iter().any(|old| old.name == new.name));
    let check = test.checks.iter().find(|check| check.name == VALID_ACCOUNT).map(|check| &check.name);
    metric.map(|metric| &metric.name).or(check).cloned()
}

#[cfg(test)]
mod tests;
