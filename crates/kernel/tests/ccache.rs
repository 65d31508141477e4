//! Objects shared between machines, by ccache's remote storage.
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

mod common;

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
};

use common::World;

/// Not a test: a build in an environment of its own.
#[test]
fn helper_that_builds_in_an_environment_of_its_own() {
    let Some(folder) = env::var_os("MTHP_TEST_WORLD").map(PathBuf::from) else { return };
    let world = World { tree: folder.join("linux"), fragment: folder.join("base.config"), ..World::new() };
    let cache = mthp_kernel::Cache::open(Some(&folder.join("cache"))).unwrap();
    let source = mthp_kernel::fetch(&cache, &world.spec(), &|_| {}, &world.stop).unwrap();
    let recipe = mthp_kernel::Recipe { source: &source, patches: Vec::new(), fragment: world.fragment() };
    mthp_kernel::build(&cache, &recipe, &|_| {}, &world.stop).unwrap();
}

/// Builds a world in which each object calls the compiler as kbuild does.
fn build(world: &World, path: &Path, variables: &[(&str, &str)]) {
    fs::write(world.tree.join("mm/real.c"), "int answer(void) { return 42; }\n").unwrap();
    let script = "case $target in *b.o) $CC -MD -c mm/real.c -o build/real.o;; esac\n";
    fs::write(world.folder.path().join("hook"), script).unwrap();
    let mut folders = OsString::from(path);
    folders.push(":");
    folders.push(env::var_os("PATH").unwrap());
    let mut helper = Command::new(env::current_exe().unwrap());
    helper
        .args(["--exact", "helper_that_builds_in_an_environment_of_its_own"])
        .env("MTHP_TEST_WORLD", world.folder.path())
        .env("PATH", folders)
        .envs(variables.iter().copied());
    let output = helper.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn the_callers_storage_reaches_ccache_and_nothing_else_of_his() {
    let world = World::new();
    let bin = world.folder.path().join("bin");
    fs::create_dir(&bin).unwrap();
    let seen = world.folder.path().join("seen");
    let script = format!("#!/bin/sh\nenv | grep ^CCACHE_ | sort > {}\nexec \"$@\"\n", seen.display());
    fs::write(bin.join("ccache"), script).unwrap();
    fs::set_permissions(bin.join("ccache"), fs::Permissions::from_mode(0o755)).unwrap();
    let variables = [
        ("CCACHE_REMOTE_STORAGE", "file:/none"),
        ("CCACHE_REMOTE_ONLY", "1"),
        ("CCACHE_RESHARE", "1"),
        ("CCACHE_DIR", "/none"),
        ("CCACHE_SLOPPINESS", "time_macros"),
    ];
    build(&world, &bin, &variables);
    let cache = world.folder.path().canonicalize().unwrap().join("cache");
    let expected = format!(
        "CCACHE_BASEDIR={cache}\nCCACHE_DEPEND=1\nCCACHE_DIR={cache}/ccache\nCCACHE_NOHASHDIR=1\n\
         CCACHE_REMOTE_ONLY=1\nCCACHE_REMOTE_STORAGE=file:/none\nCCACHE_RESHARE=1\n",
        cache = cache.display()
    );
    assert_eq!(fs::read_to_string(&seen).unwrap(), expected);
}

/// Only where ccache is installed.
#[test]
fn a_second_empty_cache_finds_what_the_first_one_stored() {
    let there = env::split_paths(&env::var_os("PATH").unwrap()).any(|folder| folder.join("ccache").is_file());
    if !there {
        eprintln!("left out: ccache is not installed");
        return;
    }
    let storage = tempfile::tempdir().unwrap();
    let place = format!("file:{}", storage.path().display());
    let hits = || {
        let world = World::new();
        build(&world, Path::new("/nonexistent"), &[("CCACHE_REMOTE_STORAGE", &place)]);
        let mut ccache = Command::new("ccache");
        let output =
            ccache.arg("--print-stats").env("CCACHE_DIR", world.folder.path().join("cache/ccache")).output();
        let stats = String::from_utf8(output.unwrap().stdout).unwrap();
        let hits = stats.lines().find_map(|line| line.strip_prefix("remote_storage_hit\t"));
        hits.unwrap().parse::<u32>().unwrap()
    };
    assert_eq!(hits(), 0);
    assert_eq!(hits(), 1);
}
