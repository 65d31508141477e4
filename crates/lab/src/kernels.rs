//! A built kernel as reports have it.

use anyhow::Result;
use mthp_judge::report::{KernelRecord, PatchRecord, SourceRecord};
use mthp_kernel::BuiltKernel;

/// Everything that went into a kernel and what came out, under a short name for people.
///
/// # Errors
/// When its source's kind cannot be written.
pub(crate) fn record(label: &str, kernel: &BuiltKernel) -> Result<KernelRecord> {
    let identity = &kernel.identity;
    let kind = serde_json::to_value(identity.source.kind)?;
    Ok(KernelRecord {
        label: label.to_owned(),
        key: identity.key.clone(),
        source: SourceRecord {
            kind: kind.as_str().unwrap_or_default().to_owned(),
            what: identity.source.what.clone(),
            version: identity.source.version.clone(),
            package_version: identity.source.package_version.clone(),
            hash: identity.source.hash.clone(),
        },
        patches: identity
            .patches
            .iter()
            .map(|patch| PatchRecord {
                name: patch.name.clone(),
                subject: Some(patch.subject.clone()).filter(|subject| !subject.is_empty()),
                sha256: patch.sha256.clone(),
                reverted: patch.reverted,
            })
            .collect(),
        config_sha256: identity.config_sha256.clone(),
        compiler: identity.compiler.clone(),
        vmlinux_sha256: identity.vmlinux_sha256.clone(),
        build_log: None,
        config: None,
    })
}
