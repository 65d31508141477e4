use std::{fs, os::unix::fs::MetadataExt};

use tempfile::TempDir;

use super::*;

fn tree() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("mm")).unwrap();
    fs::write(folder.path().join("mm/a.c"), "1\n2\n3\n4\n5\n6\n7\n").unwrap();
    fs::write(folder.path().join("mm/b.c"), "b\n").unwrap();
    folder
}

fn series(text: &str, revert: bool) -> PatchSeries {
    PatchSeries::parse("x.patch", text.as_bytes(), revert).unwrap()
}

const CHANGE: &str = "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,7 +1,7 @@\n 1\n 2\n 3\n-4\n+four\n 5\n 6\n 7\n";

fn failure(tree: &Path, series: &[PatchSeries]) -> String {
    apply(tree, series).unwrap_err().to_string()
}

#[test]
fn a_clone_is_changed_and_what_it_shares_is_not() {
    let (pristine, clone) = (tree(), tempfile::tempdir().unwrap());
    fs::create_dir(clone.path().join("mm")).unwrap();
    for name in ["mm/a.c", "mm/b.c"] {
        fs::hard_link(pristine.path().join(name), clone.path().join(name)).unwrap();
    }
    let changes = apply(pristine.path(), &[series(CHANGE, false)]).unwrap();
    changes.write(clone.path()).unwrap();
    assert!(fs::read_to_string(clone.path().join("mm/a.c")).unwrap().contains("four"));
    assert!(!fs::read_to_string(pristine.path().join("mm/a.c")).unwrap().contains("four"));
    assert_eq!(pristine.path().join("mm/a.c").metadata().unwrap().nlink(), 1);
    assert_eq!(pristine.path().join("mm/b.c").metadata().unwrap().nlink(), 2);
    let again = failure(clone.path(), &[series(CHANGE, false)]);
    assert_eq!(again, "failed to apply patch 1 of 1 (x.patch): it is already in the tree");
    let back = apply(clone.path(), &[series(CHANGE, true)]).unwrap();
    back.write(clone.path()).unwrap();
    assert_eq!(
        fs::read(clone.path().join("mm/a.c")).unwrap(),
        fs::read(pristine.path().join("mm/a.c")).unwrap()
    );
}

#[test]
fn the_kernels_own_patches_are_not_counted_as_the_users() {
    let error = apply_on(tree().path(), &[series(CHANGE, false)], &[series(CHANGE, false)]).unwrap_err();
    assert_eq!(error.to_string(), "failed to apply patch 1 of 1 (x.patch): it is already in the tree");
}

#[test]
fn a_revert_of_what_is_not_there() {
    let error = failure(tree().path(), &[series(CHANGE, true)]);
    assert_eq!(error, "failed to revert patch 1 of 1 (x.patch): it is not in the tree");
}

#[test]
fn which_patch_file_and_hunk() {
    let bad = "--- a/mm/b.c\n+++ b/mm/b.c\n@@ -1 +1 @@\n-x\n+y\n";
    let three = [series(CHANGE, false), series(bad, false), series(bad, false)];
    assert_eq!(
        failure(tree().path(), &three),
        "failed to apply patch 2 of 3 (x.patch): mm/b.c: hunk 1 of 1 (line 3 of the patch, for line 1 of the file) \
         does not match; patch 3 was not tried"
    );
    let missing = failure(tree().path(), &[series(&bad.replace("b.c", "c.c"), false)]);
    assert!(missing.contains("mm/c.c: there is no such file in the tree"), "{missing}");
}

#[test]
fn a_series_builds_on_itself() {
    let second = CHANGE.replace("-4", "-four").replace("+four", "+4");
    let changes = apply(tree().path(), &[series(CHANGE, false), series(&second, false)]).unwrap();
    assert_eq!(changes.applied.len(), 2);
}

#[test]
fn renames_modes_new_and_deleted_files() {
    let tree = tree();
    let text = "diff --git a/mm/b.c b/lib/b.c\nsimilarity index 100%\nrename from mm/b.c\nrename to lib/b.c\n\
        diff --git a/mm/a.c b/mm/a.c\nold mode 100644\nnew mode 100755\n\
        diff --git a/new/n.c b/new/n.c\nnew file mode 100644\n--- /dev/null\n+++ b/new/n.c\n@@ -0,0 +1 @@\n+n\n";
    let forward = series(text, false);
    apply(tree.path(), std::slice::from_ref(&forward)).unwrap().write(tree.path()).unwrap();
    assert_eq!(fs::read_to_string(tree.path().join("lib/b.c")).unwrap(), "b\n");
    assert!(!tree.path().join("mm/b.c").exists());
    assert_eq!(tree.path().join("mm/a.c").metadata().unwrap().mode() & 0o777, 0o755);
    assert_eq!(fs::read_to_string(tree.path().join("new/n.c")).unwrap(), "n\n");
    apply(tree.path(), &[series(text, true)]).unwrap().write(tree.path()).unwrap();
    assert!(tree.path().join("mm/b.c").exists() && !tree.path().join("new/n.c").exists());
}

#[test]
fn fuzz_is_taken_and_told() {
    let tree = tree();
    fs::write(tree.path().join("mm/a.c"), "one\n2\n3\n4\n5\n6\n7\n").unwrap();
    assert_eq!(apply(tree.path(), &[series(CHANGE, false)]).unwrap().applied[0].fuzz, 1);
}

#[test]
fn links() {
    let tree = tree();
    std::os::unix::fs::symlink("/tmp", tree.path().join("out")).unwrap();
    std::os::unix::fs::symlink("a.c", tree.path().join("mm/l.c")).unwrap();
    let through =
        "diff --git a/out/x b/out/x\nnew file mode 100644\n--- /dev/null\n+++ b/out/x\n@@ -0,0 +1 @@\n+n\n";
    let error = failure(tree.path(), &[series(through, false)]);
    assert!(error.contains("outside the tree: out/x: out is a symbolic link"), "{error}");
    let error = failure(tree.path(), &[series(&CHANGE.replace("a.c", "l.c"), false)]);
    assert!(error.contains("it is a symbolic link"), "{error}");
    let make = |target: &str| {
        let text = format!(
            "diff --git a/mm/z b/mm/z\nnew file mode 120000\n--- /dev/null\n+++ b/mm/z\n@@ -0,0 +1 @@\n+{target}\n\\ No newline at end of file\n"
        );
        apply(tree.path(), &[series(&text, false)])
    };
    assert!(make("../../etc").unwrap_err().to_string().contains("outside"));
    assert!(make("/etc").unwrap_err().to_string().contains("outside"));
    make("../lib").unwrap().write(tree.path()).unwrap();
    assert_eq!(fs::read_link(tree.path().join("mm/z")).unwrap(), Path::new("../lib"));
}
