//! A file or a symbolic link of a tree.

use std::{
    ffi::OsStr,
    fs, io,
    io::ErrorKind,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::Path,
};

use anyhow::{Context, Result};

use crate::{cache::writing, files};

/// The mode of a symbolic link, as git has it.
pub(crate) const LINK: u32 = 0o120_000;
/// The bits of a mode that tell a file from a link.
pub(crate) const KIND: u32 = 0o170_000;

/// What a file or link is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    /// A link's target, for a link.
    pub contents: Vec<u8>,
    /// As git has it: only the kind and the executable bits matter.
    pub mode: u32,
}

/// What is found under a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    Nothing,
    Node(Node),
    /// A folder, or what has no place in a source tree.
    Other,
}

impl Node {
    pub(crate) fn read(path: &Path) -> io::Result<Found> {
        let metadata = match path.symlink_metadata() {
            Ok(metadata) => metadata,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                return Ok(Found::Nothing);
            }
            Err(error) => return Err(error),
        };
        if metadata.is_symlink() {
            let contents = fs::read_link(path)?.into_os_string().into_encoded_bytes();
            return Ok(Found::Node(Self { contents, mode: LINK }));
        }
        if !metadata.is_file() {
            return Ok(Found::Other);
        }
        let mode = if metadata.permissions().mode() & 0o111 != 0 { 0o100_755 } else { 0o100_644 };
        Ok(Found::Node(Self { contents: fs::read(path)?, mode }))
    }

    /// Writes it as a new file: other names (hard links) of what was there keep that.
    pub(crate) fn write(&self, path: &Path) -> Result<()> {
        if !self.is_link() {
            return files::replace(path, &self.contents, if self.is_executable() { 0o755 } else { 0o644 });
        }
        remove(path)?;
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(|error| writing(error, parent))?;
        }
        std::os::unix::fs::symlink(OsStr::from_bytes(&self.contents), path)
            .map_err(|error| writing(error, path))
    }

    pub(crate) fn is_link(&self) -> bool {
        self.mode & KIND == LINK
    }

    fn is_executable(&self) -> bool {
        self.mode & 0o111 != 0
    }

    /// Whether both make the same file.
    pub(crate) fn same(&self, other: &Self) -> bool {
        self.is_link() == other.is_link()
            && (self.is_link() || self.is_executable() == other.is_executable())
            && self.contents == other.contents
    }
}

/// Removes a file or link, if it is there.
pub(crate) fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(error).with_context(|| format!("failed to remove {}", path.display()))
        }
        _ => Ok(()),
    }
}
