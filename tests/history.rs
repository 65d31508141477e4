//! The history that bisections are tried on fits the kernel's source, whichever known bug is its culprit.

use anyhow::{Context, Result, ensure};
use kernel_tests::{
    history::{Broken, Fault, KERNEL, Plan, Side, fits},
    shared,
};
use libtest_mimic::{Arguments, Failed, Trial};

fn main() {
    let arguments = Arguments::from_args();
    let trials = vec![
        Trial::test("every-bug-can-be-the-culprit", || bugs().map_err(failed)),
        Trial::test("every-fault-fits", || faults().map_err(failed)),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err gives it")]
fn failed(error: anyhow::Error) -> Failed {
    Failed::from(format!("{error:#}"))
}

fn bugs() -> Result<()> {
    let mut tried = 0;
    for bug in shared::lab()?.project().corpus()?.into_iter().filter(|bug| bug.kernel == KERNEL) {
        // Behind all else, where every other change is in its way.
        let mut plan = Plan::standard(bug.patch, 64);
        fits(&plan).with_context(|| bug.id.clone())?;
        plan.culprit = 1;
        fits(&plan).with_context(|| bug.id.clone())?;
        tried += 1;
    }
    ensure!(tried > 30, "the corpus has {tried} bugs of {KERNEL}");
    Ok(())
}

fn faults() -> Result<()> {
    let patch = shared::lab()?.project().patch("k1-align-any-length.patch");
    let all = [
        Fault::DoesNotCompile,
        Fault::DoesNotLink,
        Fault::LacksSymbol,
        Fault::PanicsAtBoot,
        Fault::HangsAtBoot,
        Fault::PanicsElsewhere,
    ];
    let broken = (1..).zip(all).map(|(at, fault)| Broken { fault, at, mended: 41 - at }).collect();
    let side = Some(Side { forks: 44, first: 50, last: 60 });
    fits(&Plan { broken, side, ..Plan::standard(patch, 55) })
}
