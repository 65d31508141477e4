//! The boots that claims need.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::PathBuf,
};

use anyhow::{Result, bail};
use mthp_judge::report::AcceleratorRecord;
use mthp_kernel::{BuiltKernel, PatchSeries};
use mthp_record::boot::{BootRecord, Side};
use mthp_vm::accel::{Accel, AccelChoice, Accelerator};

use super::plan::{Key, Need, Place, Suites};
use crate::{
    BaseKernel, Events, Folder, Lab, Setting,
    boots::{Boot, accelerator, boot_all},
    guest::Runner,
    workload::Loaded,
};

/// Kernels, or why there is none.
pub(super) type Images = BTreeMap<Key, Result<BuiltKernel, String>>;

/// What was booted, and what ran it.
#[derive(Default)]
pub(super) struct Booted {
    pub(super) records: BTreeMap<Place, Vec<BootRecord>>,
    /// By suite.
    pub(super) accelerators: BTreeMap<String, AcceleratorRecord>,
}

/// Everything that boots rest on.
pub(super) struct Booter<'a> {
    pub(super) lab: &'a Lab,
    pub(super) suites: &'a Suites,
    pub(super) runner: &'a Runner,
    pub(super) folder: &'a Folder,
    pub(super) events: &'a Events<'a>,
}

impl Booter<'_> {
    /// Builds every kernel. One that cannot be built leaves the claims that need it undecided.
    pub(super) fn build_all(&self, needs: &BTreeMap<Place, Need>) -> Result<Images> {
        let mut images = Images::new();
        for (suite, key) in needs.keys() {
            if images.contains_key(key) {
                continue;
            }
            let outcome = self.build(suite, key);
            if let (Err(error), true) = (&outcome, self.lab.stop().is_stopped()) {
                bail!("interrupted: {error:#}");
            }
            images.insert(key.clone(), outcome.map_err(|error| format!("{error:#}")));
        }
        Ok(images)
    }

    fn build(&self, suite: &str, key: &Key) -> Result<BuiltKernel> {
        let fragments = &self.suites.get(suite)?.suite.fragments;
        let base = self.lab.base(&BaseKernel::Named(key.name.clone()), fragments, self.events)?;
        let series =
            key.patches.iter().map(|path| PatchSeries::read(path, false)).collect::<Result<Vec<_>>>()?;
        self.lab.build(&base, &series, &key.to_string(), self.events)
    }

    /// Boots what was built, with the tests that claims ask for.
    pub(super) fn boot_all(
        &self,
        choice: AccelChoice,
        needs: &BTreeMap<Place, Need>,
        images: &Images,
    ) -> Result<Booted> {
        let mut booted = Booted::default();
        let mut settings: Vec<(&Place, Setting, PathBuf, u32)> = Vec::new();
        let mut chosen: BTreeMap<bool, Accelerator> = BTreeMap::new();
        for (place, need) in needs {
            let (suite, key) = place;
            let Some(Ok(image)) = images.get(key) else { continue };
            let mut setting = self.setting(suite, key, need)?;
            // A cost model may need another accelerator than what is not modelled.
            let chosen = match chosen.entry(setting.model.is_ready()) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(place) => {
                    let stop = self.lab.stop();
                    place.insert(accelerator(choice, &setting, &image.vmlinux, stop, self.events)?)
                }
            };
            setting.accel = chosen.accel;
            let record = AcceleratorRecord { kind: chosen.accel.to_string(), why: chosen.why.clone() };
            booted.accelerators.insert(suite.clone(), record);
            self.load(&mut setting, suite, need)?;
            settings.push((place, setting, image.vmlinux.clone(), need.boots));
        }
        let plan: Vec<Boot<'_>> = settings
            .iter()
            .flat_map(|(_, setting, vmlinux, boots)| {
                (0..*boots).map(move |index| Boot { setting, vmlinux, side: Side::Base, index })
            })
            .collect();
        let mut records = boot_all(&plan, self.lab.stop(), self.events)?.into_iter();
        if self.lab.stop().is_stopped() {
            bail!("interrupted; the consoles so far are in {}", self.folder.path().display());
        }
        for (place, _, _, boots) in &settings {
            let its = records.by_ref().take(usize::try_from(*boots)?).collect();
            booted.records.insert((*place).clone(), its);
        }
        Ok(booted)
    }

    fn setting(&self, suite: &str, key: &Key, need: &Need) -> Result<Setting> {
        let used = self.suites.get(suite)?;
        let tests = self.suites.selection(suite, self.runner, &need.tests)?.tests;
        let subject = format!("{suite} {key}");
        let folder = self.folder.inner(&subject.replace(' ', "-"))?;
        let program = self.runner.program.clone();
        let suite = used.suite.clone();
        Ok(Setting { subject, ..self.lab.setting_of(suite, tests, program, &folder, self.events)? })
    }

    /// The scenarios that claims ask for, if any.
    fn load(&self, setting: &mut Setting, suite: &str, need: &Need) -> Result<()> {
        let selection = self.suites.selection(suite, self.runner, &need.tests)?;
        if let Some((_, workload)) =
            self.suites.get(suite)?.workload.as_ref().filter(|_| selection.has_scenarios())
        {
            let (scenarios, _) = selection.scenarios(setting.accel == Accel::Tcg);
            setting.workload = Some(Loaded { scenarios, disk: workload.disk.path.clone() });
        }
        Ok(())
    }
}
