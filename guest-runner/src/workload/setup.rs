//! The guest as a scenario wants it: the disk, the THP settings, the tmpfs.

use std::{fs, os::unix::fs::symlink, path::Path};

use anyhow::{Context, Result};
use mthp_record::workload::{LIBRARIES, PROGRAM, ROOT, Scenario, Tensors};
use nix::{
    mount::{MsFlags, mount},
    sched::{CloneFlags, unshare},
};

use crate::{init, thp};

/// The disk that the host attached.
const DISK: &str = "/dev/vda";
/// Where programs expect the loader of shared libraries.
const LOADER_FOLDER: &str = "/lib64";
/// khugepaged's pause where it is awake: short, so that it acts within an inference.
const AWAKE_MILLISECS: &str = "100";

/// Mounts the workload's disk, unless an earlier scenario of the boot did.
fn mount_disk() -> Result<()> {
    if Path::new(ROOT).join(PROGRAM).exists() {
        return Ok(());
    }
    fs::create_dir_all(ROOT).with_context(|| format!("failed to create {ROOT}"))?;
    mount(Some(DISK), ROOT, Some("squashfs"), MsFlags::MS_RDONLY, None::<&str>)
        .with_context(|| format!("failed to mount {DISK} on {ROOT}"))?;
    symlink(Path::new(ROOT).join(LIBRARIES), LOADER_FOLDER)
        .with_context(|| format!("failed to make {LOADER_FOLDER}"))
}

/// Sets the guest up for a scenario. The runner restores the settings after the test; the disk stays for the next
/// one, a tmpfs ends with this process.
///
/// # Errors
/// When a setting cannot be written, or the disk or the tmpfs not be mounted.
pub fn prepare(scenario: &Scenario) -> Result<()> {
    mount_disk()?;
    thp::set("enabled", scenario.thp.word())?;
    // What a kernel as it comes does at a fault of an advised mapping, and at no other.
    thp::set("defrag", "madvise")?;
    for kib in &scenario.mthp_kib {
        thp::set(thp::size_dir(*kib).join("enabled"), "inherit")?;
    }
    if scenario.khugepaged {
        thp::set("khugepaged/scan_sleep_millisecs", AWAKE_MILLISECS)?;
        thp::set("khugepaged/alloc_sleep_millisecs", AWAKE_MILLISECS)?;
    }
    if let Tensors::Tmpfs { folder } = &scenario.order.tensors {
        unshare(CloneFlags::CLONE_NEWNS).context("failed to leave the common mounts")?;
        fs::create_dir_all(folder).with_context(|| format!("failed to create {folder}"))?;
        init::mount_at("tmpfs", folder, Some("huge=always"))
            .with_context(|| format!("failed to mount a tmpfs on {folder}"))?;
    }
    Ok(())
}
