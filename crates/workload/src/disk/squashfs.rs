//! mksquashfs, so that the same files give the same image.

use std::{path::Path, process::Command, sync::atomic::AtomicBool};

use anyhow::{Context, Result};
use mthp_kernel::process;

/// Measured on the files of YOLOv5 (170 MB): 63.6 MB; blocks of 32 KiB to 1 MiB give 69 to 62 MB, and a program's first
/// run reads nearly all of the image and costs the same with each (0.2 s of a native CPU for unpacking). Level 19 saves
/// half a percent for a longer build.
const OPTIONS: &[&str] = &[
    "-comp",
    "zstd",
    "-Xcompression-level",
    "15",
    "-b",
    "128K",
    "-all-root",
    "-no-xattrs",
    "-no-exports",
    "-all-time",
    "0",
    "-mkfs-time",
    "0",
    "-noappend",
    "-no-progress",
    "-quiet",
];

/// All that an image depends on beside its files: the version and the options.
pub(super) fn identity() -> Result<String> {
    let text = process::capture(Command::new("mksquashfs").arg("-version").env("LC_ALL", "C"))?;
    let version = String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned();
    Ok(format!("{version}\n{}", OPTIONS.join(" ")))
}

/// Packs a folder into an image.
pub(super) fn make(folder: &Path, image: &Path, stop: &AtomicBool) -> Result<()> {
    let mut mksquashfs = Command::new("mksquashfs");
    mksquashfs.arg(folder).arg(image).args(OPTIONS);
    // It refuses the variable beside the options that say the same.
    mksquashfs.env_remove("SOURCE_DATE_EPOCH").env("LC_ALL", "C");
    process::run_quiet(&mut mksquashfs, stop)
        .with_context(|| format!("failed to pack {}", folder.display()))?;
    Ok(())
}
