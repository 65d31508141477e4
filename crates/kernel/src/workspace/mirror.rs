//! Makes one folder what another is, copying only what differs.

use std::{
    collections::BTreeSet,
    ffi::OsString,
    fs::{self, File, Metadata},
    os::unix::fs::MetadataExt,
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use anyhow::{Context, Result};

use crate::{Interrupted, cache::writing, patch::remove};

/// Makes `to` what `from` is: contents, modes and times of files, and links. A file of the same size, mode and time of
/// change is taken to be the same.
///
/// # Errors
/// What the disk fails with; [`Interrupted`]. `to` is then neither what it was nor what it should be, and a
/// second call goes on.
pub(super) fn mirror(from: &Path, to: &Path, stop: &AtomicBool) -> Result<()> {
    if stop.load(Ordering::Relaxed) {
        return Err(Interrupted.into());
    }
    if !to.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        remove(to)?;
        fs::create_dir_all(to).map_err(|error| writing(error, to))?;
    }
    let names = names(from)?;
    for name in self::names(to)?.difference(&names) {
        remove_all(&to.join(name))?;
    }
    for name in &names {
        let (source, target) = (from.join(name), to.join(name));
        let metadata = metadata(&source)?;
        if metadata.is_dir() {
            mirror(&source, &target, stop)?;
        } else {
            copy(&source, &metadata, &target)?;
        }
    }
    Ok(())
}

fn copy(source: &Path, metadata: &Metadata, target: &Path) -> Result<()> {
    if let Ok(there) = target.symlink_metadata() {
        let stamp = |of: &Metadata| (of.mode(), of.len(), of.mtime(), of.mtime_nsec());
        if !metadata.is_symlink() && stamp(&there) == stamp(metadata) {
            return Ok(());
        }
        remove_all(target)?;
    }
    if metadata.is_symlink() {
        let link = fs::read_link(source).with_context(|| format!("failed to read {}", source.display()))?;
        return std::os::unix::fs::symlink(link, target).map_err(|error| writing(error, target));
    }
    let modified = metadata.modified().with_context(|| format!("failed to read {}", source.display()))?;
    // The time comes last: a file that was copied in part has another.
    fs::copy(source, target)
        .and_then(|_| File::open(target)?.set_modified(modified))
        .map_err(|error| writing(error, target))
}

fn metadata(path: &Path) -> Result<Metadata> {
    path.symlink_metadata().with_context(|| format!("failed to read {}", path.display()))
}

fn names(folder: &Path) -> Result<BTreeSet<OsString>> {
    let failed = || format!("failed to list {}", folder.display());
    let entries = fs::read_dir(folder).with_context(failed)?;
    entries.map(|entry| Ok(entry.with_context(failed)?.file_name())).collect()
}

fn remove_all(path: &Path) -> Result<()> {
    if metadata(path)?.is_dir() {
        return fs::remove_dir_all(path).with_context(|| format!("failed to remove {}", path.display()));
    }
    remove(path)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn listing(folder: &Path) -> Vec<(String, String)> {
        let mut found = Vec::new();
        for name in names(folder).unwrap() {
            let path = folder.join(&name);
            let data = metadata(&path).unwrap();
            let shown = name.to_string_lossy().into_owned();
            if data.is_dir() {
                found.push((shown.clone(), "folder".to_owned()));
                found
                    .extend(listing(&path).into_iter().map(|(name, what)| (format!("{shown}/{name}"), what)));
            } else if data.is_symlink() {
                found.push((shown, format!("to {}", fs::read_link(path).unwrap().display())));
            } else {
                let text = fs::read_to_string(path).unwrap();
                found.push((shown, format!("{text} {:o} {:?}", data.mode(), data.modified().unwrap())));
            }
        }
        found
    }

    #[test]
    fn whatever_was_there_becomes_the_same() {
        let stop = AtomicBool::new(false);
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::create_dir_all(from.join("mm/deep")).unwrap();
        fs::write(from.join("mm/a.o"), "a").unwrap();
        fs::write(from.join("mm/deep/b.o"), "b").unwrap();
        fs::write(from.join("was-a-folder"), "x").unwrap();
        fs::write(from.join("was-a-link"), "y").unwrap();
        symlink("mm/a.o", from.join("link")).unwrap();
        fs::create_dir_all(from.join("was-a-file")).unwrap();
        fs::create_dir_all(to.join("was-a-folder/more")).unwrap();
        fs::create_dir_all(to.join("gone/more")).unwrap();
        fs::create_dir_all(to.join("mm")).unwrap();
        fs::write(to.join("mm/a.o"), "other").unwrap();
        fs::write(to.join("was-a-file"), "z").unwrap();
        symlink(from.join("mm/a.o"), to.join("was-a-link")).unwrap();
        symlink("elsewhere", to.join("link")).unwrap();
        mirror(&from, &to, &stop).unwrap();
        assert_eq!(listing(&to), listing(&from));
        // Nothing is shared, and what is the same already is not written.
        let inode = to.join("mm/a.o").metadata().unwrap().ino();
        fs::write(from.join("mm/deep/b.o"), "c").unwrap();
        mirror(&from, &to, &stop).unwrap();
        assert_eq!(listing(&to), listing(&from));
        assert_eq!(to.join("mm/a.o").metadata().unwrap().ino(), inode);
        assert!(inode != from.join("mm/a.o").metadata().unwrap().ino());
    }
}
