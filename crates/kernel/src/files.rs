//! Copying and hashing trees.

use std::{
    fs::{self, File},
    io::Read,
    os::unix::fs::{MetadataExt, PermissionsExt},
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::{Interrupted, cache::writing, error::bad_input};

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(bytes.len() * 2), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Makes sure that something is what was asked for, by its SHA-256.
///
/// # Errors
/// [`BadInput`](crate::BadInput) with both hashes when it is not.
pub fn expect_sha256(what: &str, found: &str, wanted: &str) -> Result<()> {
    if found == wanted {
        return Ok(());
    }
    Err(bad_input(format!(
        "failed to take {what}: its SHA-256 is not the one asked for\n  wanted {wanted}\n  found  {found}"
    )))
}

/// SHA-256 of bytes, in hexadecimal.
#[must_use]
pub fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// SHA-256 of a file, in hexadecimal.
///
/// # Errors
/// When the file cannot be read.
pub fn sha256_file(path: &Path) -> Result<String> {
    let mut file = File::open(path).with_context(|| format!("failed to open {}", path.display()))?;
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let read = file.read(&mut buffer).with_context(|| format!("failed to read {}", path.display()))?;
        if read == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(buffer.get(..read).unwrap_or_default());
    }
}

/// All files and symbolic links under a folder but `.git`, sorted, relative to it.
///
/// # Errors
/// When a folder cannot be listed.
pub fn walk(root: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let path = root.join(&folder);
        let failed = || format!("failed to list {}", path.display());
        for entry in fs::read_dir(&path).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let name = folder.join(entry.file_name());
            if entry.file_type().with_context(failed)?.is_dir() {
                if entry.file_name() != ".git" {
                    folders.push(name);
                }
            } else {
                found.push(name);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Copies files of one tree into another (contents, symbolic links, the executable bit) and gives the hash of
/// names, modes and contents. A name that is not there is left out: git lists deleted files too.
pub(crate) fn copy_hashed(from: &Path, to: &Path, names: &[PathBuf], stop: &AtomicBool) -> Result<String> {
    let mut hash = Sha256::new();
    let mut field = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    for name in names {
        if stop.load(Ordering::Relaxed) {
            return Err(Interrupted.into());
        }
        let source = from.join(name);
        let Ok(metadata) = source.symlink_metadata() else { continue };
        let target = to.join(name);
        if let Some(parent) = target.parent() {
            fs::create_dir_all(parent).map_err(|error| writing(error, parent))?;
        }
        let failed = || format!("failed to read {}", source.display());
        field(name.as_os_str().as_encoded_bytes());
        if metadata.is_symlink() {
            let link = fs::read_link(&source).with_context(failed)?;
            field(b"link");
            field(link.as_os_str().as_encoded_bytes());
            std::os::unix::fs::symlink(&link, &target).map_err(|error| writing(error, &target))?;
        } else if metadata.is_file() {
            let executable = metadata.mode() & 0o111 != 0;
            let contents = fs::read(&source).with_context(failed)?;
            field(if executable { b"executable" } else { b"file" });
            field(&contents);
            fs::write(&target, &contents).map_err(|error| writing(error, &target))?;
            let mode = if executable { 0o755 } else { 0o644 };
            fs::set_permissions(&target, fs::Permissions::from_mode(mode))
                .map_err(|error| writing(error, &target))?;
        }
    }
    Ok(hex(&hash.finalize()))
}

/// Writes a file so that other names of its old contents (hard links) keep them.
pub(crate) fn replace(path: &Path, contents: &[u8], mode: u32) -> Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).map_err(|error| writing(error, parent))?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".mthp-new");
    let fresh = path.with_file_name(name);
    fs::write(&fresh, contents)
        .and_then(|()| fs::set_permissions(&fresh, fs::Permissions::from_mode(mode)))
        .and_then(|()| fs::rename(&fresh, path))
        .map_err(|error| writing(error, path))
}

/// Moves a file or folder within the cache.
pub(crate) fn move_file(from: &Path, to: &Path) -> Result<()> {
    fs::rename(from, to).with_context(|| format!("failed to move {} to {}", from.display(), to.display()))
}
