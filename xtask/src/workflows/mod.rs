//! What the workflows call, checked without GitHub.
//!
//! Each `cargo xtask` line of a step, and of `.ci/run`, goes through the command line's own parser, with a sample for each variable,
//! once with all that may be left out and once without. And for each subcommand with these flags, [`RUN_BY`] names the test that
//! really runs it: a call that no test runs fails here, and so does a row whose test is gone or does not use a flag.

mod read;

use std::{collections::BTreeSet, fs, path::Path};

use clap::Parser;
use mthp_lab::Project;

use self::read::{Action, Call, Step, Workflow, calls, yaml};
use crate::{cli::Cli, commands::ci, validator};

/// What runs a call.
enum By {
    /// A test: its file in the checkout, and its name.
    Test(&'static str, &'static str),
    /// The very run of CI that runs this test: `.ci/run`, or the job of the long checks.
    Ci,
}
use By::{Ci, Test};

/// A subcommand with its flags, sorted, and what runs it.
const RUN_BY: &[(&str, By)] = &[
    (
        "announce --link --report",
        Test("xtask/tests/announce.rs", "an_issue_is_opened_once_and_then_added_to"),
    ),
    (
        "bisect --bad --check --good --report --setup --suite --tree",
        Test("xtask/tests/bisect_run.rs", "a_culprit_is_found_and_a_night_finds_the_regression"),
    ),
    (
        "bisect --bad --good --report --setup --suite --tree",
        Test("xtask/tests/bisect_run.rs", "a_culprit_is_found_and_a_night_finds_the_regression"),
    ),
    ("ci --full --setup", Ci),
    ("ci --setup", Ci),
    (
        "nightly --bisect --branch --host --report --setup --store --suite --tree",
        Test("xtask/tests/bisect_run.rs", "a_culprit_is_found_and_a_night_finds_the_regression"),
    ),
    (
        "plan --branch --format --suite --tree",
        Test("xtask/tests/plan.rs", "a_tree_of_ones_own_takes_the_place_of_the_targets"),
    ),
    ("plan --format", Test("xtask/tests/plan.rs", "githubs_form_is_one_line_with_every_field_of_every_job")),
    ("plan --format --regressions", Test("xtask/tests/plan.rs", "regressions_become_bisections")),
];

/// Variables of the workflows, and a value that each may have.
const SAMPLES: &[(&str, &str)] = &[
    ("BAD", "bad"),
    ("BRANCH", "master"),
    ("CHECK", "placement/4632KiB:neighbours-touch"),
    ("GOOD", "good"),
    ("RUN", "https://example.org/run/1"),
    ("SUITE", "memory"),
    ("TREE", "https://example.org/linux"),
];

fn root() -> std::path::PathBuf {
    Project::here().unwrap().root().to_owned()
}

fn workflows() -> Vec<(String, Workflow)> {
    let root = root();
    let paths = validator::workflows(&Project::here().unwrap()).unwrap();
    paths.iter().map(|path| (path.display().to_string(), yaml(&root.join(path)))).collect()
}

/// Every step, with the names of the variables that it has.
fn steps(workflow: &Workflow) -> Vec<(BTreeSet<&str>, &Step)> {
    workflow
        .jobs
        .values()
        .flat_map(|job| job.steps.iter().map(move |step| (job, step)))
        .map(|(job, step)| {
            let names = workflow.env.keys().chain(job.env.keys()).chain(step.env.keys());
            (names.map(String::as_str).collect(), step)
        })
        .collect()
}

/// The calls of a step, those of the project's own scripts included.
fn calls_of(step: &Step) -> Vec<Call> {
    let Some(script) = &step.run else { return Vec::new() };
    let own = script.trim();
    if own.starts_with(".ci/") {
        calls(&fs::read_to_string(root().join(own)).unwrap())
    } else {
        calls(script)
    }
}

/// All calls of all workflows as command lines.
fn command_lines() -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for (path, workflow) in &workflows() {
        for (env, step) in steps(workflow) {
            for call in calls_of(step) {
                for optional in [true, false] {
                    lines.push(call.expand(optional, |name| {
                        assert!(env.contains(name), "{path}: ${name} is not in the env of its step");
                        let sample = SAMPLES.iter().find(|(known, _)| *known == name);
                        sample
                            .unwrap_or_else(|| panic!("{path}: there is no sample for ${name}"))
                            .1
                            .to_owned()
                    }));
                }
            }
        }
    }
    lines.sort();
    lines.dedup();
    lines
}

/// The subcommand and its flags.
fn shape(line: &[String]) -> String {
    let flags: BTreeSet<&str> = (line.iter().skip(1))
        .filter(|word| word.starts_with("--"))
        .map(|word| word.split('=').next().unwrap_or_default())
        .collect();
    line.first().map(String::as_str).into_iter().chain(flags).collect::<Vec<_>>().join(" ")
}

#[test]
fn every_call_is_one_that_the_command_line_takes() {
    let lines = command_lines();
    assert!(lines.len() >= 5, "{lines:?}");
    for line in lines {
        let whole = ["cargo xtask"].into_iter().chain(line.iter().map(String::as_str));
        if let Err(error) = Cli::try_parse_from(whole) {
            panic!("a workflow calls cargo xtask {}\n{error}", line.join(" "));
        }
    }
}

#[test]
fn every_call_is_run_by_a_test() {
    let called: BTreeSet<String> = command_lines().iter().map(|line| shape(line)).collect();
    let known: BTreeSet<String> = RUN_BY.iter().map(|(shape, _)| (*shape).to_owned()).collect();
    assert_eq!(called, known, "left: what the workflows call; right: what RUN_BY has a test for");
    for (shape, by) in RUN_BY {
        let Test(file, name) = by else { continue };
        let text = fs::read_to_string(root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        is_run(file, &text, name);
        for word in shape.split(' ') {
            assert!(text.contains(&format!("\"{word}\"")), "{file}, which has {name}, never uses {word}");
        }
    }
}

/// It is a test; one that is ignored is run by a step of the checks.
fn is_run(file: &str, text: &str, name: &str) {
    let (before, _) =
        text.split_once(&format!("\nfn {name}() {{")).unwrap_or_else(|| panic!("{file} has no {name}"));
    let attributes: Vec<&str> = before.lines().rev().take_while(|line| line.starts_with("#[")).collect();
    assert!(attributes.contains(&"#[test]"), "{file}: {name} is no test");
    if attributes.iter().any(|line| line.starts_with("#[ignore")) {
        let stem = Path::new(file).file_stem().unwrap().to_str().unwrap();
        let runs = |(_, words): &ci::Step| words.contains(&stem) && words.contains(&"--ignored");
        assert!(ci::LONG_STORIES.iter().any(runs), "no step of the checks runs {name}, which is ignored");
    }
}

#[test]
fn a_script_has_no_expression_in_it() {
    // GitHub puts the value into the script's text: a branch may be called $(…).
    let action: Action = yaml(&root().join(".github/actions/prepare/action.yml"));
    let workflows = workflows();
    let steps = workflows.iter().flat_map(|(_, workflow)| workflow.jobs.values().flat_map(|job| &job.steps));
    for script in steps.chain(&action.runs.steps).filter_map(|step| step.run.as_ref()) {
        assert!(!script.contains("${{"), "{script}");
    }
}

#[test]
fn actions_are_pinned_to_a_major_version() {
    for (path, workflow) in &workflows() {
        for (_, step) in steps(workflow) {
            let Some(uses) = &step.uses else { continue };
            let version =
                uses.split_once("@v").is_some_and(|(_, version)| version.bytes().all(|b| b.is_ascii_digit()));
            let own =
                uses.strip_prefix("./").is_some_and(|path| root().join(path).join("action.yml").is_file());
            assert!(version || own, "{path}: {uses}");
        }
    }
}

#[test]
fn only_who_announces_may_write() {
    for (path, workflow) in &workflows() {
        assert_eq!(
            workflow.permissions.iter().collect::<Vec<_>>(),
            [(&"contents".to_owned(), &"read".to_owned())]
        );
        for (name, job) in &workflow.jobs {
            let writes: Vec<&String> =
                job.permissions.iter().filter(|(_, right)| *right == "write").map(|(what, _)| what).collect();
            let announces = job.steps.iter().flat_map(calls_of).any(|call| call.words[0] == "announce");
            assert_eq!(writes, if announces { vec!["issues"] } else { Vec::new() }, "{path}: {name}");
        }
    }
}
