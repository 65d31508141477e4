//! What users of `bisect` and `bisect-step` type, error paths included. Nothing here builds or boots a kernel.

#![expect(clippy::unwrap_used, reason = "a failed unwrap in a test is a failed test")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn xtask(arguments: &[&str], cache: &Path) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(arguments).args(["--cache-dir", cache.to_str().unwrap()]);
    command.env("NO_COLOR", "1").env_remove("MTHP_QEMU").current_dir(root());
    command.output().unwrap()
}

/// The command must end with `code` and say each of `words`.
fn fails(arguments: &[&str], cache: &Path, code: i32, words: &[&str]) {
    let output = xtask(arguments, cache);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{arguments:?}: {said}");
    for word in words {
        assert!(said.contains(word), "{arguments:?} does not say {word:?}: {said}");
    }
    assert!(!said.contains('\x1b'), "no colour without a terminal: {said}");
}

fn git(repository: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .arg("-C")
        .arg(repository)
        .args(["-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"])
        .args(arguments)
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// A history of three commits, and a branch of its own that forks at the first.
fn repository(place: &Path) -> PathBuf {
    let repository = place.join("linux");
    fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "--quiet", "--initial-branch=main"]);
    for number in 1..=3 {
        fs::write(repository.join("file"), number.to_string()).unwrap();
        git(&repository, &["add", "file"]);
        git(&repository, &["commit", "--quiet", "--message", &format!("number {number}")]);
    }
    git(&repository, &["branch", "side", "main~2"]);
    git(&repository, &["worktree", "prune"]);
    repository
}

#[test]
fn help_documents_the_exit_codes() {
    for (command, words) in [
        ("backtest", &["0 every bug was caught", "69 the machinery failed"][..]),
        ("reproduce", &["0 every claim asked for was decided", "3 one cannot be decided here"]),
        ("bisect", &["0 one commit was found", "3 no commit can be named", "69 the machinery failed"]),
        ("bisect-step", &["0 the check holds", "1 it fails", "125 nothing can be said"]),
    ] {
        let output = Command::new(env!("CARGO_BIN_EXE_xtask")).args([command, "--help"]).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            assert!(text.contains(word), "{command}: {word}: {text}");
        }
    }
}

#[test]
fn a_history_needs_both_ends_and_a_series_neither() {
    let place = tempfile::tempdir().unwrap();
    let cache = place.path();
    fails(&["bisect"], cache, 2, &["--tree", "--patches"]);
    fails(&["bisect", "--tree", "x"], cache, 2, &["--good"]);
    fails(&["bisect", "--tree", "x", "--good", "a"], cache, 2, &["--bad"]);
    fails(&["bisect", "--patches", "x", "--good", "a"], cache, 2, &["--good"]);
    fails(&["bisect", "--tree", "x", "--good", "a", "--bad", "b", "--kernel", "k"], cache, 2, &["--kernel"]);
    let boots = ["bisect", "--tree", "x", "--good", "a", "--bad", "b", "--boots", "4"];
    fails(&boots, cache, 2, &["--full-boots 4", "more boots than a step"]);
}

#[test]
fn ends_that_are_no_ends_are_refused_at_once() {
    let place = tempfile::tempdir().unwrap();
    let linux = repository(place.path());
    let tree = linux.to_str().unwrap();
    let bisect = |good, bad, words: &[&str]| {
        fails(&["bisect", "--tree", tree, "--good", good, "--bad", bad], place.path(), 2, words);
    };
    bisect("nope", "main", &["nope"]);
    bisect("main~1", "nope", &["nope"]);
    bisect("--help", "main", &[]);
    bisect("main", "main~0", &["the same commit"]);
    bisect("main", "main~2", &["are --good and --bad swapped?"]);
    git(&linux, &["checkout", "--quiet", "side"]);
    fs::write(linux.join("other"), "x").unwrap();
    git(&linux, &["add", "other"]);
    git(&linux, &["commit", "--quiet", "--message", "aside"]);
    bisect("side", "main", &["is no ancestor of", "fork at"]);
    let missing = place.path().join("missing");
    let words = [missing.to_str().unwrap()];
    fails(&["bisect", "--tree", words[0], "--good", "a", "--bad", "b"], place.path(), 2, &words);
}

#[test]
fn an_unknown_suite_test_or_patch_is_told_before_anything_is_built() {
    let place = tempfile::tempdir().unwrap();
    let linux = repository(place.path());
    let bisect = |more: &[&str], words: &[&str]| {
        let tree = linux.to_str().unwrap();
        let ends = ["bisect", "--tree", tree, "--good", "main~1", "--bad", "main"];
        fails(&[&ends[..], more].concat(), place.path(), 2, words);
    };
    bisect(&["--suite", "nope"], &["nope", "alignment"]);
    bisect(&["--test", "nope/*"], &["nope/*", "placement/"]);
    bisect(&["--with-patch", "nope.patch"], &["nope.patch"]);
}

#[test]
fn a_series_that_does_not_apply_is_told_before_anything_is_built() {
    let place = tempfile::tempdir().unwrap();
    let patch = root().join("README.md");
    fails(&["bisect", "--patches", patch.to_str().unwrap()], place.path(), 2, &["README.md"]);
    fails(&["bisect", "--patches", "nowhere"], place.path(), 2, &["nowhere"]);
}

#[test]
fn a_step_says_skip_and_nothing_else_whatever_goes_wrong() {
    let place = tempfile::tempdir().unwrap();
    let linux = repository(place.path());
    let tree = linux.to_str().unwrap();
    let step = |arguments: &[&str], words: &[&str]| {
        fails(&[&["bisect-step"], arguments].concat(), place.path(), 125, words);
    };
    step(&["--nope"], &["--nope"]);
    step(&[], &["--tree"]);
    step(&["--tree", "nowhere", "--test", "placement/4632KiB"], &["nowhere"]);
    step(&["--tree", tree, "--test", "nope/x"], &["nope/x"]);
    step(&["--tree", tree, "--test", "placement/*"], &["one test decides"]);
    step(&["--tree", tree, "--test", "placement/4632KiB", "--suite", "nope"], &["nope"]);
    // It is a repository, but no kernel's.
    step(&["--tree", tree, "--test", "placement/4632KiB"], &["skipped", "kernel"]);
    fs::write(linux.join("file"), "changed").unwrap();
    step(&["--tree", tree, "--test", "placement/4632KiB"], &["not committed", "--with-patch"]);
}

#[test]
fn the_users_repository_is_left_as_it_was() {
    let place = tempfile::tempdir().unwrap();
    let linux = repository(place.path());
    let before = listing(&linux);
    let tree = linux.to_str().unwrap();
    // A revision that is no kernel is looked at and skipped, as both ends are: so nothing is there to bisect.
    fails(
        &["bisect", "--tree", tree, "--good", "main~1", "--bad", "main"],
        &place.path().join("cache"),
        2,
        &["the good end cannot be built"],
    );
    assert_eq!(listing(&linux), before);
}

/// Every file of a folder with its size and time of change.
fn listing(folder: &Path) -> Vec<String> {
    let output = Command::new("find").arg(folder).args(["-printf", "%p %s %T@\n"]).output().unwrap();
    let mut lines: Vec<String> =
        String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect();
    lines.sort();
    lines
}
