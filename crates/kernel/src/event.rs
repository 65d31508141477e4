//! What happens, for whoever shows it.

use crate::PatchError;

/// One step of fetching or building.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// A source is being downloaded.
    Downloading(String),
    /// A source is being unpacked or copied into the cache.
    Unpacking(String),
    /// A source is being hashed.
    Hashing(String),
    /// Another run holds what is needed here; this one waits for it.
    WaitingForLock(String),
    /// The tree is being configured.
    Configuring,
    /// A built tree is being cloned, to be patched and built further.
    Cloning,
    /// The kernel is being built.
    Building {
        /// Steps of the build (objects compiled, archives, links) done so far.
        done: u64,
        /// How many an earlier full build took; unknown for the first one and for incremental builds.
        expected: Option<u64>,
    },
    /// A patch that was wanted on top of a revision is in it already (or, for a revert, is not in it): it is left out.
    PatchLeftOut(PatchError),
    /// The kernel was in the cache already, under this key.
    Cached(String),
    /// The kernel is built and stored.
    Built {
        /// Its key in the cache.
        key: String,
        /// What building it took on the wall's clock.
        wall_millis: u64,
    },
}

/// Who is told about events.
pub type Events<'a> = dyn Fn(Event) + Sync + 'a;
