//! The boots of a backtest, and what they say.

use std::{collections::BTreeMap, path::PathBuf};

use anyhow::{Context, Result, bail};
use mthp_judge::{
    compare::{Comparison, compare},
    suite::Suite,
    verdict::{Judgement, judge},
};
use mthp_kernel::BuiltKernel;
use mthp_ledger::corpus::{
    backtest::{Cost, Trial},
    entry::Turn,
    look::Run,
};
use mthp_record::boot::{BootRecord, Side};
use mthp_vm::accel::Accel;

use super::kernels::{Built, Subject};
use crate::{
    Events, Folder, Lab, Setting,
    boots::{Boot, boot_all, workers},
    kernels,
    laboratory::Base,
};

/// Whose boots, and in which run.
type Key = (String, u32);

/// All boots of a backtest, in their order.
pub(super) struct Queue<'a> {
    pub(super) lab: &'a Lab,
    pub(super) setting: Setting,
    pub(super) folder: &'a Folder,
    pub(super) bases: &'a BTreeMap<String, (Base, BuiltKernel)>,
    pub(super) boots: Vec<(Key, Setting, PathBuf, Side, u32)>,
}

impl Queue<'_> {
    pub(super) fn base(&mut self, name: &str, run: u32) -> Result<()> {
        let (_, kernel) = self.bases.get(name).with_context(|| format!("{name} is not built"))?;
        self.add(name, run, kernel.vmlinux.clone(), Side::Base)
    }

    pub(super) fn subject<T>(&mut self, name: &str, built: &Built<T>, run: u32) -> Result<()> {
        match &built.kernel {
            Ok(kernel) if run < built.subject.runs => {
                self.add(name, run, kernel.vmlinux.clone(), Side::Patched)
            }
            _ => Ok(()),
        }
    }

    fn add(&mut self, name: &str, run: u32, vmlinux: PathBuf, side: Side) -> Result<()> {
        let folder = self.folder.inner(&format!("{}/run-{}", name.replace(' ', "-"), run + 1))?;
        for index in 0..self.setting.suite.boots {
            let setting =
                Setting { subject: name.to_owned(), folder: folder.clone(), ..self.setting.clone() };
            self.boots.push(((name.to_owned(), run), setting, vmlinux.clone(), side, index));
        }
        Ok(())
    }

    pub(super) fn boot(self, events: &Events<'_>) -> Result<Done> {
        let plan: Vec<Boot<'_>> = self
            .boots
            .iter()
            .map(|(_, setting, vmlinux, side, index)| Boot { setting, vmlinux, side: *side, index: *index })
            .collect();
        let records = boot_all(&plan, self.lab.stop(), events)?;
        if self.lab.stop().is_stopped() {
            bail!("interrupted; the consoles so far are in {}", self.folder.path().display());
        }
        let mut done = Done {
            records: BTreeMap::new(),
            suite: self.setting.suite.clone(),
            emulated: self.setting.accel == Accel::Tcg,
            bases: self.bases.iter().map(|(name, (_, kernel))| (name.clone(), kernel.clone())).collect(),
        };
        for ((key, ..), record) in self.boots.iter().zip(records) {
            done.records.entry(key.clone()).or_default().push(record);
        }
        Ok(done)
    }
}

/// What all boots left.
pub(super) struct Done {
    records: BTreeMap<Key, Vec<BootRecord>>,
    suite: Suite,
    emulated: bool,
    bases: BTreeMap<String, BuiltKernel>,
}

impl Done {
    /// The first turn whose check no boot of the bug's base has: a slip in the entry, not a miss of the suite.
    pub(super) fn unknown_check<'b>(&self, base: &str, turns: &'b [Turn]) -> Option<&'b Turn> {
        let boots = || self.records.iter().filter(|((name, _), _)| name == base).flat_map(|(_, boots)| boots);
        let ran = boots().any(|boot| boot.outcome.is_completed());
        turns.iter().find(|turn| {
            let has = |boot: &BootRecord| {
                boot.tests.iter().filter(|test| test.name == turn.test).any(|test| {
                    !test.outcome.is_completed() || test.checks.iter().any(|check| check.name == turn.check)
                })
            };
            ran && !boots().any(has)
        })
    }

    pub(super) fn trials<T>(
        &self,
        built: Vec<Built<T>>,
        name: impl Fn(&T) -> String,
        look: impl Fn(&T, &Comparison, Judgement) -> Run,
    ) -> Result<Vec<Trial<T>>> {
        built.into_iter().map(|one| self.trial(one, &name, &look)).collect()
    }

    fn trial<T>(
        &self,
        built: Built<T>,
        name: &impl Fn(&T) -> String,
        look: &impl Fn(&T, &Comparison, Judgement) -> Run,
    ) -> Result<Trial<T>> {
        let Subject { what, base, patch, runs } = built.subject;
        let name = name(&what);
        let kernel = match built.kernel {
            Ok(kernel) => kernel,
            Err(why) => {
                return Ok(Trial {
                    subject: what,
                    kernel: None,
                    untried: Some(why),
                    same_image: false,
                    runs: Vec::new(),
                    cost: Cost::default(),
                });
            }
        };
        let mut seen = Vec::new();
        let mut longest = 0;
        for run in 0..runs {
            let of = |name: &str| self.records.get(&(name.to_owned(), run)).map_or(&[][..], Vec::as_slice);
            let boots: Vec<BootRecord> = of(&base).iter().chain(of(&name)).cloned().collect();
            longest = longest.max(of(&name).iter().map(|boot| boot.total_millis).sum());
            let comparison = compare(&boots, &self.suite.gates, self.emulated);
            let judgement = judge(&boots, &comparison);
            seen.push(look(&what, &comparison, judgement));
        }
        let at_a_time = workers(self.suite.guest.memory_mib).min(usize::try_from(self.suite.boots)?);
        let same = self.bases.get(&base).is_some_and(|base| base.same_image(&kernel));
        Ok(Trial {
            kernel: Some(kernels::record(&name, &kernel)?),
            subject: what,
            untried: None,
            same_image: same && patch.is_some(),
            runs: seen,
            cost: Cost {
                build_millis: if patch.is_some() { kernel.cost.wall_millis } else { 0 },
                built_now: !kernel.from_cache && patch.is_some(),
                boots_millis: longest / u64::try_from(at_a_time.max(1))?,
            },
        })
    }
}
