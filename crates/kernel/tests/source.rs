//! Sources: what is taken, what is refused, and that nothing of the user's is written.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::fs;

use common::{World, snapshot};
use mthp_kernel::{BadInput, SourceSpec, source::SourceKind};
use sha2::{Digest, Sha256};

fn tree(world: &World, revision: Option<&str>, dirty: bool) -> SourceSpec {
    SourceSpec::Tree { dir: world.tree.clone(), revision: revision.map(str::to_owned), dirty }
}

#[test]
fn a_clean_tree_is_taken_at_its_commit_and_not_written() {
    let world = World::new();
    world.commit();
    // Now git would like to refresh its index.
    fs::write(world.tree.join("mm/b.c"), "b\n").unwrap();
    let before = snapshot(&world.tree);
    let source = world.fetch(&tree(&world, None, false)).unwrap();
    world.build(&[common::CHANGE_A]).unwrap();
    assert_eq!(snapshot(&world.tree), before);
    assert_eq!(source.identity.hash.len(), 40);
    assert_eq!(source.identity.kind, SourceKind::Tree);
}

#[test]
fn a_dirty_tree_is_refused_unless_it_is_wanted() {
    let world = World::new();
    world.commit();
    fs::write(world.tree.join("mm/a.c"), "changed\n").unwrap();
    fs::write(world.tree.join("new.c"), "new\n").unwrap();
    let error = world.fetch(&tree(&world, None, false)).unwrap_err();
    assert!(error.is::<BadInput>());
    let text = error.to_string();
    assert!(text.contains("--dirty") && text.contains("mm/a.c") && text.contains("new.c"), "{text}");
    let before = snapshot(&world.tree);
    let dirty = world.fetch(&tree(&world, None, true)).unwrap();
    assert_eq!(fs::read_to_string(dirty.path.join("mm/a.c")).unwrap(), "changed\n");
    assert!(dirty.path.join("new.c").is_file() && !dirty.path.join(".git").exists());
    let committed = world.fetch(&tree(&world, Some("HEAD"), false)).unwrap();
    assert_eq!(fs::read_to_string(committed.path.join("mm/a.c")).unwrap(), "one\ntwo\nthree\n");
    assert_eq!(snapshot(&world.tree), before);
    fs::write(world.tree.join("new.c"), "newer\n").unwrap();
    assert_ne!(world.fetch(&tree(&world, None, true)).unwrap().identity.hash, dirty.identity.hash);
}

#[test]
fn ignored_files_are_no_change_and_not_taken() {
    let world = World::new();
    fs::write(world.tree.join(".gitignore"), "*.o\n.config\n").unwrap();
    world.commit();
    fs::write(world.tree.join("x.o"), "").unwrap();
    fs::write(world.tree.join(".config"), "").unwrap();
    let source = world.fetch(&tree(&world, None, false)).unwrap();
    assert!(!source.path.join("x.o").exists() && !source.path.join(".config").exists());
}

#[test]
fn a_revision_that_is_not_there() {
    let world = World::new();
    world.commit();
    for revision in ["v9.9", "--output=x"] {
        let error = world.fetch(&tree(&world, Some(revision), false)).unwrap_err();
        assert!(error.is::<BadInput>() && error.to_string().contains(revision), "{error:#}");
    }
}

#[test]
fn a_folder_that_is_no_kernel_tree() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let spec = SourceSpec::Tree { dir: folder.path().to_owned(), revision: None, dirty: false };
    let error = world.fetch(&spec).unwrap_err();
    assert!(error.to_string().contains("it is no kernel tree (it has no Makefile)"), "{error}");
}

#[test]
fn a_folder_with_a_build_inside_is_refused() {
    let world = World::new();
    fs::write(world.tree.join(".config"), "").unwrap();
    let error = world.fetch(&world.spec()).unwrap_err();
    assert!(error.to_string().contains("mrproper"), "{error}");
}

fn tarball(world: &World) -> (String, String) {
    let path = world.folder.path().join("linux.tar.gz");
    let status = std::process::Command::new("tar")
        .arg("-czf")
        .arg(&path)
        .arg("-C")
        .arg(world.folder.path())
        .arg("linux")
        .status()
        .unwrap();
    assert!(status.success());
    let hash = Sha256::digest(fs::read(&path).unwrap()).iter().map(|byte| format!("{byte:02x}")).collect();
    (path.to_str().unwrap().to_owned(), hash)
}

#[test]
fn a_tarball_with_its_hash_and_with_another() {
    let world = World::new();
    let (place, sha256) = tarball(&world);
    let source = world.fetch(&SourceSpec::Tarball { place: place.clone(), sha256: sha256.clone() }).unwrap();
    assert!(source.path.join("Makefile").is_file());
    assert_eq!((source.identity.hash.as_str(), source.identity.kind), (sha256.as_str(), SourceKind::Tarball));
    let wrong = "0".repeat(64);
    let error = world.fetch(&SourceSpec::Tarball { place, sha256: wrong.clone() }).unwrap_err();
    assert!(error.is::<BadInput>());
    assert!(error.to_string().contains(&wrong) && error.to_string().contains(&sha256), "{error}");
}

#[test]
fn a_download_with_another_hash_is_not_kept() {
    let world = World::new();
    let (place, _) = tarball(&world);
    let spec = SourceSpec::Tarball { place: format!("file://{place}"), sha256: "0".repeat(64) };
    let error = world.fetch(&spec).unwrap_err();
    assert!(error.is::<BadInput>(), "{error:#}");
    assert_eq!(fs::read_dir(world.cache().root().join("downloads")).unwrap().count(), 0);
}
