//! What a workspace knows of itself, on disk before each step that could be cut off.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use crate::{Cost, files};

/// The state of a workspace's tree and objects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    /// What the tree is: a commit, or a pristine tree's name.
    pub base: String,
    /// Where a commit's objects lay.
    #[serde(default)]
    pub objects: Option<PathBuf>,
    /// Files that may be other than there.
    pub loose: BTreeSet<String>,
    /// Whether the `.config` is the one of the tree.
    pub configured: bool,
    /// Whether a build is under way; if it still is when nobody builds, the objects cannot be trusted.
    pub building: bool,
    /// What the first build took, once there was one that succeeded.
    pub first: Option<Cost>,
    /// The boot of the machine in which this was written.
    pub boot: String,
    /// Whether all of it reached the disk.
    pub synced: bool,
}

const FILE: &str = "state.json";

impl State {
    /// A tree that was just unpacked, with no objects yet.
    pub(super) fn fresh(base: String) -> Self {
        Self {
            base,
            objects: None,
            loose: BTreeSet::new(),
            configured: false,
            building: false,
            first: None,
            boot: boot(),
            synced: false,
        }
    }

    /// Reads it. None for a folder that is not to be trusted: that of another version of this program, one that was
    /// being unpacked, or one that the machine went down on before it reached the disk.
    pub(super) fn load(folder: &Path) -> Option<Self> {
        let state: Self = serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()?;
        (state.synced || state.boot == boot()).then_some(state)
    }

    pub(super) fn save(&self, folder: &Path) -> Result<()> {
        let text = serde_json::to_vec(self).context("failed to write JSON")?;
        files::replace(&folder.join(FILE), &text, 0o644)
    }

    /// Says that from now on the folder is other than what is on the disk.
    pub(super) fn touch(&mut self) {
        self.synced = false;
        self.boot = boot();
    }
}

/// Another for each time the machine starts.
fn boot() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_reached_the_disk_outlives_a_boot() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(State::load(folder.path()), None);
        let mut state = State::fresh("x".into());
        state.save(folder.path()).unwrap();
        assert_eq!(State::load(folder.path()).as_ref(), Some(&state));
        state.boot = "another".into();
        state.save(folder.path()).unwrap();
        assert_eq!(State::load(folder.path()), None);
        state.synced = true;
        state.save(folder.path()).unwrap();
        assert_eq!(State::load(folder.path()).as_ref(), Some(&state));
        fs::write(folder.path().join(FILE), "{}").unwrap();
        assert_eq!(State::load(folder.path()), None);
    }
}
