//! Repositories and their history.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::{fs, path::Path, sync::atomic::AtomicBool};

use common::{World, git, snapshot};
use mthp_kernel::{BadInput, Repository};

fn open(world: &World, place: &str) -> anyhow::Result<Repository> {
    Repository::open(&world.cache(), place, &|_| {}, &AtomicBool::new(false))
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

/// `a` – `b` – merge – `d`, with `c` on a branch from `a`.
fn history(world: &World) -> [String; 5] {
    let a = world.commit_files(&[]);
    git(&world.tree, &["checkout", "--quiet", "-b", "side"]);
    let c = world.commit_files(&[("mm/c.c", Some("c\n"))]);
    git(&world.tree, &["checkout", "--quiet", "-B", "main", &a]);
    let b = world.commit_files(&[("mm/b.c", Some("2\n"))]);
    let identity = ["-c", "user.name=x", "-c", "user.email=x@x"];
    git(&world.tree, &[&identity[..], &["merge", "--quiet", "-m", "merge", "side"]].concat());
    let merge = world.head();
    let d = world.commit_files(&[("mm/b.c", Some("3\n"))]);
    [a, b, c, merge, d]
}

#[test]
fn a_history_with_a_merge() {
    let world = World::new();
    let [a, b, c, merge, d] = history(&world);
    // Configuration of the user's that alters what git prints.
    git(&world.tree, &["config", "log.showSignature", "true"]);
    git(&world.tree, &["config", "log.decorate", "full"]);
    git(&world.tree, &["config", "color.ui", "always"]);
    let before = snapshot(&world.tree);
    let repository = open(&world, path(&world.tree)).unwrap();
    assert_eq!(repository.commit("main~1").unwrap(), merge);
    assert_eq!(repository.branch_head("side").unwrap(), c);
    assert_eq!(repository.parents(&merge).unwrap(), [b.clone(), c.clone()]);
    assert!(repository.parents(&a).unwrap().is_empty());
    assert!(repository.is_ancestor(&c, &d).unwrap() && repository.is_ancestor(&a, &a).unwrap());
    assert!(!repository.is_ancestor(&d, &c).unwrap() && !repository.is_ancestor(&b, &c).unwrap());
    assert_eq!(repository.merge_base(&b, &c).unwrap(), Some(a.clone()));
    assert_eq!(repository.subject(&merge).unwrap(), "merge");
    assert_eq!(repository.author(&a).unwrap(), "x <x@x>");
    assert_eq!(repository.committed(&a).unwrap().split_once('T').unwrap().0.len(), 10);
    let log = repository.log(&b, "main").unwrap();
    let expected = [format!("{d}\t{merge}\tx"), format!("{merge}\t{b} {c}\tmerge"), format!("{c}\t{a}\tx")];
    assert_eq!(log.lines().collect::<Vec<_>>(), expected);
    assert_eq!(repository.log(&d, &b).unwrap(), "");
    assert_eq!(snapshot(&world.tree), before);
}

#[test]
fn commits_without_a_common_ancestor() {
    let world = World::new();
    let a = world.commit_files(&[]);
    git(&world.tree, &["checkout", "--quiet", "--orphan", "other"]);
    let b = world.commit_files(&[("mm/b.c", Some("2\n"))]);
    let repository = open(&world, path(&world.tree)).unwrap();
    assert_eq!(repository.merge_base(&a, &b).unwrap(), None);
    assert!(!repository.is_ancestor(&a, &b).unwrap());
}

#[test]
fn what_is_not_there() {
    let world = World::new();
    let missing = world.folder.path().join("missing");
    let says = |place: &Path| {
        let error = open(&world, path(place)).unwrap_err();
        assert!(error.is::<BadInput>(), "{error:#}");
        format!("{error:#}")
    };
    assert!(says(&missing).ends_with("missing: there is no such folder"));
    assert!(says(&world.tree).contains("it is none, or is damaged"));
    world.commit();
    assert!(says(&world.tree.join("mm")).contains("is not its top"));
    let repository = open(&world, path(&world.tree)).unwrap();
    for error in [
        repository.commit("v9.9").unwrap_err(),
        repository.commit("--all").unwrap_err(),
        repository.branch_head("none").unwrap_err(),
        repository.log("HEAD", "v9.9").unwrap_err(),
        repository.parents("v9.9").unwrap_err(),
    ] {
        assert!(error.is::<BadInput>(), "{error:#}");
    }
    assert!(open(&world, "file:///no/such/repository").is_err());
}

#[test]
fn a_bare_repository_and_a_linked_worktree() {
    let world = World::new();
    let [.., d] = history(&world);
    let bare = world.folder.path().join("bare");
    git(world.folder.path(), &["clone", "--quiet", "--bare", path(&world.tree), path(&bare)]);
    assert_eq!(open(&world, path(&bare)).unwrap().commit("main").unwrap(), d);
    let linked = world.folder.path().join("linked");
    git(&world.tree, &["worktree", "add", "--quiet", "--detach", path(&linked)]);
    assert_eq!(open(&world, path(&linked)).unwrap().commit("HEAD").unwrap(), d);
}

#[test]
fn a_shallow_clone_says_where_it_ends() {
    let world = World::new();
    let [a, b, _, merge, d] = history(&world);
    let shallow = world.folder.path().join("shallow");
    let url = format!("file://{}", world.tree.display());
    git(world.folder.path(), &["clone", "--quiet", "--depth=2", &url, path(&shallow)]);
    let repository = open(&world, path(&shallow)).unwrap();
    // What it has is enough for this.
    assert_eq!(repository.log(&merge, &d).unwrap(), format!("{d}\t{merge}\tx"));
    assert!(repository.is_ancestor(&merge, &d).unwrap());
    let says = |error: anyhow::Error| {
        assert!(error.is::<BadInput>() && error.to_string().contains("--unshallow"), "{error:#}");
    };
    says(repository.commit(&a).unwrap_err());
    says(repository.log(&b, &d).unwrap_err());
    // Two ends without a way between them.
    let two = world.folder.path().join("two");
    git(world.folder.path(), &["clone", "--quiet", "--depth=1", "--no-single-branch", &url, path(&two)]);
    let repository = open(&world, path(&two)).unwrap();
    let (main, side) =
        (repository.branch_head("origin/main").unwrap(), repository.branch_head("origin/side").unwrap());
    says(repository.log(&side, &main).unwrap_err());
    says(repository.is_ancestor(&side, &main).unwrap_err());
    says(repository.merge_base(&side, &main).unwrap_err());
}

#[test]
fn a_url_is_mirrored_and_fetched_again() {
    let world = World::new();
    let first = world.commit_files(&[]);
    git(&world.tree, &["branch", "gone"]);
    let url = format!("file://{}", world.tree.display());
    let repository = open(&world, &url).unwrap();
    assert!(repository.is_mirror() && repository.path().starts_with(world.folder.path().join("cache")));
    assert_eq!(repository.branch_head("gone").unwrap(), first);
    git(&world.tree, &["branch", "--quiet", "-D", "gone"]);
    let second = world.commit_files(&[("mm/b.c", Some("2\n"))]);
    let again = open(&world, &url).unwrap();
    assert_eq!(again.path(), repository.path());
    assert_eq!(again.commit("HEAD").unwrap(), second);
    assert!(again.branch_head("gone").is_err());
    fs::rename(&world.tree, world.folder.path().join("away")).unwrap();
    let error = open(&world, &url).unwrap_err();
    assert!(error.to_string().starts_with("failed to fetch file://"), "{error:#}");
}
