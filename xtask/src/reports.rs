//! Reports that lie in a folder and in folders below it, as a workflow's artifacts do.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use mthp_kernel::BadInput;

/// All files of that name in a folder and below it, sorted. Links are not followed.
///
/// # Errors
/// [`BadInput`] when there is no such folder; or a folder below it cannot be listed.
pub fn find(folder: &Path, name: &str) -> Result<Vec<PathBuf>> {
    if !folder.is_dir() {
        return Err(BadInput(format!("failed to find the folder {}", folder.display())).into());
    }
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let failed = || format!("failed to list {}", folder.display());
        for entry in fs::read_dir(&folder).with_context(failed)? {
            let entry = entry.with_context(failed)?;
            let kind = entry.file_type().with_context(failed)?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if kind.is_file() && entry.file_name() == name {
                found.push(entry.path());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// A report's text.
///
/// # Errors
/// [`BadInput`] when it cannot be read, or is not text.
pub fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path)
        .map_err(|error| BadInput(format!("failed to read {}: {error}", path.display())).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_are_found_at_any_depth_and_links_are_left_alone() {
        let place = tempfile::tempdir().unwrap();
        let root = place.path();
        for path in ["b/deep/x.json", "a/x.json", "a/y.json"] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        std::os::unix::fs::symlink("..", root.join("a/around")).unwrap();
        let found = find(root, "x.json").unwrap();
        assert_eq!(found, [root.join("a/x.json"), root.join("b/deep/x.json")]);
        assert!(find(&root.join("gone"), "x.json").unwrap_err().is::<BadInput>());
    }
}
