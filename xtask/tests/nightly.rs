//! What users of `nightly` type, error paths included. Nothing here builds or boots a kernel; `bisect_run.rs` has whole nights.

#![expect(clippy::unwrap_used, reason = "a failed unwrap in a test is a failed test")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

/// The command must end with `code` and say each of `words`.
fn fails(place: &Path, arguments: &[&str], code: i32, words: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("nightly").args(arguments).arg("--cache-dir").arg(place.join("cache"));
    command.arg("--report").arg(place.join("report"));
    command.env("NO_COLOR", "1").env_remove("MTHP_QEMU").env_remove("MTHP_STORE").current_dir(root());
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?} does not say {word:?}: {said}");
    }
}

fn git(arguments: &[&str], at: &Path) {
    let output = Command::new("git")
        .arg("-C")
        .arg(at)
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn repository(place: &Path) -> PathBuf {
    let repository = place.join("linux");
    fs::create_dir(&repository).unwrap();
    git(&["init", "--quiet", "--initial-branch=main"], &repository);
    git(&["commit", "--quiet", "--allow-empty", "--message", "nothing"], &repository);
    repository
}

#[test]
fn what_cannot_be_used_is_told_before_anything_is_built() {
    let place = tempfile::tempdir().unwrap();
    let linux = repository(place.path());
    let store = place.path().join("history.sqlite");
    let (tree, store) = (linux.to_str().unwrap(), store.to_str().unwrap());
    fails(place.path(), &["--tree", tree], 2, &["--branch"]);
    fails(place.path(), &["--tree", tree, "--branch", "nope", "--store", store], 2, &["nope"]);
    let junit = fs::read_to_string(place.path().join("report/junit.xml")).unwrap();
    assert!(junit.contains("<error") && junit.contains("nope"), "{junit}");
    fails(place.path(), &["--tree", "nowhere", "--branch", "main", "--store", store], 2, &["nowhere"]);
    let suite = ["--tree", tree, "--branch", "main", "--store", store, "--suite", "nope"];
    fails(place.path(), &suite, 2, &["nope", "alignment"]);
    let thesis = place.path().join("thesis.tex");
    fs::write(&thesis, "years of work, and no store").unwrap();
    let wrong = ["--tree", tree, "--branch", "main", "--store", thesis.to_str().unwrap()];
    fails(place.path(), &wrong, 2, &["thesis.tex"]);
    assert_eq!(fs::read_to_string(thesis).unwrap(), "years of work, and no store");
}

#[test]
fn a_head_that_does_not_build_is_stored_as_failed() {
    let place = tempfile::tempdir().unwrap();
    let linux = repository(place.path());
    let store = place.path().join("history.sqlite");
    let (tree, store) = (linux.to_str().unwrap(), store.to_str().unwrap());
    fails(
        place.path(),
        &["--tree", tree, "--branch", "main", "--store", store, "--suite", "alignment"],
        70,
        &[],
    );
    let night = fs::read_to_string(place.path().join("report/nightly.json")).unwrap();
    let night: serde_json::Value = serde_json::from_str(&night).unwrap();
    assert_eq!(night["outcome"], "failed");
    assert!(night["reason"].as_str().unwrap().contains("no kernel tree"), "{night}");
    let mut history = Command::new(env!("CARGO_BIN_EXE_xtask"));
    history.args(["history", "--store", store]).current_dir(root());
    let listed = String::from_utf8(history.output().unwrap().stdout).unwrap();
    assert!(listed.contains("failed"), "{listed}");
}
