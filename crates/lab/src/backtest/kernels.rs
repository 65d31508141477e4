//! The kernels of a backtest: the bases, and each subject's on one of them.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use mthp_judge::suite::Suite;
use mthp_kernel::{BuiltKernel, PatchSeries};

use crate::{BaseKernel, Events, Lab, laboratory::Base};

/// What is booted against which base.
pub(super) struct Subject<T> {
    pub(super) what: T,
    pub(super) base: String,
    /// `None` for the base itself.
    pub(super) patch: Option<PathBuf>,
    pub(super) runs: u32,
}

/// The same with its kernel, or with why there is none.
pub(super) struct Built<T> {
    pub(super) subject: Subject<T>,
    pub(super) kernel: Result<BuiltKernel, String>,
}

pub(super) struct Bases<'a> {
    pub(super) lab: &'a Lab,
    pub(super) suite: &'a Suite,
    pub(super) events: &'a Events<'a>,
    pub(super) all: BTreeMap<String, (Base, BuiltKernel)>,
}

impl Bases<'_> {
    /// Builds every subject's kernel, and the bases they go on.
    pub(super) fn build_all<T>(&mut self, subjects: Vec<Subject<T>>) -> Result<Vec<Built<T>>> {
        let mut built = Vec::new();
        for subject in subjects {
            if !self.all.contains_key(&subject.base) {
                let named = BaseKernel::Named(subject.base.clone());
                let base = self.lab.base(&named, &self.suite.fragments, self.events)?;
                let kernel = self
                    .lab
                    .build(&base, &[], &subject.base, self.events)
                    .with_context(|| format!("failed to build {}", subject.base))?;
                self.all.insert(subject.base.clone(), (base, kernel));
            }
            let (base, kernel) =
                self.all.get(&subject.base).with_context(|| format!("{} is not built", subject.base))?;
            let kernel = match &subject.patch {
                None => Ok(kernel.clone()),
                Some(patch) => match self.build(base, patch) {
                    Err(error) if self.lab.stop().is_stopped() => return Err(error),
                    outcome => outcome.map_err(|error| format!("{error:#}")),
                },
            };
            built.push(Built { subject, kernel });
        }
        Ok(built)
    }

    fn build(&self, base: &Base, patch: &Path) -> Result<BuiltKernel> {
        let series = PatchSeries::read(patch, false)?;
        let label = patch.file_stem().unwrap_or_default().to_string_lossy();
        self.lab.build(base, &[series], &label, self.events)
    }
}
