//! `cargo xtask plan` as workflows call it.

#![expect(clippy::unwrap_used, reason = "a failed unwrap in a test is a failed test")]

use std::process::{Command, Output};

use serde_json::Value;

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
