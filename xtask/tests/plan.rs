//! `cargo xtask plan` as workflows call it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap in a test is a failed test")]

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};

fn plan(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.arg("plan").args(arguments).env("NO_COLOR", "1").env("PATH", "/nonexistent");
    command.output().unwrap()
}

fn stdout(arguments: &[&str]) -> String {
    let output = plan(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn refused(arguments: &[&str], words: &[&str]) {
    let output = plan(arguments);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
    assert!(output.stdout.is_empty(), "a workflow would read it");
    for word in words {
        assert!(said.contains(word), "{arguments:?} does not say {word:?}: {said}");
    }
}

#[test]
fn githubs_form_is_one_line_with_every_field_of_every_job() {
    let text = stdout(&["--format", "github", "--shards", "2"]);
    assert_eq!(text.lines().count(), 1, "{text}");
    let matrix: Value = serde_json::from_str(&text).unwrap();
    let jobs = matrix["include"].as_array().unwrap();
    assert!(jobs.len() >= 2 && jobs.len().is_multiple_of(2));
    for job in jobs {
        let fields: Vec<&str> = job.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(fields, ["branch", "kernel", "name", "partition", "shard", "shards", "suite", "tree"]);
        assert_eq!(job["tree"] == "", job["branch"] == "", "{job}");
        assert_ne!(job["tree"] == "", job["kernel"] == "", "{job}");
    }
    assert_eq!(jobs[1]["partition"], "count:2/2");
}

#[test]
fn a_kernel_and_a_suite_can_be_named() {
    let text = stdout(&["--kernel", "stock-6.1", "--suite", "swap", "--suite", "memory", "--format", "json"]);
    let jobs: Vec<Value> = serde_json::from_str(&text).unwrap();
    let names: Vec<&str> = jobs.iter().map(|job| job["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["stock-6.1_swap", "stock-6.1_memory"]);
    let text = stdout(&["--kernel", "stock-6.1"]);
    assert_eq!(text, "stock-6.1_memory  suite memory, shard 1/1, kernel stock-6.1\n");
}

#[test]
fn what_is_not_known_is_refused_with_what_there_is() {
    refused(&["--kernel", "nope"], &["'nope'", "mainline", "stock-6.12"]);
    refused(&["--suite", "nope"], &["'nope'", "alignment"]);
    refused(&["--shards", "0"], &["--shards"]);
    refused(&["--format", "gitlab"], &["gitlab", "github"]);
}

#[test]
fn more_jobs_than_github_takes_are_refused_for_github_only() {
    let many = ["--shards", "256", "--suite", "memory", "--suite", "swap", "--format"];
    refused(&[&many[..], &["github"]].concat(), &["GitHub takes 256 at most"]);
    assert!(stdout(&[&many[..], &["json"]].concat()).len() > 1000);
}

#[test]
fn a_tree_of_ones_own_takes_the_place_of_the_targets() {
    let tree = "https://example.org/linux.git";
    let text = stdout(&["--format", "github", "--tree", tree, "--branch", "a/b", "--suite", "swap"]);
    let matrix: Value = serde_json::from_str(&text).unwrap();
    let jobs = matrix["include"].as_array().unwrap();
    assert_eq!(jobs.len(), 1);
    assert_eq!([&jobs[0]["name"], &jobs[0]["tree"], &jobs[0]["branch"]], ["own_swap", tree, "a/b"]);
    refused(&["--tree", tree], &["--branch"]);
    refused(&["--branch", "a"], &["--tree"]);
    refused(&["--tree", tree, "--branch", "a", "--kernel", "mainline"], &["--kernel"]);
}

/// The report of a night that found `bad`, in the folder of an artifact.
fn night(folder: &Path, name: &str, bad: &str) {
    let folder = folder.join(name);
    fs::create_dir_all(&folder).unwrap();
    let night = json!({
        "status": "complete", "outcome": "regressed", "tree": "https://example.org/linux", "branch": "master",
        "suite": "memory", "revision": bad, "regressions": [
            {"good": "a".repeat(40), "bad": bad, "test": "placement/4632KiB", "check": "gap is \"0\"\n"},
        ],
    });
    fs::write(folder.join("nightly.json"), night.to_string().replace("\\n", "")).unwrap();
}

#[test]
fn regressions_become_bisections() {
    let place = tempfile::tempdir().unwrap();
    let folder = place.path().to_str().unwrap();
    assert_eq!(stdout(&["--format", "github", "--regressions", folder]), "{\"include\":[]}\n");
    night(place.path(), "nightly-mainline_memory", &"b".repeat(40));
    night(place.path(), "nightly-next_memory", &"c".repeat(40));
    let text = stdout(&["--format", "github", "--regressions", folder]);
    assert_eq!(text.lines().count(), 1, "{text}");
    let matrix: Value = serde_json::from_str(&text).unwrap();
    let found = matrix["include"].as_array().unwrap();
    assert_eq!(found.len(), 2);
    let fields: Vec<&str> = found[0].as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["bad", "branch", "check", "good", "name", "suite", "test", "tree"]);
    assert_eq!(found[1]["check"], "gap is \"0\"");
    let text = stdout(&["--regressions", folder]);
    assert!(text.contains("suite memory placement/4632KiB gap is"), "{text}");
}

#[test]
fn a_report_that_is_none_is_named() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("nightly.json"), "{").unwrap();
    refused(&["--regressions", place.path().to_str().unwrap()], &["nightly.json", "line 1"]);
    refused(&["--regressions", "/gone"], &["/gone"]);
    refused(&["--regressions", "/gone", "--suite", "swap"], &["--suite"]);
}
