//! Builds: one full build a configuration, and every other kernel from its objects.

pub(crate) mod entry;
mod identity;
pub(crate) mod key;
mod log;
pub(crate) mod make;
mod selftests;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use anyhow::Result;
pub use identity::{Cost, KernelIdentity, PatchIdentity};
pub use log::first_errors;
pub use selftests::{Program, Selftests, Unbuilt, selftests};

use self::{
    entry::{CONFIG, LOG, STORED, VMLINUX},
    identity::Stored,
    make::{Make, OBJECTS, copy_objects, link_tree},
};
use crate::{
    Cache, Event, Events, PatchSeries, PristineTree,
    cache::{Kind, Lock, writing},
    config::Fragment,
    files,
    patch::{self, Changes},
    process::Spent,
    toolchain::Toolchain,
};

/// What a kernel is made of.
#[derive(Clone, Debug)]
pub struct Recipe<'a> {
    /// The source.
    pub source: &'a PristineTree,
    /// Patches on it: a manifest's first, then the user's.
    pub patches: Vec<PatchSeries>,
    /// What is asked for over `allnoconfig`. Read once and used for both kernels: a file that changes between
    /// two builds would make their configs differ.
    pub fragment: Fragment,
}

/// A kernel in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltKernel {
    /// The image, bootable by PVH.
    pub vmlinux: PathBuf,
    /// Its `.config`.
    pub config: PathBuf,
    /// The log of its build.
    pub log: PathBuf,
    /// What it is.
    pub identity: KernelIdentity,
    /// Whether it was built before.
    pub from_cache: bool,
    /// What building it took, whenever that was.
    pub cost: Cost,
}

impl BuiltKernel {
    /// Whether both are the same image: then what differs between their recipes changes no built object.
    #[must_use]
    pub fn same_image(&self, other: &Self) -> bool {
        self.identity.vmlinux_sha256 == other.identity.vmlinux_sha256
    }
}

/// Builds a kernel, or finds it built. Whether the patches apply is known before anything is built.
///
/// # Errors
/// [`BadInput`](crate::BadInput) for missing tools, malformed fragments and symbols that the tree drops;
/// [`PatchError`](crate::PatchError); [`BuildFailed`](crate::BuildFailed); [`Interrupted`](crate::Interrupted); and what
/// the disk fails with.
pub fn build(
    cache: &Cache,
    recipe: &Recipe<'_>,
    events: &Events<'_>,
    stop: &AtomicBool,
) -> Result<BuiltKernel> {
    let toolchain = Toolchain::check()?;
    let root_key = key::root(&recipe.source.id, &recipe.fragment, &toolchain);
    let patches = key::of_series(&recipe.patches);
    let key = key::kernel(&recipe.source.id, patches, &recipe.fragment, &toolchain);
    let builder = Builder { cache, recipe, events, stop, toolchain, root_key };
    if let Some(entry) = cache.find(Kind::Kernel, &key) {
        events(Event::Cached(key));
        return entry::read(&entry, &recipe.source.identity, true);
    }
    let changes = patch::apply(&recipe.source.path, &recipe.patches)?;
    let label = format!("a build of {}", recipe.source.identity.what);
    let made = cache.produce(Kind::Kernel, &key, &label, events, stop, |partial| {
        builder.kernel(partial, &key, &changes)
    })?;
    let kernel = entry::read(&made.path, &recipe.source.identity, !made.fresh)?;
    events(Event::Built { key, wall_millis: kernel.cost.wall_millis });
    Ok(kernel)
}

struct Builder<'a> {
    cache: &'a Cache,
    recipe: &'a Recipe<'a>,
    events: &'a Events<'a>,
    stop: &'a AtomicBool,
    toolchain: Toolchain,
    root_key: String,
}

impl Builder<'_> {
    /// Builds a kernel into a new folder of the cache.
    fn kernel(&self, partial: &Path, key: &str, changes: &Changes) -> Result<()> {
        let root = self.root()?;
        let root_cost = Stored::cost(&root.join(STORED))?;
        fs::create_dir(partial).map_err(|error| writing(error, partial))?;
        let image = partial.join(VMLINUX);
        let config = partial.join(CONFIG);
        let mut cost = root_cost;
        if changes.applied.is_empty() {
            let objects = root.join(OBJECTS);
            for (from, to) in [
                (objects.join(VMLINUX), &image),
                (objects.join(".config"), &config),
                (root.join(LOG), &partial.join(LOG)),
            ] {
                fs::copy(&from, to).map_err(|error| writing(error, to))?;
            }
        } else {
            let log = self.cache.logs().join(format!("{key}.log"));
            let spent = self.patched(&root.join(OBJECTS), changes, &log, &image, &config)?;
            files::move_file(&log, &partial.join(LOG))?;
            cost = Cost { wall_millis: millis(spent.wall), cpu_millis: millis(spent.cpu), ..root_cost };
        }
        let patches = changes.applied.iter().map(PatchIdentity::from).collect();
        entry::seal(partial, key, &self.recipe.source.identity, patches, &self.toolchain, cost)
    }

    /// The root build: its objects, and what it took.
    fn root(&self) -> Result<PathBuf> {
        let label = format!("the base build of {}", self.recipe.source.identity.what);
        let made =
            self.cache.produce(Kind::Root, &self.root_key, &label, self.events, self.stop, |partial| {
                let started = Instant::now();
                let log = self.fresh_log(&format!("root-{}", self.root_key))?;
                let (work, _lock) = self.work(&label)?;
                let tree = work.join("tree");
                let mut cpu = link_tree(&self.recipe.source.path, &tree, self.stop)?.cpu;
                let make = self.make(&tree, &log);
                cpu += make.configure(&self.recipe.fragment, &work)?.cpu;
                cpu += make.vmlinux_in_full()?.cpu;
                fs::create_dir(partial).map_err(|error| writing(error, partial))?;
                files::move_file(&log, &partial.join(LOG))?;
                files::move_file(&tree.join(OBJECTS), &partial.join(OBJECTS))?;
                self.cache.discard(&work)?;
                let wall_millis = millis(started.elapsed());
                let cpu_millis = millis(cpu);
                let cost = Cost {
                    wall_millis,
                    cpu_millis,
                    root_wall_millis: wall_millis,
                    root_cpu_millis: cpu_millis,
                };
                Stored::write_cost(cost, &partial.join(STORED))
            })?;
        Ok(made.path)
    }

    /// A clone of the root build, patched and built further.
    fn patched(
        &self,
        objects: &Path,
        changes: &Changes,
        log: &Path,
        image: &Path,
        config: &Path,
    ) -> Result<Spent> {
        truncate(log)?;
        let (work, _lock) = self.work("a build from the same base")?;
        let started = Instant::now();
        (self.events)(Event::Cloning);
        let tree = work.join("tree");
        let mut cpu = link_tree(&self.recipe.source.path, &tree, self.stop)?.cpu;
        cpu += copy_objects(objects, &tree.join(OBJECTS), self.stop)?.cpu;
        changes.write(&tree)?;
        let make = self.make(&tree, log);
        if changes.paths().any(touches_config) {
            cpu += make.configure(&self.recipe.fragment, &work)?.cpu;
        }
        cpu += make.vmlinux()?.cpu;
        files::move_file(&tree.join(OBJECTS).join(VMLINUX), image)?;
        files::move_file(&tree.join(OBJECTS).join(".config"), config)?;
        self.cache.discard(&work)?;
        Ok(Spent { wall: started.elapsed(), cpu })
    }

    /// The one folder where builds from this root take place, empty. Host tools such as objtool are built by
    /// absolute path: in another folder they, and so every object, would be built again.
    fn work(&self, what: &str) -> Result<(PathBuf, Lock)> {
        let lock = self.cache.lock(Kind::Work, &self.root_key, what, self.events, self.stop)?;
        let work = self.cache.entry(Kind::Work, &self.root_key);
        self.cache.discard(&work)?;
        fs::create_dir(&work).map_err(|error| writing(error, &work))?;
        Ok((work, lock))
    }

    fn fresh_log(&self, name: &str) -> Result<PathBuf> {
        let log = self.cache.logs().join(format!("{name}.log"));
        truncate(&log)?;
        Ok(log)
    }

    fn make<'b>(&'b self, tree: &'b Path, log: &'b Path) -> Make<'b> {
        Make {
            tree,
            log,
            ccache: self.toolchain.ccache,
            cache: self.cache,
            lock: None,
            events: self.events,
            stop: self.stop,
        }
    }
}

pub(crate) fn truncate(log: &Path) -> Result<()> {
    fs::write(log, "").map_err(|error| writing(error, log))
}

pub(crate) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// Must the tree be configured again after this file has changed? Kconfig files ask scripts about the compiler, and
/// the version of the top Makefile is in the `.config`.
pub(crate) fn touches_config(path: &str) -> bool {
    path == "Makefile"
        || path.starts_with("scripts/kconfig/")
        || (path.starts_with("scripts/") && path.ends_with(".sh"))
        || path.rsplit('/').next().is_some_and(|name| name.starts_with("Kconfig"))
}
