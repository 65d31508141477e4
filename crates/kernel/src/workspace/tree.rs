//! Makes files of a tree what they should be. Those that are it already keep their time of change, so that make
//! has nothing to do for them.

use std::{fs, path::Path};

use anyhow::{Context, Result};

use crate::patch::{Files, Found, Node, remove};

/// Makes files of a tree as given (none: not there), and gives the names of those that were not. Written files are
/// new: other names (hard links) of the old ones keep those.
///
/// # Errors
/// What the disk fails with. Files are then in part as they were; a second call goes on.
pub(super) fn settle(tree: &Path, wanted: &Files) -> Result<Vec<String>> {
    let mut changed = Vec::new();
    // First what goes: a file may be in the place of a folder to come, and the other way round.
    for (name, _) in wanted.iter().filter(|(_, node)| node.is_none()) {
        // Behind a link lies another file, which is not meant.
        if !behind_link(tree, name) && matches!(found(tree, name)?, Found::Node(_)) {
            remove(&tree.join(name))?;
            remove_empty_folders(tree, name);
            changed.push(name.clone());
        }
    }
    for (name, node) in wanted {
        let Some(node) = node else { continue };
        if !matches!(found(tree, name)?, Found::Node(there) if there.same(node)) {
            node.write(&tree.join(name))?;
            changed.push(name.clone());
        }
    }
    Ok(changed)
}

fn found(tree: &Path, name: &str) -> Result<Found> {
    let path = tree.join(name);
    Node::read(&path).with_context(|| format!("failed to read {}", path.display()))
}

fn folders(name: &str) -> impl DoubleEndedIterator<Item = &str> {
    name.match_indices('/').filter_map(|(at, _)| name.get(..at))
}

fn behind_link(tree: &Path, name: &str) -> bool {
    folders(name).any(|folder| tree.join(folder).is_symlink())
}

fn remove_empty_folders(tree: &Path, name: &str) {
    for folder in folders(name).rev() {
        // What is not empty stays.
        if fs::remove_dir(tree.join(folder)).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs::File,
        os::unix::fs::{MetadataExt, PermissionsExt, symlink},
        time::SystemTime,
    };

    use super::*;

    fn file(text: &str) -> Option<Node> {
        Some(Node { contents: text.into(), mode: 0o100_644 })
    }

    fn wanted(files: &[(&str, Option<Node>)]) -> Files {
        files.iter().map(|(name, node)| ((*name).to_owned(), node.clone())).collect()
    }

    #[test]
    fn only_what_differs_is_written_and_hard_links_keep_the_old() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, other) = (folder.path().join("tree"), folder.path().join("other"));
        fs::create_dir_all(tree.join("mm")).unwrap();
        fs::write(tree.join("mm/a.c"), "a").unwrap();
        fs::write(tree.join("mm/b.c"), "b").unwrap();
        fs::hard_link(tree.join("mm/b.c"), &other).unwrap();
        File::open(tree.join("mm/a.c")).unwrap().set_modified(SystemTime::UNIX_EPOCH).unwrap();
        let files = wanted(&[
            ("mm/a.c", file("a")),
            ("mm/b.c", file("B")),
            ("mm/new/c.c", file("c")),
            ("mm/none", None),
        ]);
        assert_eq!(settle(&tree, &files).unwrap(), ["mm/b.c", "mm/new/c.c"]);
        assert_eq!(tree.join("mm/a.c").metadata().unwrap().modified().unwrap(), SystemTime::UNIX_EPOCH);
        assert_eq!(fs::read_to_string(&other).unwrap(), "b");
        assert_eq!(fs::read_to_string(tree.join("mm/b.c")).unwrap(), "B");
        assert!(settle(&tree, &files).unwrap().is_empty());
        let executable = Some(Node { contents: "a".into(), mode: 0o100_755 });
        assert_eq!(settle(&tree, &wanted(&[("mm/a.c", executable)])).unwrap(), ["mm/a.c"]);
        assert_eq!(tree.join("mm/a.c").metadata().unwrap().permissions().mode() & 0o111, 0o111);
    }

    #[test]
    fn a_folder_a_file_and_a_link_take_each_others_place() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path();
        let link = |to: &str| Some(Node { contents: to.into(), mode: 0o120_000 });
        let shapes = [
            wanted(&[("x", file("x")), ("x/y", None), ("x/z/w", None)]),
            wanted(&[("x", None), ("x/y", file("y")), ("x/z/w", file("w"))]),
            wanted(&[("x", link("elsewhere")), ("x/y", None), ("x/z/w", None)]),
            wanted(&[("x", None), ("x/y", None), ("x/z/w", file("w"))]),
            wanted(&[("x", None), ("x/y", None), ("x/z/w", None)]),
        ];
        for from in &shapes {
            for to in &shapes {
                settle(tree, from).unwrap();
                settle(tree, to).unwrap();
                assert!(settle(tree, to).unwrap().is_empty());
                assert_eq!(tree.join("x").symlink_metadata().is_ok(), to.values().any(Option::is_some));
            }
        }
    }

    #[test]
    fn what_lies_behind_a_link_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir(&tree).unwrap();
        fs::write(folder.path().join("mine"), "mine").unwrap();
        symlink("..", tree.join("x")).unwrap();
        assert!(settle(&tree, &wanted(&[("x/mine", None)])).unwrap().is_empty());
        assert_eq!(folder.path().join("mine").metadata().unwrap().nlink(), 1);
    }
}
