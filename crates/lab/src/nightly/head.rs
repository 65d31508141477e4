//! The head of the branch: built, and booted as often as the suite says.

use std::time::Instant;

use anyhow::{Result, bail};
use mthp_judge::text;
use mthp_kernel::{BuiltKernel, Repository};
use mthp_record::boot::{BootRecord, Side};
use mthp_store::{
    Store,
    nightly::Nightly,
    run::{Filter, Revision, Series},
};
use mthp_vm::accel::{Accel, AccelChoice};

use super::Night;
use crate::{
    Folder,
    bisect::{
        history::History,
        sight::{Eye, Image, millis},
    },
    boots::accelerator,
    load::Load,
    timing::Timings,
};

/// What the head showed.
pub(super) struct Seen {
    pub(super) series: Series,
    pub(super) image: Result<BuiltKernel, String>,
    pub(super) boots: Vec<BootRecord>,
    pub(super) build_millis: Option<u64>,
    pub(super) boots_millis: Option<u64>,
}

impl Night<'_> {
    /// Builds and boots the head.
    pub(super) fn look(
        &self,
        repository: &Repository,
        revision: &Revision,
        store: &Store,
        folder: &Folder,
        nightly: &mut Nightly,
    ) -> Result<Seen> {
        let history = History::of_commit(
            repository.clone(),
            &self.request.branch,
            revision.commit.clone(),
            self.lab,
            self.suite,
        )?;
        let mut timings = Timings::default();
        let mut load = Load::choose(self.lab, self.suite, None, &[], None, &mut timings, self.events)?;
        history.prepare(&mut load, self.lab, self.suite, &[], self.events)?;
        let setting = load.setting(self.lab, folder.path(), self.events)?;
        let mut eye = Eye::open(self.lab, &history, &[], setting, &self.suite.gates, self.events)?;
        let started = Instant::now();
        let mut series = Series {
            tree: repository.place().to_owned(),
            branch: self.request.branch.clone(),
            host: self.request.host.clone(),
            accelerator: String::new(),
            suite: self.suite.name.clone(),
        };
        let kernel = match eye.build(&revision.commit, "head")? {
            Image::Built(kernel) => *kernel,
            Image::None(why) => {
                series.accelerator = self.unproven(store, &series)?;
                let image = Err(why);
                return Ok(Seen { series, image, boots: Vec::new(), build_millis: None, boots_millis: None });
            }
        };
        let build_millis = (!kernel.from_cache).then(|| millis(started));
        let stop = self.lab.stop();
        let chosen = accelerator(self.request.accel, &eye.setting, &kernel.vmlinux, stop, self.events)?;
        eye.setting.accel = chosen.accel;
        series.accelerator = chosen.accel.to_string();
        nightly.accelerator.clone_from(&series.accelerator);
        nightly.notes.extend(load.put_into(&mut eye.setting)?);
        let started = Instant::now();
        let kernels = [(revision.commit.as_str(), &kernel, Side::Patched)];
        let boots = eye.boot(&eye.setting, &kernels, self.suite.boots)?.concat();
        let boots_millis = Some(millis(started));
        let machinery =
            boots.iter().find(|boot| !boot.outcome.is_completed() && !boot.outcome.is_kernels_fault());
        if let Some(boot) = machinery {
            bail!("failed to boot the head: {}", text::boot_failure(boot));
        }
        Ok(Seen { series, image: Ok(kernel), boots, build_millis, boots_millis })
    }

    /// The accelerator of a head that has no image to try it with: as asked, or as in the last run, or emulation.
    fn unproven(&self, store: &Store, series: &Series) -> Result<String> {
        let filter = Filter { accelerator: None, ..Filter::of(series) };
        Ok(match self.request.accel {
            AccelChoice::Auto => match store.runs(&filter, 1)?.into_iter().next() {
                Some(last) => last.run.series.accelerator,
                None => Accel::Tcg.to_string(),
            },
            choice => choice.to_string(),
        })
    }
}
