//! The workload's disk: a squashfs that depends on nothing but the files in it.

mod object;
mod squashfs;

use std::{
    collections::BTreeMap,
    fmt::Write,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, bail};
use mthp_kernel::{
    Cache, Events,
    cache::{Kind, writing},
    files,
};
use mthp_record::workload::{IMAGE, LIBRARIES, MODEL, PROGRAM};
use serde::{Deserialize, Serialize};

use crate::{Part, Parts};

const IMAGE_FILE: &str = "workload.squashfs";
const LIST_FILE: &str = "workload.json";

/// A disk, ready to be given to a guest, read-only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disk {
    /// The squashfs image.
    pub path: PathBuf,
    /// Its SHA-256.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
    /// What is on it, sorted by path.
    pub files: Vec<DiskFile>,
}

/// A file on a [`Disk`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DiskFile {
    /// Its path on the disk.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: String,
}

/// What is kept beside the image.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    sha256: String,
    files: Vec<DiskFile>,
}

/// Builds the disk of a workload and its program, or finds it in the cache. The libraries both need from this
/// machine (the C and C++ runtime) go onto it too.
///
/// # Errors
/// [`BadInput`](mthp_kernel::BadInput) when a library that is needed is not here, when the program or a library is
/// not for x86-64 and glibc, or when two libraries claim a name; [`Interrupted`](mthp_kernel::Interrupted); and what
/// mksquashfs and the disk fail with.
pub fn build(
    parts: &Parts,
    program: &Path,
    cache: &Cache,
    events: &Events<'_>,
    stop: &AtomicBool,
) -> Result<Disk> {
    let layout = layout(parts, program)?;
    let key = key(&layout, &squashfs::identity()?);
    let made = cache.produce(Kind::Disk, &key, "the workload's disk", events, stop, |partial| {
        make(&layout, partial, stop)
    })?;
    open(&made.path)
}

/// Which file goes where; ordered, so that it hashes the same.
type Layout = BTreeMap<String, Part>;

fn layout(parts: &Parts, program: &Path) -> Result<Layout> {
    let program = part(program)?;
    let mut layout: Layout = object::libraries(&program, &parts.libraries)?
        .into_iter()
        .map(|(name, part)| (format!("{LIBRARIES}/{name}"), part))
        .collect();
    layout.insert(PROGRAM.to_owned(), program);
    layout.insert(MODEL.to_owned(), parts.model.clone());
    layout.insert(IMAGE.to_owned(), parts.image.clone());
    Ok(layout)
}

/// A file of this machine.
fn part(path: &Path) -> Result<Part> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Part { name, path: path.to_owned(), sha256: files::sha256_file(path)? })
}

fn key(layout: &Layout, squashfs: &str) -> String {
    let text = layout.iter().fold(format!("{squashfs}\n"), |mut text, (path, part)| {
        let _ = writeln!(text, "{} {path}", part.sha256);
        text
    });
    files::sha256(text.as_bytes())
}

fn make(layout: &Layout, partial: &Path, stop: &AtomicBool) -> Result<()> {
    let tree = partial.join("tree");
    let mut list = Vec::with_capacity(layout.len());
    for (path, part) in layout {
        let target = tree.join(path);
        let folder = target.parent().unwrap_or(&tree);
        fs::create_dir_all(folder).map_err(|error| writing(error, folder))?;
        let bytes = fs::copy(&part.path, &target)
            .with_context(|| format!("failed to copy {} to {}", part.path.display(), target.display()))?;
        // The cache keeps what was checked when it came; what goes onto a disk is what its list says.
        let found = files::sha256_file(&target)?;
        if found != part.sha256 {
            bail!(
                "failed to use {}: it was altered after it was checked; delete it\n  wanted {}\n  found  {found}",
                part.path.display(),
                part.sha256
            );
        }
        // The umask and the original's mode must not show.
        for path in [&tree, folder, &target] {
            fs::set_permissions(path, fs::Permissions::from_mode(0o755))
                .map_err(|error| writing(error, path))?;
        }
        list.push(DiskFile { path: path.clone(), bytes, sha256: part.sha256.clone() });
    }
    let image = partial.join(IMAGE_FILE);
    squashfs::make(&tree, &image, stop)?;
    fs::remove_dir_all(&tree).with_context(|| format!("failed to remove {}", tree.display()))?;
    let list = List { sha256: files::sha256_file(&image)?, files: list };
    let path = partial.join(LIST_FILE);
    let text = serde_json::to_vec_pretty(&list).context("failed to write down a disk's files")?;
    fs::write(&path, text).map_err(|error| writing(error, &path))
}

fn open(entry: &Path) -> Result<Disk> {
    let list = entry.join(LIST_FILE);
    let failed = || format!("failed to read {}", list.display());
    let List { sha256, files } =
        serde_json::from_slice(&fs::read(&list).with_context(failed)?).with_context(failed)?;
    let path = entry.join(IMAGE_FILE);
    let found = files::sha256_file(&path)?;
    if found != sha256 {
        bail!(
            "failed to use {}: it was altered after it was built; delete its folder\n  wanted {sha256}\n  found  {found}",
            path.display()
        );
    }
    let bytes = path.metadata().with_context(|| format!("failed to read {}", path.display()))?.len();
    Ok(Disk { path, sha256, bytes, files })
}

#[cfg(test)]
mod tests;
