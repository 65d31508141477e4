//! The objects that the next build begins from.

use std::{path::Path, sync::atomic::AtomicBool};

use anyhow::Result;

use super::{TREE, mirror::mirror, state::State};
use crate::{Cache, build::make::OBJECTS};

/// Where those of the last build that came to an end are kept.
const SNAPSHOT: &str = "objects";

/// Keeps the objects of a build that came to an end, or brings the kept ones back after one that did not.
pub(super) fn make_sound(
    state: &mut State,
    cache: &Cache,
    workspace: &Path,
    stop: &AtomicBool,
) -> Result<()> {
    let objects = workspace.join(TREE).join(OBJECTS);
    let snapshot = workspace.join(SNAPSHOT);
    if state.building {
        // It may be that of another revision.
        state.configured = false;
        return if snapshot.is_dir() { mirror(&snapshot, &objects, stop) } else { cache.discard(&objects) };
    }
    if objects.is_dir() { mirror(&objects, &snapshot, stop) } else { Ok(()) }
}
