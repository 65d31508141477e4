//! What the guests of a run do: the suite's tests, its workload and its selftests, as the user's patterns narrow them.

use std::path::Path;

use anyhow::Result;
use mthp_judge::{report::Report, suite::Suite};
use mthp_kernel::{PatchSeries, files};
use mthp_vm::accel::Accel;

use crate::{
    boots::Setting,
    event::Events,
    folder::Folder,
    guest,
    laboratory::{Base, Lab},
    selection::Selection,
    selftests::{self, Selftests},
    shard::Shard,
    timing::Timings,
    workload::{self, Gathered, Loaded, Workload},
};

/// What the guests do. It is chosen before anything is built, then built.
pub(crate) struct Load {
    suite: Suite,
    selection: Selection,
    runner: guest::Runner,
    selftest_spec: Option<selftests::Spec>,
    gathered: Option<Gathered>,
    workload: Option<Workload>,
    selftests: Option<Selftests>,
}

impl Load {
    /// Builds the guest runner, chooses, and sees to it that a workload's parts are there.
    ///
    /// # Errors
    /// When a pattern selects nothing, a file is malformed, a part is missing, or cargo fails.
    pub(crate) fn choose(
        lab: &Lab,
        suite: &Suite,
        own: Option<&Path>,
        patterns: &[String],
        shard: Option<Shard>,
        timings: &mut Timings,
        events: &Events<'_>,
    ) -> Result<Self> {
        let spec = workload::spec(lab.project(), suite, own)?;
        let runner = timings.time("guest runner", || guest::build(lab.project(), events))?;
        let cases = spec.as_ref().map(|spec| spec.cases.as_slice()).unwrap_or_default();
        let selftest_spec = selftests::spec(lab.project(), suite)?;
        let names: Vec<String> =
            selftest_spec.iter().flat_map(|spec| &spec.tests).map(|test| test.name.clone()).collect();
        let selection = Selection::of(suite, &runner.tests, cases, &names, patterns)?.shard(shard)?;
        let gathered = match spec {
            Some(spec) if selection.has_scenarios() => Some(Gathered::of(lab, spec, events)?),
            _ => None,
        };
        let suite = suite.clone();
        Ok(Self { suite, selection, runner, selftest_spec, gathered, workload: None, selftests: None })
    }

    /// The hash of the guest's program.
    pub(crate) fn guest_sha256(&self) -> String {
        files::sha256(&self.runner.program)
    }

    /// Does it need a tree to build selftests from?
    pub(crate) fn has_selftests(&self) -> bool {
        self.selftest_spec.is_some() && !self.selection.selftests.is_empty()
    }

    /// Builds the workload's disk, if there is one.
    ///
    /// # Errors
    /// When it cannot be built.
    pub(crate) fn assemble(&mut self, lab: &Lab, timings: &mut Timings, events: &Events<'_>) -> Result<()> {
        if let Some(gathered) = self.gathered.take() {
            self.workload = Some(timings.time("workload", || gathered.assemble(lab, events))?);
        }
        Ok(())
    }

    /// Builds the selftests of a tree with patches on it, if there are some to run.
    ///
    /// # Errors
    /// When they cannot be built.
    pub(crate) fn build_selftests(
        &mut self,
        lab: &Lab,
        base: &Base,
        patches: &[PatchSeries],
        timings: &mut Timings,
        events: &Events<'_>,
    ) -> Result<()> {
        if let Some(spec) = self.selftest_spec.as_ref().filter(|_| !self.selection.selftests.is_empty()) {
            let built = timings.time("selftests", || {
                selftests::build(lab, base, patches, spec, &self.selection.selftests, events)
            })?;
            self.selftests = Some(built);
        }
        Ok(())
    }

    /// Writes down in a report what the guests do.
    pub(crate) fn describe(&self, report: &mut Report) {
        report.workload = self.workload.as_ref().map(Workload::record);
        report.selftests = self.selftests.as_ref().map(|selftests| selftests.record.clone());
        report.notes.extend(self.selection.note());
        report.notes.extend(self.selftests.iter().flat_map(|selftests| selftests.notes.clone()));
    }

    /// The setting of its boots, emulated and without the workload until [`Self::put_into`].
    ///
    /// # Errors
    /// When the cost model's plugin or a machine's file is not to be had.
    pub(crate) fn setting(&self, lab: &Lab, folder: &Path, events: &Events<'_>) -> Result<Setting> {
        let tests = self.selection.tests.clone();
        let selftests = self.selftests.as_ref().map(|selftests| selftests.loaded.clone());
        let program = self.runner.program.clone();
        Ok(Setting { selftests, ..lab.setting_of(self.suite.clone(), tests, program, folder, events)? })
    }

    /// Puts the workload's scenarios into the setting: which they are depends on its accelerator. Returns what a
    /// reviewer should know.
    ///
    /// # Errors
    /// When all that was chosen is too slow for emulation.
    pub(crate) fn put_into(&self, setting: &mut Setting) -> Result<Vec<String>> {
        let Some(workload) = &self.workload else { return Ok(Vec::new()) };
        let (scenarios, left_out) = self.selection.scenarios(setting.accel == Accel::Tcg);
        if scenarios.is_empty() && self.selection.tests.is_empty() && self.selection.selftests.is_empty() {
            return Err(self.selection.only_slow(&left_out));
        }
        let unexpecting = scenarios.iter().filter(|scenario| scenario.expected.is_none());
        let unexpecting: Vec<&str> = unexpecting.map(|scenario| scenario.name.as_str()).collect();
        let mut notes = Vec::new();
        if !unexpecting.is_empty() {
            notes.push(format!(
                "these have no [[expected]] detections, so their outputs are compared as bits only: {}",
                unexpecting.join(", ")
            ));
        }
        if !left_out.is_empty() {
            notes.push(format!(
                "left out, since emulation is slow (name them with --test to run them): {}",
                left_out.join(", ")
            ));
        }
        setting.workload = Some(Loaded { scenarios, disk: workload.disk.path.clone() });
        Ok(notes)
    }

    /// Draws what a workload's boots saw into the report's folder.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub(crate) fn draw(&self, boots: &[mthp_record::boot::BootRecord], folder: &Folder) -> Result<()> {
        self.workload.as_ref().map_or(Ok(()), |workload| workload.draw(boots, folder))
    }
}
