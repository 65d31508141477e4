//! What the model counted, as a page and pictures in the report's folder.

use anyhow::Result;
use mthp_cachemodel::Kind;
use mthp_cost::{
    Machine,
    figure::{Kernel, misses, occupancy},
    measure::{Measure, MeasureName},
    table,
};
use mthp_judge::compare::{Comparison, Pair, TestComparison, Values};
use mthp_record::{
    boot::Side,
    cost::{Account, Occupancy},
};

use super::{Model, Modelled, account_name, read};
use crate::folder::Folder;

/// The page, by its name in the folder.
const PAGE: &str = "cost.md";
const MISSES: &str = "cost-misses.svg";
/// A picture of how lines share sets is drawn where the misses of the second level differ by so many times.
const APART: i64 = 2;

impl Model {
    /// Writes the page and the pictures, those of sets if the first boots have accounts. Gives back their names in the
    /// folder.
    ///
    /// # Errors
    /// When the folder does not take them.
    pub(crate) fn draw(&self, comparison: &Comparison, folder: &Folder) -> Result<Vec<String>> {
        let Self::Ready(ready) = self else { return Ok(Vec::new()) };
        let machines: Vec<Machine> = ready.machines.iter().map(described).collect();
        let mut names = vec![PAGE.to_owned(), MISSES.to_owned()];
        folder.replace(PAGE, table::render(comparison, &machines).as_bytes())?;
        folder.replace(MISSES, misses(comparison, &machines)?.as_bytes())?;
        let of = |side| read(&folder.path().join(account_name(side, 0)));
        let (Ok(base), Ok(patched)) = (of(Side::Base), of(Side::Patched)) else { return Ok(names) };
        for test in &comparison.tests {
            let machine = machines.iter().filter(|it| !it.what_if).find(|it| lies_apart(test, &it.name));
            let Some(machine) = machine else { continue };
            let (Some(base), Some(patched)) =
                (seen(&base, &test.name, machine), seen(&patched, &test.name, machine))
            else {
                continue;
            };
            let kernels = Pair {
                base: Kernel { name: "without the patch", occupancy: base },
                patched: Kernel { name: "with the patch", occupancy: patched },
            };
            let name = format!("cost-sets-{}-{}.svg", test.name.replace('/', "-"), machine.name);
            folder.replace(&name, occupancy(&test.name, machine, &kernels)?.as_bytes())?;
            names.push(name);
        }
        Ok(names)
    }
}

fn described(modelled: &Modelled) -> Machine {
    let machine = &modelled.machine;
    let what_if = machine.kind == Kind::WhatIf;
    Machine { name: modelled.name.clone(), title: machine.title.clone(), what_if }
}

/// Do the misses of the second level lie far apart in the region of the test's own name?
fn lies_apart(test: &TestComparison, machine: &str) -> bool {
    let wanted = MeasureName { part: None, measure: Measure::L2Misses, machine };
    test.metrics.iter().filter(|metric| MeasureName::parse(&metric.name) == Some(wanted)).any(|metric| {
        let least = |values: &Values| values.range().0;
        let (base, patched) = (least(&metric.sides.base), least(&metric.sides.patched));
        base.max(patched) > base.min(patched).saturating_mul(APART)
    })
}

fn seen<'a>(account: &'a Account, test: &str, machine: &Machine) -> Option<&'a Occupancy> {
    account.regions.iter().find(|region| region.name == test)?.occupancy.get(&machine.name)
}
