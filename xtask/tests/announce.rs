//! `cargo xtask announce` with a `gh` that keeps issues in a folder. Nothing here reaches GitHub.

#![expect(clippy::unwrap_used, reason = "a failed unwrap in a test is a failed test")]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use serde_json::{Value, json};

/// Notes each argument of each call, gives the issues that there are, and keeps the bodies that it gets.
const GH: &str = r#"#!/bin/sh
cd "$(dirname "$0")" || exit 9
{ printf '%s\0' "$@"; printf '\n\0'; } >> calls
for last; do :; done
case "$1 $2" in
    "issue list") cat issues ;;
    "label list") cat labels ;;
    "issue create") cat "$last" >> bodies; echo "Creating issue"; echo "https://example.org/issues/7" ;;
    "issue comment") cat "$last" >> bodies ;;
esac
[ ! -e "fail-$1-$2" ] || { echo "HTTP 502: no luck" >&2; exit 1; }
"#;

struct Place {
    folder: tempfile::TempDir,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let place = Self { folder };
        fs::create_dir(place.path("bin")).unwrap();
        fs::create_dir(place.path("reports")).unwrap();
        let gh = place.path("bin/gh");
        fs::write(&gh, GH).unwrap();
        fs::set_permissions(&gh, fs::Permissions::from_mode(0o755)).unwrap();
        place.has(&[]);
        fs::write(place.path("bin/labels"), r#"[{"name":"regression"}]"#).unwrap();
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// The open issues that gh tells of: each a body and its comments.
    fn has(&self, issues: &[(&str, &[&str])]) {
        let list: Vec<Value> = (1..)
            .zip(issues)
            .map(|(number, (body, comments))| {
                let comments: Vec<Value> = comments.iter().map(|body| json!({"body": body})).collect();
                json!({"url": format!("https://example.org/issues/{number}"), "body": body, "comments": comments})
            })
            .collect();
        fs::write(self.path("bin/issues"), json!(list).to_string()).unwrap();
    }

    fn report(&self, name: &str, bisection: &Value) {
        let folder = self.path("reports").join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("bisect.json"), bisection.to_string()).unwrap();
    }

    fn announce(&self, more: &[&str]) -> Output {
        let path = format!("{}:/usr/bin:/bin", self.path("bin").display());
        self.announce_with(&path, more)
    }

    fn announce_with(&self, path: &str, more: &[&str]) -> Output {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command.args(["announce", "--report"]).arg(self.path("reports")).args(more);
        command.env("PATH", path).env("NO_COLOR", "1").output().unwrap()
    }

    /// What gh was called with, but for the paths of bodies.
    fn calls(&self) -> Vec<Vec<String>> {
        let text = fs::read_to_string(self.path("bin/calls")).unwrap_or_default();
        let calls = text.split_terminator("\n\0").map(|call| {
            call.split_terminator('\0')
                .filter(|argument| !Path::new(argument).is_absolute())
                .map(str::to_owned)
                .collect()
        });
        calls.collect()
    }

    fn bodies(&self) -> String {
        fs::read_to_string(self.path("bin/bodies")).unwrap_or_default()
    }

    /// How often gh was asked to open an issue, and to comment on one.
    fn done(&self) -> (usize, usize) {
        let count = |what: &str| self.calls().iter().filter(|call| call[1] == what).count();
        (count("create"), count("comment"))
    }
}

fn bisection(id: &str, subject: &str, bad: &str) -> Value {
    let end = |letter: &str| json!({"asked": letter.repeat(40), "id": letter.repeat(40), "subject": "s"});
    let target = json!({"kind": "check", "test": "placement/4632KiB", "check": "neighbours-touch"});
    json!({
        "schema_version": 1, "tool_version": "0.1.0", "created": "2026-01-01T00:00:00Z", "status": "complete",
        "reason": "", "accelerator": null, "qemu": null, "host": null, "tried": [], "verification": null,
        "git_log": "# in words", "wall_millis": 1,
        "question": {
            "place": "https://example.org/linux", "good": end("a"), "bad": end(bad), "tests": [], "check": null,
            "suite": {"name": "memory", "sha256": ""}, "with_patches": [], "base_sha256": null, "series": [],
            "fragment_sha256": "", "guest_sha256": "", "accel": "auto", "qemu": "", "step_boots": 1, "full_boots": 4,
        },
        "ends": {"differs": [target], "target": target, "alone": true, "revisions": 3},
        "outcome": {"kind": "culprit", "revision": revision(id, subject), "author": null},
    })
}

fn revision(id: &str, subject: &str) -> Value {
    json!({"id": id.repeat(40), "parents": [], "subject": subject})
}

fn stdout(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn fails(output: &Output, code: i32, words: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}");
    for word in words {
        assert!(said.contains(word), "{word:?} is missing: {said}");
    }
}

#[test]
fn an_issue_is_opened_once_and_then_added_to() {
    let place = Place::new();
    place.report("one", &bisection("c", "mm: align", "b"));
    let link = ["--link", "https://example.org/run/1"];
    let said = stdout(&place.announce(&link));
    assert_eq!(
        said,
        "opened: https://example.org/issues/7 cccccccccccc broke neighbours-touch of placement/4632KiB: mm: align\n"
    );
    let list = ["issue", "list", "--state", "open", "--label", "regression", "--limit", "1000", "--json"];
    let calls = place.calls();
    assert_eq!(calls[0][..9], list);
    let title = "--title=cccccccccccc broke neighbours-touch of placement/4632KiB: mm: align";
    assert_eq!(calls[2], ["issue", "create", "--label", "regression", title, "--body-file"]);
    let body = place.bodies();
    assert!(body.contains("\n# in words\n") && body.contains("<https://example.org/run/1>"), "{body}");

    place.has(&[("another", &[]), (&body, &["thanks"])]);
    assert!(
        stdout(&place.announce(&link)).starts_with("told before: https://example.org/issues/2 cccccccccccc ")
    );
    assert_eq!(place.done(), (1, 0));

    place.report("one", &bisection("c", "mm: align", "d"));
    assert!(
        stdout(&place.announce(&link)).starts_with("told anew: https://example.org/issues/2 cccccccccccc ")
    );
    assert_eq!(place.done(), (1, 1));
    assert_eq!(place.calls().last().unwrap()[..3], ["issue", "comment", "https://example.org/issues/2"]);
    let comment = place.bodies()[body.len()..].to_owned();
    place.has(&[(&body, &["thanks", &comment])]);
    assert!(stdout(&place.announce(&link)).starts_with("told before: "));
}

#[test]
fn two_bisections_that_find_one_culprit_open_one_issue() {
    let place = Place::new();
    place.report("1_memory", &bisection("c", "s", "b"));
    place.report("2_alignment", &bisection("c", "s", "d"));
    place.report("3_other", &bisection("e", "s", "b"));
    let said = stdout(&place.announce(&[]));
    let words: Vec<&str> = said.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(words, ["opened", "told anew", "opened"]);
}

#[test]
fn a_hash_in_the_words_of_a_stranger_is_not_taken_for_the_issue() {
    let place = Place::new();
    place.report("one", &bisection("c", "s", "b"));
    let words = format!("{} broke my machine", "c".repeat(40));
    place.has(&[(&words, &[])]);
    assert!(stdout(&place.announce(&[])).starts_with("opened: "));
}

#[test]
fn the_label_is_made_where_there_is_none() {
    let place = Place::new();
    fs::write(place.path("bin/labels"), r#"[{"name":"regression-old"}]"#).unwrap();
    place.report("one", &bisection("c", "s", "b"));
    stdout(&place.announce(&[]));
    assert_eq!(place.calls()[2][..3], ["label", "create", "regression"]);
}

#[test]
fn hostile_words_reach_gh_as_one_argument_and_nothing_else() {
    let place = Place::new();
    let subject = "$(touch pwned) `touch pwned`; touch pwned\n--repo=evil\u{1b}[2J @everyone \"'\\";
    place.report("one", &bisection("c", subject, "b"));
    stdout(&place.announce(&[]));
    let calls = place.calls();
    let create = calls.iter().find(|call| call[1] == "create").unwrap();
    assert_eq!(create.len(), 6, "{create:?}");
    assert!(
        create[4].contains("$(touch pwned) `touch pwned`; touch pwned --repo=evil\u{fffd}[2J @everyone"),
        "{create:?}"
    );
    assert!(!place.path("bin/pwned").exists());
    let body = place.bodies();
    assert!(!body.contains('\u{1b}') && body.contains("\n```text\n"), "{body}");
}

#[test]
fn a_bisection_without_a_culprit_blames_nobody() {
    let place = Place::new();
    let mut range = bisection("c", "s", "b");
    range["outcome"] = json!({"kind": "range", "candidates": [revision("d", "s"), revision("e", "s")]});
    place.report("range", &range);
    let mut unfinished = bisection("c", "s", "b");
    unfinished["status"] = json!("unfinished");
    unfinished["reason"] = json!("it was killed");
    place.report("unfinished", &unfinished);
    let output = place.announce(&[]);
    assert_eq!(
        stdout(&output),
        "opened: https://example.org/issues/7 One of 2 commits broke neighbours-touch of placement/4632KiB: dddddddddddd to eeeeeeeeeeee\n"
    );
    fails(&output, 0, &["not announced", "unfinished/bisect.json", "it was killed"]);
}

#[test]
fn a_dry_run_prints_and_calls_nothing() {
    let place = Place::new();
    place.report("one", &bisection("c", "s", "b"));
    let said = stdout(&place.announce_with("/nonexistent", &["--dry-run"]));
    assert!(
        said.starts_with("title: cccccccccccc broke neighbours-touch")
            && said.contains("the first bad commit"),
        "{said}"
    );
    assert!(place.calls().is_empty());
}

#[test]
fn a_missing_gh_is_named() {
    let place = Place::new();
    place.report("one", &bisection("c", "s", "b"));
    fails(
        &place.announce_with("/nonexistent", &[]),
        69,
        &["failed to list the open issues", "\"gh\"", "\"issue\" \"list\""],
    );
}

#[test]
fn a_gh_that_fails_is_shown_with_its_command_and_words() {
    for (what, words) in [
        ("issue-list", ["failed to list the open issues", "gh issue list"]),
        ("label-list", ["failed to make the label", "gh label list"]),
        ("issue-create", ["failed to open an issue", "gh issue create"]),
    ] {
        let place = Place::new();
        place.report("one", &bisection("c", "s", "b"));
        fs::write(place.path(&format!("bin/fail-{what}")), "").unwrap();
        fails(&place.announce(&[]), 69, &[words[0], words[1], "HTTP 502: no luck"]);
    }
    let place = Place::new();
    place.report("one", &bisection("c", "s", "b"));
    fs::write(place.path("bin/issues"), "<html>").unwrap();
    fails(&place.announce(&[]), 69, &["failed to read what gh said", "issue"]);
    assert_eq!(place.done(), (0, 0));
}

#[test]
fn a_report_that_is_none_does_not_keep_the_others_back() {
    let place = Place::new();
    fails(&place.announce(&[]), 2, &["failed to find bisect.json", "reports"]);
    place.report("a", &json!({"status": "complete"}));
    place.report("b", &bisection("c", "s", "b"));
    let output = place.announce(&[]);
    fails(&output, 2, &["a/bisect.json", "schema_version"]);
    assert!(String::from_utf8_lossy(&output.stdout).starts_with("opened: "));
    fails(&place.announce(&["--link", "javascript:x"]), 2, &["--link", "https://"]);
}
