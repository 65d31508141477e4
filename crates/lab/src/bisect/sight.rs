//! One look at a revision: built, and booted if its image is a new one.

use std::time::Instant;

use anyhow::{Result, bail};
use mthp_bisect::{
    finding::Finding,
    record::Tried,
    target::{self, Target},
};
use mthp_judge::suite::Gate;
use mthp_kernel::{BuildFailed, BuiltKernel, PatchError, PatchSeries, is_bad_input, workspace::Workspace};
use mthp_record::boot::{BootRecord, Side};

use super::{history::History, journal::Journal};
use crate::{
    Events, Lab, Setting,
    boots::{Boot, boot_all},
    event::Event,
    laboratory::translate,
};

/// What looks at revisions.
pub(crate) struct Eye<'a> {
    pub(crate) lab: &'a Lab,
    pub(crate) history: &'a History,
    pub(super) workspace: Workspace<'a>,
    pub(super) patches: &'a [PatchSeries],
    pub(crate) setting: Setting,
    pub(crate) gates: &'a [Gate],
    pub(crate) events: &'a Events<'a>,
}

/// A revision's image, or why there is none.
pub(crate) enum Image {
    /// Built.
    Built(Box<BuiltKernel>),
    /// The revision does not build, cannot be configured as asked, or does not take a patch.
    None(String),
}

impl<'a> Eye<'a> {
    /// An eye on a history, in the workspace of that history.
    ///
    /// # Errors
    /// When the workspace cannot be used.
    pub(crate) fn open(
        lab: &'a Lab,
        history: &'a History,
        patches: &'a [PatchSeries],
        setting: Setting,
        gates: &'a [Gate],
        events: &'a Events<'a>,
    ) -> Result<Self> {
        let workspace = Workspace::open(
            lab.cache(),
            history.origin(),
            &history.fragment,
            &translate("workspace", events),
            lab.stop().builds(),
        )?;
        Ok(Self { lab, history, workspace, patches, setting, gates, events })
    }

    /// Builds a revision.
    ///
    /// # Errors
    /// When the machinery failed, or the run was interrupted.
    pub(crate) fn build(&mut self, id: &str, label: &str) -> Result<Image> {
        (self.events)(&Event::Began { label: label.to_owned(), what: "building".to_owned() });
        let started = Instant::now();
        let point = self.history.point(id)?;
        let built = self.workspace.build(
            &point,
            self.patches,
            &translate(label, self.events),
            self.lab.stop().builds(),
        );
        let image = match built {
            Ok(kernel) => Image::Built(Box::new(kernel)),
            Err(error) if self.lab.stop().is_stopped() => return Err(error),
            Err(error) => match reason(&error) {
                Some(reason) => Image::None(reason),
                None => return Err(error),
            },
        };
        let what = match &image {
            Image::Built(kernel) if kernel.from_cache => "built before".to_owned(),
            Image::Built(_) => format!("built in {} s", started.elapsed().as_secs()),
            Image::None(reason) => first_line(reason).to_owned(),
        };
        (self.events)(&Event::Ended { label: label.to_owned(), what });
        Ok(image)
    }

    /// Boots kernels side by side, each so many times, all on their side; the records come back in the order of the kernels.
    ///
    /// # Errors
    /// When a boot cannot be started, or the run was interrupted.
    pub(crate) fn boot(
        &self,
        setting: &Setting,
        kernels: &[(&str, &BuiltKernel, Side)],
        boots: u32,
    ) -> Result<Vec<Vec<BootRecord>>> {
        let mut settings = Vec::new();
        for (id, ..) in kernels {
            let folder = setting.folder.join("consoles").join(id);
            std::fs::create_dir_all(&folder)?;
            let subject = mthp_bisect::text::short(id).to_owned();
            settings.push(Setting { subject, folder, ..setting.clone() });
        }
        let plan: Vec<Boot<'_>> = (0..boots)
            .flat_map(|index| {
                settings.iter().zip(kernels).map(move |(setting, (_, kernel, side))| Boot {
                    setting,
                    vmlinux: &kernel.vmlinux,
                    side: *side,
                    index,
                })
            })
            .collect();
        let records = boot_all(&plan, self.lab.stop(), self.events)?;
        if self.lab.stop().is_stopped() {
            bail!("interrupted; the same command goes on from here");
        }
        let mut sorted = vec![Vec::new(); kernels.len()];
        for (at, record) in records.into_iter().enumerate() {
            if let Some(its) = sorted.get_mut(at % kernels.len()) {
                its.push(record);
            }
        }
        Ok(sorted)
    }

    /// Looks at a revision, and at its boots only if no revision before it gave the same image.
    ///
    /// # Errors
    /// When the machinery failed, or the run was interrupted.
    pub(super) fn look(
        &mut self,
        id: &str,
        label: &str,
        target: &Target,
        boots: u32,
        journal: &Journal,
    ) -> Result<Tried> {
        let mut tried = Tried {
            id: id.to_owned(),
            subject: self.history.subject(id),
            finding: Finding::Good,
            image: None,
            same_as: None,
            boots: 0,
            build_millis: None,
            boot_millis: 0,
        };
        let started = Instant::now();
        let image = self.build(id, label)?;
        let spent = millis(started);
        let kernel = match image {
            Image::None(reason) => {
                tried.build_millis = Some(spent);
                tried.finding = Finding::skipped(reason);
                return Ok(tried);
            }
            Image::Built(kernel) => kernel,
        };
        tried.build_millis = (!kernel.from_cache).then_some(spent);
        let image = kernel.identity.vmlinux_sha256.clone();
        if let Some(earlier) = journal.bisection.seen(&image) {
            tried.finding = earlier.finding.clone();
            tried.same_as = Some(earlier.id.clone());
        } else {
            let started = Instant::now();
            let records = self.boot(&self.setting, &[(id, &kernel, Side::Patched)], boots)?;
            tried.finding = target::judge(target, &records.concat())?;
            tried.boots = boots;
            tried.boot_millis = millis(started);
        }
        tried.image = Some(image);
        Ok(tried)
    }
}

pub(crate) fn millis(since: Instant) -> u64 {
    u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX)
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

/// Why a revision has no image, where that is the revision's fault and not the machinery's.
fn reason(error: &anyhow::Error) -> Option<String> {
    error.chain().find_map(|cause| {
        if let Some(failed) = cause.downcast_ref::<BuildFailed>() {
            let first = failed.first_errors.first().map_or("no error was printed", String::as_str);
            return Some(format!("it does not build: {first}"));
        }
        if let Some(patch) = cause.downcast_ref::<PatchError>() {
            return Some(format!("it does not take the patch: {patch}"));
        }
        is_bad_input(cause).then(|| format!("{error:#}"))
    })
}
