//! What a built kernel is, and what it took.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{SourceIdentity, files, patch::Applied};

/// Exactly which kernel it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct KernelIdentity {
    /// Hash of all that went into it.
    pub key: String,
    /// Its source.
    pub source: SourceIdentity,
    /// The patches on it, in order.
    pub patches: Vec<PatchIdentity>,
    /// SHA-256 of its `.config`.
    pub config_sha256: String,
    /// The compiler and the linker.
    pub compiler: String,
    /// SHA-256 of the image. Builds are reproducible: the same image means that nothing built is different.
    pub vmlinux_sha256: String,
}

/// One patch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct PatchIdentity {
    /// The file it came from.
    pub name: String,
    /// Its subject, or its name.
    pub subject: String,
    /// SHA-256 of its text, mail encoding taken off.
    pub sha256: String,
    /// Context lines ignored to make it apply; 0 if it fits exactly.
    pub fuzz: usize,
    /// Whether it was taken out of the tree.
    pub reverted: bool,
}

impl From<&Applied> for PatchIdentity {
    fn from(applied: &Applied) -> Self {
        let Applied { name, subject, sha256, fuzz, reverted } = applied.clone();
        Self { name, subject, sha256, fuzz, reverted }
    }
}

/// What a build took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cost {
    /// On the wall's clock, from the clone of the tree on; waiting for other runs is left out.
    pub wall_millis: u64,
    /// CPU time of all programs that took part, copying included.
    pub cpu_millis: u64,
    /// The same for the full build whose objects were used.
    pub root_wall_millis: u64,
    /// CPU time of that build.
    pub root_cpu_millis: u64,
}

/// What the cache keeps beside a kernel.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Stored {
    pub identity: KernelIdentity,
    pub cost: Cost,
}

#[derive(Debug, Serialize, Deserialize)]
struct RootStored {
    cost: Cost,
}

impl Stored {
    pub(super) fn read(path: &Path) -> Result<Self> {
        read(path)
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        write(self, path)
    }

    /// What a root build took.
    pub(super) fn cost(path: &Path) -> Result<Cost> {
        read::<RootStored>(path).map(|root| root.cost)
    }

    pub(super) fn write_cost(cost: Cost, path: &Path) -> Result<()> {
        write(&RootStored { cost }, path)
    }
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T> {
    let text = fs::read(path).with_context(|| format!("failed to read {}", path.display()))?;
    serde_json::from_slice(&text).with_context(|| format!("failed to understand {}", path.display()))
}

fn write(value: &impl Serialize, path: &Path) -> Result<()> {
    let text = serde_json::to_vec_pretty(value).context("failed to write JSON")?;
    files::replace(path, &text, 0o644)
}
