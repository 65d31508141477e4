//! The cache under two runs at once, kills and stops.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::{
    env, fs,
    path::Path,
    process::{Child, Command, Stdio},
    sync::{Arc, Barrier, atomic::Ordering},
    thread,
    time::{Duration, Instant},
};

use common::{CHANGE_A, SLOW, World};
use mthp_kernel::{Event, Interrupted, PatchSeries, Recipe, config::Fragment};

#[test]
fn two_runs_at_once_build_once() {
    let world = Arc::new(World::new());
    let barrier = Arc::new(Barrier::new(2));
    let runs: Vec<_> = (0..2)
        .map(|_| {
            let (world, barrier) = (Arc::clone(&world), Arc::clone(&barrier));
            thread::spawn(move || {
                barrier.wait();
                world.build(&[CHANGE_A]).unwrap()
            })
        })
        .collect();
    let kernels: Vec<_> = runs.into_iter().map(|run| run.join().unwrap()).collect();
    assert_eq!(kernels[0].identity, kernels[1].identity);
    let built = world.events.lock().unwrap().iter().filter(|event| matches!(event, Event::Cloning)).count();
    assert_eq!(built, 1);
}

#[test]
fn a_stopped_build_ends_soon_and_leaves_nothing_that_counts() {
    let world = Arc::new(World::new());
    world.build(&[]).unwrap();
    let stopper = Arc::clone(&world);
    let raise = thread::spawn(move || {
        thread::sleep(Duration::from_millis(500));
        stopper.stop.store(true, Ordering::Relaxed);
    });
    let started = Instant::now();
    let error = world.build(&[SLOW]).unwrap_err();
    raise.join().unwrap();
    assert!(error.is::<Interrupted>(), "{error:#}");
    assert!(started.elapsed() < Duration::from_secs(10));
    world.stop.store(false, Ordering::Relaxed);
    world.build(&[CHANGE_A]).unwrap();
}

/// Not a test: the run that `a_killed_run…` kills.
#[test]
fn helper_that_builds_in_a_process_of_its_own() {
    let Some(folder) = env::var_os("MTHP_TEST_WORLD") else { return };
    let folder = Path::new(&folder);
    let world = World::new();
    let cache = mthp_kernel::Cache::open(Some(&folder.join("cache"))).unwrap();
    let spec = mthp_kernel::SourceSpec::Tree { dir: folder.join("linux"), revision: None, dirty: false };
    let source = mthp_kernel::fetch(&cache, &spec, &|_| {}, &world.stop).unwrap();
    let patches = vec![PatchSeries::parse("x.patch", SLOW.as_bytes(), false).unwrap()];
    let recipe =
        Recipe { source: &source, patches, fragment: Fragment::read(&[folder.join("base.config")]).unwrap() };
    mthp_kernel::build(&cache, &recipe, &|_| {}, &world.stop).unwrap();
}

fn start(world: &World) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["--exact", "helper_that_builds_in_a_process_of_its_own"])
        .env("MTHP_TEST_WORLD", world.folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Waits until a slow compilation has begun. (The log would not tell: make keeps a target's output together.)
fn slow_step_begins(world: &World) -> bool {
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        let work = fs::read_dir(world.folder.path().join("cache/work")).into_iter().flatten().flatten();
        if work.into_iter().any(|work| work.path().join("tree/build/slow").exists()) {
            return true;
        }
        thread::sleep(Duration::from_millis(20));
    }
    false
}

#[test]
fn a_killed_run_leaves_nothing_that_a_later_one_takes_for_complete() {
    let world = World::new();
    for moment in [0, 30, 80, 150] {
        let mut run = start(&world);
        thread::sleep(Duration::from_millis(moment));
        run.kill().unwrap();
        run.wait().unwrap();
    }
    let mut run = start(&world);
    assert!(slow_step_begins(&world), "the build did not begin");
    run.kill().unwrap();
    run.wait().unwrap();
    let kernels = world.folder.path().join("cache/kernels");
    let complete = fs::read_dir(kernels)
        .unwrap()
        .flatten()
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'));
    assert_eq!(complete.count(), 0);
    let kernel = world.build(&[CHANGE_A]).unwrap();
    assert_eq!(fs::read_to_string(kernel.vmlinux).unwrap(), "one\nTWO\nthree\nb\n");
}
