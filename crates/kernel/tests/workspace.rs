//! Revisions of a miniature kernel tree, one after another in one folder.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{atomic::AtomicBool, mpsc},
    thread,
    time::{Duration, Instant},
};

use anyhow::Result;
use common::{CHANGE_A, World, snapshot};
use mthp_kernel::{
    BadInput, BuildFailed, BuiltKernel, Cache, Event, Origin, PatchError, PatchSeries, Point, Recipe,
    Repository, SourceSpec, Workspace,
};

const A: &str = "one\ntwo\nthree\n";

fn repository(world: &World, cache: &Cache) -> Repository {
    Repository::open(cache, world.tree.to_str().unwrap(), &|_| {}, &world.stop).unwrap()
}

/// Opens the workspace, builds commits in it, and closes it.
fn run(world: &World, commits: &[&String], with: &[PatchSeries]) -> Vec<Result<BuiltKernel>> {
    let cache = world.cache();
    let repository = repository(world, &cache);
    let events = |event| world.events.lock().unwrap().push(event);
    let origin = Origin::Git(&repository);
    let mut workspace = Workspace::open(&cache, origin, &world.fragment(), &events, &world.stop).unwrap();
    commits
        .iter()
        .map(|commit| workspace.build(&Point::Commit((*commit).clone()), with, &events, &world.stop))
        .collect()
}

fn one(world: &World, commit: &String, with: &[PatchSeries]) -> Result<BuiltKernel> {
    run(world, &[commit], with).remove(0)
}

fn image(kernel: &BuiltKernel) -> String {
    fs::read_to_string(&kernel.vmlinux).unwrap()
}

/// What was compiled for a kernel, by its log.
fn compiled(kernel: &BuiltKernel) -> Vec<String> {
    let log = fs::read_to_string(&kernel.log).unwrap();
    let mut names: Vec<String> =
        log.lines().filter_map(|line| line.strip_prefix("  CC      ")).map(str::to_owned).collect();
    names.sort();
    names
}

fn patch(text: &str) -> Vec<PatchSeries> {
    vec![PatchSeries::parse("x.patch", text.as_bytes(), false).unwrap()]
}

fn recipe_of(world: &World, commit: &str, with: &[PatchSeries]) -> BuiltKernel {
    let revision = Some(commit.to_owned());
    let spec = SourceSpec::Tree { dir: world.tree.clone(), revision, dirty: false };
    let source = world.fetch(&spec).unwrap();
    let patches = with.to_vec();
    world.build_recipe(&Recipe { source: &source, patches, fragment: world.fragment() }).unwrap()
}

fn workspace_folder(world: &World) -> PathBuf {
    let all = fs::read_dir(world.folder.path().join("cache/workspaces")).unwrap();
    let all: Vec<PathBuf> = all.map(|entry| entry.unwrap().path()).collect();
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

fn hook(world: &World, script: &str) -> PathBuf {
    let path = world.folder.path().join("hook");
    fs::write(&path, script).unwrap();
    path
}

#[test]
fn both_ways_through_a_history_only_what_differs_is_compiled() {
    let world = World::new();
    let first = world.commit_files(&[]);
    let second = world.commit_files(&[("mm/a.c", Some("1\n")), ("mm/doc.txt", Some("x"))]);
    let third = world.commit_files(&[("mm/b.c", Some("2\n")), ("mm/doc.txt", None)]);
    let before = snapshot(&world.tree);
    let kernels: Vec<_> =
        run(&world, &[&first, &third, &second, &first], &[]).into_iter().map(Result::unwrap).collect();
    assert_eq!(snapshot(&world.tree), before, "the user's tree or repository was written to");
    let images: Vec<String> = kernels.iter().map(image).collect();
    assert_eq!(images, ["one\ntwo\nthree\nb\n", "1\n2\n", "1\nb\n", "one\ntwo\nthree\nb\n"]);
    assert_eq!(compiled(&kernels[0]), ["mm/a.c", "mm/b.c"]);
    assert_eq!(compiled(&kernels[1]), ["mm/a.c", "mm/b.c"]);
    assert_eq!(compiled(&kernels[2]), ["mm/b.c"]);
    assert!(kernels[3].from_cache);
    assert_eq!(kernels[2].cost.root_cpu_millis, kernels[0].cost.root_cpu_millis);
    assert_eq!(kernels[1].identity.source.hash, third);
    assert_eq!(kernels[1].identity.source.version, "6.12.1");
    assert_eq!(kernels[1].identity.source.what, format!("{}@{}", world.tree.display(), &third[..12]));
}

#[test]
fn a_later_run_goes_on_from_the_objects() {
    let world = World::new();
    let first = world.commit_files(&[]);
    let second = world.commit_files(&[("mm/b.c", Some("2\n"))]);
    one(&world, &first, &[]).unwrap();
    assert_eq!(compiled(&one(&world, &second, &[]).unwrap()), ["mm/b.c"]);
}

#[test]
fn the_kernel_is_the_one_that_a_build_alone_makes_and_finds() {
    let world = World::new();
    let commit = world.commit_files(&[]);
    for with in [Vec::new(), patch(CHANGE_A)] {
        let here = one(&world, &commit, &with).unwrap();
        let found = recipe_of(&world, &commit, &with);
        assert!(found.from_cache);
        assert_eq!(found.identity.key, here.identity.key);
        // From nothing, in another cache, it is the same image.
        let elsewhere = World { folder: tempfile::tempdir().unwrap(), ..world_at(&world) };
        let alone = recipe_of(&elsewhere, &commit, &with);
        assert!(!alone.from_cache);
        assert_eq!(alone.identity.key, here.identity.key);
        assert!(alone.same_image(&here));
        assert_eq!(alone.identity.patches, here.identity.patches);
        assert_eq!(alone.identity.config_sha256, here.identity.config_sha256);
    }
}

/// Another world with the same tree.
fn world_at(world: &World) -> World {
    let fresh = World::new();
    World { tree: world.tree.clone(), fragment: world.fragment.clone(), ..fresh }
}

#[test]
fn what_is_in_the_cache_is_not_built_and_the_workspace_is_not_touched() {
    let world = World::new();
    let commit = world.commit_files(&[]);
    recipe_of(&world, &commit, &[]);
    assert!(one(&world, &commit, &[]).unwrap().from_cache);
    assert_eq!(fs::read_dir(world.folder.path().join("cache/workspaces")).unwrap().count(), 0);
}

const HEADER: &str = "--- a/mm/a.h\n+++ b/mm/a.h\n@@ -1 +1 @@\n-h\n+H\n";

#[test]
fn a_patched_header_that_stays_the_same_is_not_compiled_for_again() {
    let world = World::new();
    let first = world.commit_files(&[("mm/a.h", Some("h\n"))]);
    let second = world.commit_files(&[("mm/b.c", Some("2\n"))]);
    let with = patch(HEADER);
    one(&world, &first, &with).unwrap();
    assert_eq!(compiled(&one(&world, &second, &with).unwrap()), ["mm/b.c"]);
    // Without the patch it is another header.
    assert_eq!(compiled(&one(&world, &second, &[]).unwrap()), ["mm/a.c"]);
    assert_eq!(fs::read_to_string(workspace_folder(&world).join("tree/mm/a.h")).unwrap(), "h\n");
}

#[test]
fn a_patch_that_is_in_already_is_left_out() {
    let world = World::new();
    let without = world.commit_files(&[]);
    let within = world.commit_files(&[("mm/a.c", Some("one\nTWO\nthree\n"))]);
    let with = patch(CHANGE_A);
    assert_eq!(one(&world, &without, &with).unwrap().identity.patches.len(), 1);
    assert!(!world.saw(|event| matches!(event, Event::PatchLeftOut(_))));
    let kernel = one(&world, &within, &with).unwrap();
    assert!(kernel.identity.patches.is_empty());
    assert!(world.saw(|event| matches!(event, Event::PatchLeftOut(PatchError::AlreadyApplied { .. }))));
    assert_eq!(kernel.identity.key, recipe_of(&world, &within, &[]).identity.key);
    let revert = vec![PatchSeries::parse("x.patch", CHANGE_A.as_bytes(), true).unwrap()];
    assert!(one(&world, &without, &revert).unwrap().identity.patches.is_empty());
    assert!(world.saw(|event| matches!(event, Event::PatchLeftOut(PatchError::NotInTree { .. }))));
    assert_eq!(image(&one(&world, &within, &revert).unwrap()), "one\ntwo\nthree\nb\n");
}

#[test]
fn a_patch_that_does_not_apply_is_told_apart_and_costs_nothing() {
    let world = World::new();
    let first = world.commit_files(&[]);
    let other = world.commit_files(&[("mm/a.c", Some("another\n"))]);
    let mut kernels = run(&world, &[&other, &first], &patch(CHANGE_A));
    assert_eq!(image(&kernels.remove(1).unwrap()), "one\nTWO\nthree\nb\n");
    let error = kernels.remove(0).unwrap_err();
    let Some(PatchError::Rejected { file, .. }) = error.downcast_ref() else { panic!("{error:#}") };
    assert_eq!(file, "mm/a.c");
}

#[test]
fn a_patch_does_not_reach_through_a_link_of_the_commit() {
    let world = World::new();
    std::os::unix::fs::symlink(world.folder.path(), world.tree.join("out")).unwrap();
    let commit = world.commit_files(&[]);
    let error = one(&world, &commit, &patch("--- /dev/null\n+++ b/out/x\n@@ -0,0 +1 @@\n+x\n")).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(PatchError::Outside { .. })), "{error:#}");
    assert!(!world.folder.path().join("x").exists());
}

#[test]
fn a_revision_that_does_not_compile_keeps_the_objects() {
    let world = World::new();
    let first = world.commit_files(&[]);
    let broken = world.commit_files(&[("mm/b.c", Some("BROKEN\n"))]);
    let last = world.commit_files(&[("mm/b.c", Some("3\n"))]);
    let mut kernels = run(&world, &[&first, &broken, &last], &[]);
    assert_eq!(compiled(&kernels.remove(2).unwrap()), ["mm/b.c"]);
    let error = kernels.remove(1).unwrap_err();
    let failed = error.downcast_ref::<BuildFailed>().unwrap();
    assert_eq!(failed.first_errors, ["../mm/b.c:1:1: error: BROKEN undeclared"]);
    // Also where it is the first one.
    let world = world_at(&world);
    let mut kernels = run(&world, &[&broken, &last], &[]);
    assert_eq!(compiled(&kernels.remove(1).unwrap()), ["mm/b.c"]);
    assert!(kernels.remove(0).is_err());
}

#[test]
fn a_tree_is_configured_where_its_kconfig_changes() {
    let world = World::new();
    let configured = || {
        let mut events = world.events.lock().unwrap();
        let count = events.iter().filter(|event| **event == Event::Configuring).count();
        events.clear();
        count
    };
    let first = world.commit_files(&[]);
    let second = world.commit_files(&[("mm/a.c", Some("1\n"))]);
    let third = world.commit_files(&[("mm/Kconfig", Some("config X\n\tbool\n")), ("mm/a.c", Some("2\n"))]);
    let fourth = world.commit_files(&[("mm/a.c", Some("3\n"))]);
    one(&world, &first, &[]).unwrap();
    assert_eq!(configured(), 1);
    one(&world, &second, &[]).unwrap();
    assert_eq!(configured(), 0);
    one(&world, &third, &[]).unwrap();
    assert_eq!(configured(), 1);
    one(&world, &fourth, &[]).unwrap();
    assert_eq!(configured(), 0);
    let with =
        patch("--- a/mm/Kconfig\n+++ b/mm/Kconfig\n@@ -1,2 +1,3 @@\n config X\n \tbool\n+\tdefault y\n");
    one(&world, &third, &with).unwrap();
    assert_eq!(configured(), 1);
    one(&world, &fourth, &with).unwrap();
    assert_eq!(configured(), 0);
}

#[test]
fn a_revision_without_the_symbol_is_refused_and_the_next_is_not() {
    let world = World::new();
    let makefile = fs::read_to_string(world.tree.join("Makefile")).unwrap();
    let first = world.commit_files(&[]);
    let lacks = world.commit_files(&[("Makefile", Some(&makefile.replace("CONFIG_(A|B)", "CONFIG_(B)")))]);
    let last = world.commit_files(&[("Makefile", Some(&makefile)), ("mm/b.c", Some("2\n"))]);
    let mut kernels = run(&world, &[&first, &lacks, &last], &[]);
    assert_eq!(compiled(&kernels.remove(2).unwrap()), ["mm/b.c"]);
    let error = kernels.remove(1).unwrap_err();
    assert!(error.is::<BadInput>() && error.to_string().contains("CONFIG_A=y"), "{error:#}");
}

/// Leaves half an object that is newer than its source, and make no time to remove it.
const CRASH: &str = "case $target in *b.o) echo half > $target; kill -9 $PPID;; esac\n";

#[test]
fn half_an_object_of_a_killed_make_is_not_taken_for_a_whole_one() {
    let world = World::new();
    let first = world.commit_files(&[]);
    let second = world.commit_files(&[("mm/b.c", Some("2\n"))]);
    for (commit, expected) in [(&first, "one\ntwo\nthree\nb\n"), (&second, "one\ntwo\nthree\n2\n")] {
        let hook = hook(&world, CRASH);
        let error = one(&world, commit, &[]).unwrap_err();
        assert!(!error.is::<BuildFailed>() && error.to_string().contains("signal"), "{error:#}");
        assert_eq!(fs::read_to_string(workspace_folder(&world).join("tree/build/b.o")).unwrap(), "half\n");
        fs::remove_file(hook).unwrap();
        let kernel = one(&world, commit, &[]).unwrap();
        assert_eq!(image(&kernel), expected);
        // The first build has nothing to go back to.
        let again: &[&str] = if commit == &first { &["mm/a.c", "mm/b.c"] } else { &["mm/b.c"] };
        assert_eq!(compiled(&kernel), again);
    }
}

#[test]
fn after_a_crash_another_revision_is_right_too() {
    let world = World::new();
    let first = world.commit_files(&[]);
    let second = world.commit_files(&[("mm/b.c", Some("2\n")), ("mm/new", Some("x"))]);
    let third = world.commit_files(&[("mm/a.c", Some("3\n"))]);
    one(&world, &third, &[]).unwrap();
    let hook = hook(&world, CRASH);
    one(&world, &first, &[]).unwrap_err();
    fs::remove_file(hook).unwrap();
    let kernel = one(&world, &second, &[]).unwrap();
    assert_eq!(image(&kernel), "one\ntwo\nthree\n2\n");
    assert!(workspace_folder(&world).join("tree/mm/new").exists());
    assert_eq!(fs::read_to_string(workspace_folder(&world).join("tree/mm/a.c")).unwrap(), A);
}

/// Not a test: the run that the next one kills.
#[test]
fn helper_that_builds_in_a_process_of_its_own() {
    let Some(folder) = env::var_os("MTHP_TEST_WORLD").map(PathBuf::from) else { return };
    let world = World { tree: folder.join("linux"), fragment: folder.join("base.config"), ..World::new() };
    let cache = Cache::open(Some(&folder.join("cache"))).unwrap();
    let repository = repository(&world, &cache);
    let origin = Origin::Git(&repository);
    let mut workspace = Workspace::open(&cache, origin, &world.fragment(), &|_| {}, &world.stop).unwrap();
    let _ = workspace.build(&Point::Commit(world.head()), &[], &|_| {}, &world.stop);
}

fn appears(path: &Path) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !path.exists() {
        assert!(Instant::now() < deadline, "{} did not appear", path.display());
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn compilers_of_a_killed_run_keep_the_next_one_waiting() {
    let world = World::new();
    let commit = world.commit_files(&[]);
    let fifo = world.folder.path().join("fifo");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    // A compiler that minds no signal but the last, and that make left behind.
    let script = format!(
        "case $target in *b.o) trap '' TERM; echo half > $target; touch ../../../../begun; kill -9 $PPID; \
         read line < {};; esac\n",
        fifo.display()
    );
    let hook = hook(&world, &script);
    let mut child = Command::new(env::current_exe().unwrap())
        .args(["--exact", "helper_that_builds_in_a_process_of_its_own"])
        .env("MTHP_TEST_WORLD", world.folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    appears(&world.folder.path().join("begun"));
    child.kill().unwrap();
    child.wait().unwrap();
    fs::remove_file(hook).unwrap();
    let cache = world.cache();
    let repository = repository(&world, &cache);
    let fragment = world.fragment();
    let (sender, receiver) = mpsc::channel();
    thread::scope(|scope| {
        let next = scope.spawn(|| {
            let stop = AtomicBool::new(false);
            let events = |event| drop(sender.send(event));
            let origin = Origin::Git(&repository);
            let mut workspace = Workspace::open(&cache, origin, &fragment, &events, &stop).unwrap();
            workspace.build(&Point::Commit(commit.clone()), &[], &events, &stop).unwrap()
        });
        let event = receiver.recv_timeout(Duration::from_secs(60)).unwrap();
        assert!(matches!(event, Event::WaitingForLock(_)), "{event:?}");
        // The compiler ends.
        fs::write(&fifo, "\n").unwrap();
        assert_eq!(image(&next.join().unwrap()), "one\ntwo\nthree\nb\n");
    });
}

#[test]
fn a_damaged_or_unfinished_workspace_is_made_anew() {
    let world = World::new();
    let first = world.commit_files(&[]);
    let second = world.commit_files(&[("mm/b.c", Some("2\n"))]);
    one(&world, &first, &[]).unwrap();
    let folder = workspace_folder(&world);
    fs::write(folder.join("state.json"), "{").unwrap();
    fs::write(folder.join("tree/mm/a.c"), "damaged\n").unwrap();
    assert_eq!(image(&one(&world, &second, &[]).unwrap()), "one\ntwo\nthree\n2\n");
}

#[test]
fn a_history_that_was_replaced_is_taken_from_its_beginning() {
    let world = World::new();
    let first = world.commit_files(&[]);
    one(&world, &first, &[]).unwrap();
    fs::remove_dir_all(world.tree.join(".git")).unwrap();
    let other = world.commit_files(&[("mm/a.c", Some("other\n"))]);
    assert_eq!(image(&one(&world, &other, &[]).unwrap()), "other\nb\n");
}

#[test]
fn what_is_no_kernel_and_what_is_no_commit() {
    let world = World::new();
    let good = world.commit_files(&[]);
    let none = world.commit_files(&[("Kconfig", None)]);
    let missing = "0123456789012345678901234567890123456789".to_owned();
    let kernels = run(&world, &[&none, &missing, &good], &[]);
    for (kernel, says) in kernels[..2].iter().zip(["it is no kernel tree", "git knows no such commit"]) {
        let error = kernel.as_ref().unwrap_err();
        assert!(error.is::<BadInput>() && error.to_string().contains(says), "{error:#}");
    }
    assert!(kernels[2].is_ok());
}

const SERIES: &str = "From 1 Mon Sep 17 00:00:00 2001\nFrom: a <a@a>\nSubject: [PATCH 1/3] one\n\n---\n\
--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,3 +1,3 @@\n-one\n+1\n two\n three\n\
From 2 Mon Sep 17 00:00:00 2001\nFrom: a <a@a>\nSubject: [PATCH 2/3] two\n\n---\n\
--- a/mm/b.c\n+++ b/mm/b.c\n@@ -1 +1 @@\n-b\n+2\n\
From 3 Mon Sep 17 00:00:00 2001\nFrom: a <a@a>\nSubject: [PATCH 3/3] three\n\n---\n\
--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,3 +1,3 @@\n 1\n two\n-three\n+3\n";

#[test]
fn both_ways_through_a_series() {
    let world = World::new();
    let source = world.fetch(&world.spec()).unwrap();
    let before = snapshot(&source.path);
    let series = PatchSeries::parse("s.mbox", SERIES.as_bytes(), false).unwrap().patches;
    assert_eq!(series.len(), 3);
    let cache = world.cache();
    let origin = Origin::Series { base: &source, patches: Vec::new(), series: series.clone() };
    let mut workspace = Workspace::open(&cache, origin, &world.fragment(), &|_| {}, &world.stop).unwrap();
    let mut build = |count| workspace.build(&Point::Patches(count), &[], &|_| {}, &world.stop);
    let expected = [
        (3, "1\ntwo\n3\n2\n", vec!["mm/a.c", "mm/b.c"]),
        (2, "1\ntwo\nthree\n2\n", vec!["mm/a.c"]),
        (0, "one\ntwo\nthree\nb\n", vec!["mm/a.c", "mm/b.c"]),
        (1, "1\ntwo\nthree\nb\n", vec!["mm/a.c"]),
    ];
    for (count, contents, steps) in expected {
        let kernel = build(count).unwrap();
        assert_eq!(image(&kernel), contents);
        assert_eq!(compiled(&kernel), steps);
        let patches = vec![PatchSeries { patches: series[..count].to_vec(), revert: false }];
        let recipe = Recipe { source: &source, patches, fragment: world.fragment() };
        let found = world.build_recipe(&recipe).unwrap();
        assert!(found.from_cache);
        assert_eq!(found.identity, kernel.identity);
    }
    assert!(build(4).is_err());
    // Nothing of the tree was written to; it only got more names.
    assert_eq!(snapshot(&source.path), before);
}
