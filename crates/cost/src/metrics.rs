//! From an account of a boot to metrics of its tests.

use std::collections::{BTreeMap, BTreeSet};

use mthp_record::{
    cost::{Account, LOADS_ASKED, RegionAccount, STORES_ASKED, is_modelled},
    result::{Metric, Outcome, TestResult},
};

use crate::{Latencies, measure};

/// What the plugin was asked for.
#[derive(Clone, Copy, Debug)]
pub struct Asked<'a> {
    /// The boot's nonce.
    pub nonce: u64,
    /// The machines to model with their latencies, in order.
    pub machines: &'a [(&'a str, Latencies)],
}

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
    /// It was made by another boot.
    OtherBoot,
    /// It is not of the machines that were asked for.
    NotAsked {
        /// Those it is of.
        machines: Vec<String>,
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
        /// The name of the metric.
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
            Self::OtherBoot => f.write_str("it is another boot's"),
            Self::NotAsked { machines } => {
                write!(f, "other machines were asked for than it has: {}", machines.join(", "))
            }
            Self::OtherMachines { region, machine } => {
                write!(f, "the machine {machine} is not both in its list and in the region {region}")
            }
            Self::Taken { test, name } => write!(f, "the test {test} has a {name} of its own"),
        }
    }
}

impl std::error::Error for Fault {}

/// Puts what was counted in each region onto the completed test that owns it: the one whose name is the region's,
/// or the longest that is followed by a `/` in it.
///
/// A completed test gets all its metrics, or it ends in an error that says why none of them counts: the account has not
/// the regions that the test says it was in, or fewer accesses than its source asks for. A test that is made for the
/// model has a region at least; others are left as they are, and so are those that did not complete.
///
/// # Errors
/// When the account cannot be used; then no test is changed.
pub fn attach(account: &Account, asked: Asked<'_>, tests: &mut [TestResult]) -> Result<(), Fault> {
    if !account.faults.is_empty() {
        return Err(Fault::Marks(account.faults.clone()));
    }
    if account.nonce != asked.nonce {
        return Err(Fault::OtherBoot);
    }
    agree(account, asked.machines)?;
    let owned = owners(account, tests)?;
    let mut found = Vec::new();
    for (at, test) in tests.iter().enumerate().filter(|(_, test)| test.outcome.is_completed()) {
        let regions = owned.get(&at).map_or(&[][..], Vec::as_slice);
        if regions.is_empty() && !is_modelled(&test.name) {
            continue;
        }
        let metrics = covers(regions, test).map(|()| metrics(&test.name, regions, asked.machines));
        if let Some(name) = metrics.as_ref().ok().and_then(|metrics| taken(test, metrics)) {
            return Err(Fault::Taken { test: test.name.clone(), name });
        }
        found.push((at, metrics));
    }
    for (at, metrics) in found {
        match metrics {
            Ok(metrics) => tests[at].metrics.extend(metrics),
            Err(why) => fail(&mut tests[at], why),
        }
    }
    Ok(())
}

/// Every completed test that is made for the model ends in this error: its boot has no account that can be used.
pub fn refuse(why: &str, tests: &mut [TestResult]) {
    for test in tests.iter_mut().filter(|test| is_modelled(&test.name) && test.outcome.is_completed()) {
        fail(test, why.to_owned());
    }
}

/// It is the machinery's failure, not the kernel's: nothing that the test found counts.
fn fail(test: &mut TestResult, message: String) {
    test.outcome = Outcome::Error { message };
    test.checks.clear();
    test.metrics.clear();
    test.agreements.clear();
}

/// The account is of the machines that were asked for, and so is every region.
fn agree(account: &Account, machines: &[(&str, Latencies)]) -> Result<(), Fault> {
    if !account.machines.iter().map(String::as_str).eq(machines.iter().map(|(name, _)| *name)) {
        return Err(Fault::NotAsked { machines: account.machines.clone() });
    }
    let asked: BTreeSet<&str> = machines.iter().map(|(name, _)| *name).collect();
    for region in &account.regions {
        let counted = region.machines.keys().map(String::as_str).collect();
        if let Some(machine) = asked.symmetric_difference(&counted).next() {
            return Err(Fault::OtherMachines { region: region.name.clone(), machine: (*machine).to_owned() });
        }
    }
    Ok(())
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

/// Do the regions hold what the test says of them? A test that names none needs a region.
fn covers(regions: &[&RegionAccount], test: &TestResult) -> Result<(), String> {
    if regions.is_empty() {
        return Err("the emulator's account has no region of the test's".to_owned());
    }
    let asked = asked_for(test);
    for (name, its) in &asked {
        let region = regions.iter().find(|region| region.name == *name);
        let region = region.ok_or_else(|| format!("the emulator's account lacks the region {name}"))?;
        for (measure, asked, seen) in
            [(LOADS_ASKED, its.loads, region.loads), (STORES_ASKED, its.stores, region.stores)]
        {
            if seen < asked {
                return Err(format!("{name} has {measure} {asked}, and the emulator's account {seen}"));
            }
        }
    }
    for RegionAccount { name, loads, stores, .. } in regions {
        if !asked.is_empty() && !asked.contains_key(name) {
            return Err(format!(
                "the emulator's account has the region {name}, of which the test says nothing"
            ));
        }
        if (*loads, *stores) == (0, 0) {
            return Err(format!("the emulator's account has no access in the region {name}"));
        }
    }
    Ok(())
}

/// The accesses that a test's source asks for in a region, at least.
#[derive(Clone, Copy, Debug, Default)]
struct Accesses {
    loads: u64,
    stores: u64,
}

/// The regions that a test says it was in, by name. It says so by the metrics [`LOADS_ASKED`] and [`STORES_ASKED`], with
/// the part's name and a dot before them.
fn asked_for(test: &TestResult) -> BTreeMap<String, Accesses> {
    let mut all: BTreeMap<String, Accesses> = BTreeMap::new();
    let region = |part: &str| match part.strip_suffix('.') {
        None => test.name.clone(),
        Some(part) => format!("{}/{part}", test.name),
    };
    for metric in &test.metrics {
        // A number below zero is none that an account could have.
        let asked = u64::try_from(metric.value).unwrap_or(u64::MAX);
        if let Some(part) = metric.name.strip_suffix(LOADS_ASKED) {
            all.entry(region(part)).or_default().loads = asked;
        } else if let Some(part) = metric.name.strip_suffix(STORES_ASKED) {
            all.entry(region(part)).or_default().stores = asked;
        }
    }
    all
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
    metric.map(|metric| metric.name.clone())
}

#[cfg(test)]
mod tests;
