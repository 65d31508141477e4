//! Kernels of many revisions, one after another in one folder: each is built from the objects of the one before.
//!
//! The folder is the cache's and stays between runs. Of a repository only the files that differ between two
//! revisions are read, straight from its objects: nothing is checked out of it and nothing is written into it.
//! A file that is the same at the next revision keeps its time of change, so that make compiles what
//! differs and nothing else.
//!
//! A compiler that is killed may leave half an object, which make takes for a whole one. So the objects of the last
//! build that came to an end are kept beside, and a build that was cut off begins from those again. What a run
//! started holds the folder's lock, so that no compiler of a killed run works on beside the next one.

mod mirror;
mod objects;
mod origin;
mod state;
mod tree;

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};

pub use self::origin::{Origin, Point};
use self::{origin::Target, state::State, tree::settle};
use crate::{
    BuildFailed, BuiltKernel, Cache, Cost, Event, Events, PatchSeries,
    build::{
        entry::{self, CONFIG, LOG, VMLINUX},
        key,
        make::{Make, OBJECTS},
        millis, touches_config, truncate,
    },
    cache::{Kind, Lock, writing},
    config::Fragment,
    error::BadInput,
    files,
    toolchain::Toolchain,
};

/// A folder to build revisions in, held against other runs until dropped.
#[derive(Debug)]
pub struct Workspace<'a> {
    cache: &'a Cache,
    origin: Origin<'a>,
    fragment: Fragment,
    toolchain: Toolchain,
    folder: PathBuf,
    lock: Lock,
}

/// Names in a workspace's folder.
const TREE: &str = "tree";
const SCRATCH: &str = "scratch";
/// From so many different files on, nearly all would be compiled again: the tree is unpacked anew instead.
const FAR: usize = 10_000;

impl<'a> Workspace<'a> {
    /// Opens the workspace of an origin, a configuration and the compiler that is here, waiting for another run that
    /// uses it.
    ///
    /// # Errors
    /// [`BadInput`] for missing tools; [`Interrupted`](crate::Interrupted); and what the disk fails with.
    pub fn open(
        cache: &'a Cache,
        origin: Origin<'a>,
        fragment: &Fragment,
        events: &Events<'_>,
        stop: &AtomicBool,
    ) -> Result<Self> {
        let toolchain = Toolchain::check()?;
        let key = key::workspace(&origin.name()?, fragment, &toolchain);
        let lock = cache.lock(Kind::Workspace, &key, "builds of the same history", events, stop)?;
        let folder = cache.entry(Kind::Workspace, &key);
        Ok(Self { cache, origin, fragment: fragment.clone(), toolchain, folder, lock })
    }

    /// Builds a point with patches on top, or finds it built: under the same key as [`build`](fn@crate::build) does. A
    /// patch that is in already at this point (for a revert: that is not in) is left out, with an
    /// [`Event::PatchLeftOut`].
    ///
    /// # Errors
    /// Those that are the point's own, after which the next one can be built: [`PatchError`](crate::PatchError) for a
    /// patch that does not apply there, [`BadInput`] for a symbol that it lacks and for what is no kernel,
    /// [`BuildFailed`]. And [`Interrupted`](crate::Interrupted), and what git and the disk fail with.
    pub fn build(
        &mut self,
        point: &Point,
        with: &[PatchSeries],
        events: &Events<'_>,
        stop: &AtomicBool,
    ) -> Result<BuiltKernel> {
        let target = self.target(point, with)?;
        for patch in &target.left_out {
            events(Event::PatchLeftOut(patch.clone()));
        }
        let patches = key::of_applied(&target.patches);
        let key = key::kernel(&target.base, patches, &self.fragment, &self.toolchain);
        let cache = self.cache;
        if let Some(entry) = cache.find(Kind::Kernel, &key) {
            events(Event::Cached(key));
            return entry::read(&entry, &target.source, true);
        }
        let label = format!("a build of {}", target.source.what);
        let made = cache.produce(Kind::Kernel, &key, &label, events, stop, |partial| {
            self.kernel(partial, &key, &target, events, stop)
        })?;
        let kernel = entry::read(&made.path, &target.source, !made.fresh)?;
        events(Event::Built { key, wall_millis: kernel.cost.wall_millis });
        Ok(kernel)
    }

    fn target(&self, point: &Point, with: &[PatchSeries]) -> Result<Target> {
        let scratch = self.folder.join(SCRATCH);
        if !with.is_empty() {
            self.cache.discard(&scratch)?;
            fs::create_dir_all(&scratch).map_err(|error| writing(error, &scratch))?;
        }
        self.origin.target(point, with, &scratch)
    }

    /// Builds a kernel into a new folder of the cache.
    fn kernel(
        &self,
        partial: &Path,
        key: &str,
        target: &Target,
        events: &Events<'_>,
        stop: &AtomicBool,
    ) -> Result<()> {
        fs::create_dir(partial).map_err(|error| writing(error, partial))?;
        let log = self.cache.logs().join(format!("{key}.log"));
        truncate(&log)?;
        let started = Instant::now();
        let mut state = self.go_to(target, events, stop)?;
        let made = self.make(&mut state, &log, events, stop);
        // These are make's own last words: all it started is done.
        let ended = match &made {
            Ok(_) => true,
            Err(error) => error.is::<BuildFailed>() || error.is::<BadInput>(),
        };
        if ended {
            state.building = false;
        }
        let result = made.and_then(|cpu| {
            let objects = self.folder.join(TREE).join(OBJECTS);
            for (from, to) in [(VMLINUX, VMLINUX), (".config", CONFIG)] {
                let to = partial.join(to);
                fs::copy(objects.join(from), &to).map_err(|error| writing(error, &to))?;
            }
            files::move_file(&log, &partial.join(LOG))?;
            let (wall_millis, cpu_millis) = (millis(started.elapsed()), millis(cpu));
            let alone =
                Cost { wall_millis, cpu_millis, root_wall_millis: wall_millis, root_cpu_millis: cpu_millis };
            let first = *state.first.get_or_insert(alone);
            let cost = Cost { wall_millis, cpu_millis, ..first };
            entry::seal(partial, key, &target.source, target.patches.clone(), &self.toolchain, cost)
        });
        state.save(&self.folder)?;
        result
    }

    /// Makes the tree what is to be built, and says on the disk that a build has begun.
    fn go_to(&self, target: &Target, events: &Events<'_>, stop: &AtomicBool) -> Result<State> {
        let mut way = None;
        let state = State::load(&self.folder);
        if let Some(state) = &state {
            way = self
                .origin
                .between(&state.base, state.objects.as_deref(), &target.base)?
                .filter(|way| way.len() < FAR);
        }
        let (mut state, way) = match (state, way) {
            (Some(state), Some(way)) => (state, way),
            _ => (self.unpack(target, events, stop)?, Vec::new()),
        };
        state.loose.extend(way);
        state.loose.extend(target.files.keys().cloned());
        let mut nodes = self.origin.nodes(&target.base, &state.loose)?;
        let wanted = state
            .loose
            .iter()
            .map(|name| (name.clone(), target.files.get(name).cloned().unwrap_or_else(|| nodes.remove(name))))
            .collect();
        objects::make_sound(&mut state, self.cache, &self.folder, stop)?;
        state.building = true;
        state.touch();
        state.save(&self.folder)?;
        let changed = settle(&self.folder.join(TREE), &wanted)?;
        state.configured &= !changed.iter().any(|name| touches_config(name));
        state.base.clone_from(&target.base);
        state.objects = self.origin.objects()?;
        state.loose = target.files.keys().cloned().collect();
        state.save(&self.folder)?;
        Ok(state)
    }

    /// Empties the folder and unpacks the tree.
    fn unpack(&self, target: &Target, events: &Events<'_>, stop: &AtomicBool) -> Result<State> {
        self.cache.discard(&self.folder)?;
        fs::create_dir(&self.folder).map_err(|error| writing(error, &self.folder))?;
        self.origin.unpack(self.cache, target, &self.folder.join(TREE), events, stop)?;
        let mut state = State::fresh(target.base.clone());
        state.objects = self.origin.objects()?;
        state.save(&self.folder)?;
        Ok(state)
    }

    /// Configures where that is needed, builds, and gives the CPU time.
    fn make(
        &self,
        state: &mut State,
        log: &Path,
        events: &Events<'_>,
        stop: &AtomicBool,
    ) -> Result<Duration> {
        let tree = self.folder.join(TREE);
        let make = Make {
            tree: &tree,
            log,
            ccache: self.toolchain.ccache,
            cache: self.cache,
            lock: Some(&self.lock),
            events,
            stop,
        };
        let in_full = !tree.join(OBJECTS).exists();
        let mut cpu = Duration::ZERO;
        if !state.configured {
            cpu += make.configure(&self.fragment, &self.folder)?.cpu;
            state.configured = true;
            state.save(&self.folder)?;
        }
        cpu += if in_full { make.vmlinux_in_full()?.cpu } else { make.vmlinux()?.cpu };
        Ok(cpu)
    }

    /// Brings all to the disk, so that it can be trusted even if the machine goes down.
    fn sync(&self) -> Result<()> {
        let Some(mut state) = State::load(&self.folder).filter(|state| !state.synced) else { return Ok(()) };
        let folder =
            File::open(&self.folder).with_context(|| format!("failed to open {}", self.folder.display()))?;
        nix::unistd::syncfs(&folder).map_err(|errno| writing(errno.into(), &self.folder))?;
        state.synced = true;
        state.save(&self.folder)
    }
}

impl Drop for Workspace<'_> {
    fn drop(&mut self) {
        // What is not known to be on the disk is only built again, and that only after the machine went down.
        let _ = self.sync();
    }
}
