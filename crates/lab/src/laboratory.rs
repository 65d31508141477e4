//! What every experiment needs: the checkout, the cache, QEMU, and the wish to stop.

use std::{path::Path, sync::Arc, time::Instant};

use anyhow::Result;
use mthp_judge::suite::Suite;
use mthp_kernel::{
    BuiltKernel, Cache, Event as BuildEvent, PatchSeries, PristineTree, Recipe, SourceSpec, build,
    config::Fragment, fetch, patch::apply_on,
};
use mthp_vm::{accel::Accel, qemu::Qemu};

use crate::{
    boots::Setting,
    event::{Event, Events},
    guest,
    model::{Model, Plugins},
    project::Project,
    request::BaseKernel,
    stop::Stop,
};

/// A place to run experiments in.
#[derive(Debug)]
pub struct Lab {
    project: Project,
    cache: Cache,
    qemu: Qemu,
    stop: Stop,
    plugins: Plugins,
}

/// A base kernel's source and the patches that belong to it.
#[derive(Clone, Debug)]
pub(crate) struct Base {
    pub(crate) tree: PristineTree,
    pub(crate) patches: Vec<PatchSeries>,
    pub(crate) fragment: Fragment,
}

impl Base {
    /// Whether the patches go into the base; in memory, nothing is written.
    ///
    /// # Errors
    /// The first patch that does not, with its file and hunk.
    pub(crate) fn accepts(&self, patches: &[PatchSeries]) -> Result<()> {
        apply_on(&self.tree.path, &self.patches, patches).map(drop)
    }
}

impl Lab {
    /// Opens the cache and finds QEMU.
    ///
    /// # Errors
    /// When the checkout, the cache or QEMU cannot be used.
    pub fn open(cache: Option<&Path>, qemu: Option<&Path>, stop: Stop) -> Result<Self> {
        let (project, cache, qemu) = (Project::here()?, Cache::open(cache)?, Qemu::find(qemu)?);
        Ok(Self { project, cache, qemu, stop, plugins: Plugins::default() })
    }

    /// The checkout.
    #[must_use]
    pub fn project(&self) -> &Project {
        &self.project
    }

    /// The QEMU in use.
    #[must_use]
    pub fn qemu(&self) -> &Qemu {
        &self.qemu
    }

    /// Where sources, kernels and the workload's parts are kept.
    pub(crate) fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The wish to stop.
    #[must_use]
    pub fn stop(&self) -> &Stop {
        &self.stop
    }

    /// A setting for boots of a suite, with its own tests; the guest runner is built if need be.
    ///
    /// # Errors
    /// When the suite or the guest runner is not to be had.
    pub fn setting(&self, suite: &str, accel: Accel, folder: &Path) -> Result<Setting> {
        let (suite, _) = self.project.suite(suite)?;
        let runner = guest::build(&self.project, &|_| {})?;
        let tests = runner.tests.into_iter().filter(|name| suite.selects(name)).collect();
        Ok(Setting { accel, ..self.setting_of(suite, tests, runner.program, folder, &|_| {})? })
    }

    /// A setting made of its parts, emulated until an accelerator is chosen. The model's plugin is built if the suite
    /// asks for machines.
    ///
    /// # Errors
    /// When a machine's file is malformed or the plugin cannot be built.
    pub(crate) fn setting_of(
        &self,
        suite: Suite,
        tests: Vec<String>,
        runner: Arc<[u8]>,
        folder: &Path,
        events: &Events<'_>,
    ) -> Result<Setting> {
        let model = Model::of(&self.project, &self.qemu, &self.plugins, &suite, events)?;
        Ok(Setting {
            subject: String::new(),
            qemu: self.qemu.clone(),
            runner,
            suite,
            tests,
            workload: None,
            selftests: None,
            accel: Accel::Tcg,
            folder: folder.to_owned(),
            misbehave: None,
            extra: Vec::new(),
            model,
        })
    }

    /// Builds a kernel of `kernels/`, with more patches on top.
    ///
    /// # Errors
    /// When it cannot be fetched, patched or built.
    pub fn build_named(
        &self,
        name: &str,
        patches: &[PatchSeries],
        fragments: &[String],
        label: &str,
        events: &Events<'_>,
    ) -> Result<BuiltKernel> {
        let base = self.base(&BaseKernel::Named(name.to_owned()), fragments, events)?;
        self.build(&base, patches, label, events)
    }

    /// Fetches a base kernel's source and reads its patches and fragments, once for both kernels.
    pub(crate) fn base(&self, base: &BaseKernel, fragments: &[String], events: &Events<'_>) -> Result<Base> {
        let fragment = Fragment::read(&self.project.fragments(fragments))?;
        let (spec, patches) = match base {
            BaseKernel::Named(name) => {
                let manifest = self.project.kernel(name)?;
                (manifest.source(), manifest.series()?)
            }
            BaseKernel::Tree { spec, dirty } => (SourceSpec::parse_tree(spec, *dirty)?, Vec::new()),
        };
        let label = "source";
        events(&Event::Began { label: label.to_owned(), what: "looking for it".to_owned() });
        let tree = fetch(&self.cache, &spec, &translate(label, events), self.stop.builds());
        let what = match &tree {
            Ok(tree) => format!("{} ({})", tree.identity.what, tree.identity.version),
            Err(_) => "failed".to_owned(),
        };
        events(&Event::Ended { label: label.to_owned(), what });
        let tree = tree?;
        Ok(Base { tree, patches, fragment })
    }

    /// Builds a base kernel with more patches on top.
    pub(crate) fn build(
        &self,
        base: &Base,
        patches: &[PatchSeries],
        label: &str,
        events: &Events<'_>,
    ) -> Result<BuiltKernel> {
        let recipe = Recipe {
            source: &base.tree,
            patches: base.patches.iter().chain(patches).cloned().collect(),
            fragment: base.fragment.clone(),
        };
        events(&Event::Began { label: label.to_owned(), what: "preparing".to_owned() });
        let started = Instant::now();
        let built = build(&self.cache, &recipe, &translate(label, events), self.stop.builds());
        let what = match &built {
            Ok(kernel) if kernel.from_cache => format!("built before ({})", base.tree.identity.version),
            Ok(_) => format!("built {} in {} s", base.tree.identity.version, started.elapsed().as_secs()),
            Err(_) => "failed".to_owned(),
        };
        events(&Event::Ended { label: label.to_owned(), what });
        built
    }
}

/// A build's events as an experiment's.
pub(crate) fn translate<'a>(label: &'a str, events: &'a Events<'a>) -> impl Fn(BuildEvent) + Sync + 'a {
    move |event| {
        let what = match event {
            BuildEvent::Downloading(what) => format!("downloading {what}"),
            BuildEvent::Unpacking(what) => format!("unpacking {what}"),
            BuildEvent::Hashing(what) => format!("hashing {what}"),
            BuildEvent::WaitingForLock(what) => format!("waiting for another run: {what}"),
            BuildEvent::Configuring => "configuring".to_owned(),
            BuildEvent::Cloning => "cloning the built tree".to_owned(),
            BuildEvent::Building { done, expected: Some(expected) } => {
                format!("building, {done} of about {expected} steps")
            }
            BuildEvent::Building { done, expected: None } => format!("building, {done} steps"),
            _ => return,
        };
        events(&Event::Now { label: label.to_owned(), what });
    }
}
