use insta::assert_snapshot;
use mthp_judge::report::{AcceleratorRecord, SuiteRecord};

use super::*;
use crate::{
    record::{End, EndsRecord, Question, json_schema, one_in},
    target::Target,
};

fn id(n: u8) -> String {
    format!("{n:02x}").repeat(20)
}

fn revision(n: u8, subject: &str) -> Revision {
    Revision { id: id(n), parents: vec![id(n - 1)], subject: subject.to_owned() }
}

fn check(name: &str) -> Target {
    Target::Check { test: "placement/4632KiB".to_owned(), check: name.to_owned() }
}

fn tried(n: u8, finding: Finding, image: Option<&str>, same_as: Option<u8>) -> Tried {
    let booted = image.is_some() && same_as.is_none();
    Tried {
        id: id(n),
        subject: format!("mm: change number {n}"),
        finding,
        image: image.map(|letter| letter.repeat(64)),
        same_as: same_as.map(id),
        boots: u32::from(booted),
        build_millis: (n != 1).then_some(12_345),
        boot_millis: if booted { 3_456 } else { 0 },
    }
}

fn found(outcome: Outcome) -> Bisection {
    let end = |n: u8, asked: &str| End {
        asked: asked.to_owned(),
        id: id(n),
        subject: format!("mm: change number {n}"),
    };
    let question = Question {
        place: "/src/linux".to_owned(),
        good: end(1, "v6.12"),
        bad: end(9, "master"),
        base_sha256: None,
        series: Vec::new(),
        fragment_sha256: "aa".repeat(32),
        guest_sha256: "bb".repeat(32),
        accel: "auto".to_owned(),
        qemu: "7.2.22".to_owned(),
        suite: SuiteRecord { name: "alignment".to_owned(), sha256: "ef".repeat(32) },
        tests: Vec::new(),
        check: None,
        with_patches: Vec::new(),
        step_boots: 1,
        full_boots: 4,
    };
    let mut it = Bisection::unfinished("0.1.0", "2025-01-01T00:00:00Z", question);
    it.status = Status::Complete;
    it.reason = String::new();
    it.accelerator = Some(AcceleratorRecord { kind: "tcg".to_owned(), why: "no /dev/kvm".to_owned() });
    let differs = vec![check("neighbours-touch"), check("one-vma")];
    it.ends = Some(EndsRecord { target: check("neighbours-touch"), differs, alone: true, revisions: 8 });
    let skipped = Finding::skipped("it does not build: mm/mmap.c:7:1: error: \u{1b}[31mno");
    it.tried = vec![
        tried(1, Finding::Good, Some("a"), None),
        tried(9, Finding::Bad, Some("b"), None),
        tried(5, skipped, None, None),
        tried(4, Finding::Good, Some("a"), Some(1)),
        tried(6, Finding::Bad, Some("c"), None),
    ];
    it.git_log = Some("# bad: x\ngit bisect start 'x' 'y'\n".to_owned());
    it.wall_millis = 125_000;
    it.outcome = Some(outcome);
    it
}

fn culprit() -> Bisection {
    let revision = revision(6, "mm: align `all` \u{1b}[2Jmaps");
    let mut it = found(Outcome::Culprit { revision, author: Some("A. Author <a@example.org>".to_owned()) });
    let sight = |n, finding| Sight { id: id(n), boots: 4, finding };
    it.verification = Some(Verification {
        suspect: sight(6, Finding::Bad),
        parents: vec![sight(5, Finding::Good)],
        one_in: one_in(4),
        explained: vec![check("neighbours-touch")],
        unexplained: vec![check("one-vma")],
    });
    it
}

#[test]
fn a_culprit_with_all_that_was_seen() {
    assert_snapshot!(render(&culprit(), "report/x"));
}

#[test]
fn nothing_a_subject_says_reaches_the_terminal_or_leaves_its_fence() {
    assert!(!render(&culprit(), "r").contains('\u{1b}'));
    let mut it = culprit();
    if let Some(one) = it.tried.first_mut() {
        one.subject = "````".to_owned();
    }
    assert!(markdown(&it, "r").starts_with("`````text\n"));
}

#[test]
fn every_other_outcome_names_no_single_commit() {
    let candidates = vec![revision(5, "broken"), revision(6, "bad")];
    let flaky = vec!["placement/4632KiB: neighbours-touch held in 2 of 4 good boots".to_owned()];
    let headlines = [
        Outcome::Range { candidates },
        Outcome::Unconfirmed {
            suspect: revision(6, "bad"),
            why: "its parent 050505050505 is bad".to_owned(),
        },
        Outcome::ComesAndGoes { bad: revision(4, "bad"), good: revision(7, "good") },
        Outcome::Flaky { what: flaky },
    ]
    .map(|outcome| headline(&found(outcome)));
    assert_snapshot!(headlines.join("\n"));
}

#[test]
fn a_killed_run_says_that_it_is_unfinished() {
    let mut it = culprit();
    it.status = Status::Unfinished;
    it.reason = "the bisection did not finish".to_owned();
    assert_eq!(headline(&it), "bisect: unfinished: the bisection did not finish");
}

#[test]
fn the_file_follows_its_schema_and_survives_it() {
    let json = serde_json::to_value(culprit()).unwrap();
    let schema = jsonschema::validator_for(&json_schema()).unwrap();
    let problems: Vec<_> = schema.iter_errors(&json).map(|error| error.to_string()).collect();
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(serde_json::from_value::<Bisection>(json).unwrap(), culprit());
}
