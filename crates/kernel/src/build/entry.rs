//! A kernel's folder in the cache.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use super::{
    BuiltKernel, Cost, KernelIdentity,
    identity::{PatchIdentity, Stored},
};
use crate::{SourceIdentity, files, toolchain::Toolchain};

/// Names in a kernel's folder, and in a root's.
pub(crate) const VMLINUX: &str = "vmlinux";
pub(crate) const CONFIG: &str = "config";
pub(crate) const LOG: &str = "build.log";
pub(super) const STORED: &str = "identity.json";

/// Reads a kernel. The same files may have come from another place; the place is the caller's.
pub(crate) fn read(entry: &Path, source: &SourceIdentity, from_cache: bool) -> Result<BuiltKernel> {
    let Stored { mut identity, cost } = Stored::read(&entry.join(STORED))?;
    identity.source = source.clone();
    Ok(BuiltKernel {
        vmlinux: entry.join(VMLINUX),
        config: entry.join(CONFIG),
        log: entry.join(LOG),
        identity,
        from_cache,
        cost,
    })
}

/// Completes a folder that has image, config and log: says what they are.
pub(crate) fn seal(
    entry: &Path,
    key: &str,
    source: &SourceIdentity,
    patches: Vec<PatchIdentity>,
    toolchain: &Toolchain,
    cost: Cost,
) -> Result<()> {
    let config = entry.join(CONFIG);
    let contents = fs::read(&config).with_context(|| format!("failed to read {}", config.display()))?;
    let identity = KernelIdentity {
        key: key.to_owned(),
        source: source.clone(),
        patches,
        config_sha256: files::sha256(&contents),
        compiler: toolchain.version.clone(),
        vmlinux_sha256: files::sha256_file(&entry.join(VMLINUX))?,
    };
    Stored { identity, cost }.write(&entry.join(STORED))
}
