//! Builds of a miniature kernel tree.

mod common;

use std::fs;

use common::{BREAK_B, CHANGE_A, COMMENT_A, World, snapshot};
use mthp_kernel::{BadInput, BuildFailed, Event, PatchError, PatchSeries, Recipe, config::Fragment};

#[test]
fn only_what_a_patch_touches_is_built_again() {
    let world = World::new();
    let base = world.build(&[]).unwrap();
    assert_eq!(fs::read_to_string(&base.vmlinux).unwrap(), "one\ntwo\nthree\nb\n");
    assert!(!base.from_cache && base.identity.patches.is_empty());
    let patched = world.build(&[CHANGE_A]).unwrap();
    assert_eq!(fs::read_to_string(&patched.vmlinux).unwrap(), "one\nTWO\nthree\nb\n");
    let log = fs::read_to_string(patched.vmlinux.with_file_name("build.log")).unwrap();
    assert!(log.contains("CC      mm/a.c") && !log.contains("CC      mm/b.c"), "{log}");
    assert_eq!(patched.cost.root_cpu_millis, base.cost.root_cpu_millis);
    assert!(!base.same_image(&patched));
    assert_eq!(patched.identity.source.version, "6.12.1");
}

#[test]
fn a_built_kernel_is_found_again() {
    let world = World::new();
    let first = world.build(&[CHANGE_A]).unwrap();
    let second = world.build(&[CHANGE_A]).unwrap();
    assert!(second.from_cache);
    assert_eq!(first.identity, second.identity);
    assert!(world.saw(|event| *event == Event::Cached(first.identity.key.clone())));
    // A revert, another order or another fragment is another kernel.
    fs::write(&world.fragment, "CONFIG_A=y\n# CONFIG_B is not set\n").unwrap();
    assert_ne!(world.build(&[CHANGE_A]).unwrap().identity.key, first.identity.key);
}

#[test]
fn a_patch_that_changes_no_object_gives_the_same_image() {
    let world = World::new();
    let base = world.build(&[]).unwrap();
    let patched = world.build(&[COMMENT_A]).unwrap();
    assert_ne!(base.identity.key, patched.identity.key);
    assert!(base.same_image(&patched));
}

#[test]
fn the_pristine_tree_stays_as_it_was() {
    let world = World::new();
    let source = world.fetch(&world.spec()).unwrap();
    let before = snapshot(&source.path);
    world.build(&[CHANGE_A]).unwrap();
    world.build(&[COMMENT_A]).unwrap();
    assert_eq!(snapshot(&source.path), before);
    let base = world.build(&[]).unwrap();
    assert_eq!(fs::read_to_string(base.vmlinux).unwrap(), "one\ntwo\nthree\nb\n");
}

#[test]
fn a_build_that_fails_shows_the_compilers_words_and_the_log() {
    let world = World::new();
    let error = world.build(&[BREAK_B]).unwrap_err();
    let failed = error.downcast_ref::<BuildFailed>().unwrap();
    assert_eq!(failed.first_errors, ["../mm/b.c:1:1: error: BROKEN undeclared"]);
    assert!(fs::read_to_string(&failed.log).unwrap().contains("CC      mm/b.c"));
    assert!(error.to_string().contains(&failed.log.display().to_string()));
    // Nothing of it is taken for a kernel later.
    assert!(world.build(&[BREAK_B]).is_err());
    world.build(&[CHANGE_A]).unwrap();
}

#[test]
fn a_patch_that_does_not_apply_costs_no_build() {
    let world = World::new();
    let bad = CHANGE_A.replace("-two", "-2");
    let error = world.build(&[&bad]).unwrap_err();
    let Some(PatchError::Rejected { file, why, .. }) = error.downcast_ref() else { panic!("{error:#}") };
    assert_eq!(file, "mm/a.c");
    assert!(why.starts_with("hunk 1 of 1 (line 3 of the patch"), "{why}");
    assert!(!world.saw(|event| matches!(event, Event::Building { .. })));
}

#[test]
fn a_patch_twice_is_already_in_the_tree() {
    let world = World::new();
    let error = world.build(&[CHANGE_A, CHANGE_A]).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(PatchError::AlreadyApplied { .. })), "{error:#}");
}

#[test]
fn a_revert_takes_out_what_a_patch_put_in() {
    let world = World::new();
    let base = world.build(&[]).unwrap();
    let source = world.fetch(&world.spec()).unwrap();
    let series = |revert| PatchSeries::parse("x.patch", CHANGE_A.as_bytes(), revert).unwrap();
    let fragment = Fragment::read(std::slice::from_ref(&world.fragment)).unwrap();
    let both =
        Recipe { source: &source, patches: vec![series(false), series(true)], fragment: fragment.clone() };
    assert!(world.build_recipe(&both).unwrap().same_image(&base));
    let error =
        world.build_recipe(&Recipe { source: &source, patches: vec![series(true)], fragment }).unwrap_err();
    assert!(matches!(error.downcast_ref(), Some(PatchError::NotInTree { .. })), "{error:#}");
}

#[test]
fn a_symbol_that_the_tree_drops_is_an_error_with_its_reason() {
    let world = World::new();
    fs::write(&world.fragment, "CONFIG_A=y\nCONFIG_C=y\n").unwrap();
    let error = world.build(&[]).unwrap_err();
    assert!(error.is::<BadInput>());
    let text = error.to_string();
    assert!(
        text.contains("CONFIG_C=y") && text.contains("it depends on Z, which is not set (Kconfig:6"),
        "{text}"
    );
}
