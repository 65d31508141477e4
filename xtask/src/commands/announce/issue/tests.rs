use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn report(outcome: Value) -> Value {
    json!({
        "schema_version": 1, "status": "complete", "reason": "",
        "question": {
            "place": "https://example.org/linux", "suite": {"name": "memory", "sha256": ""},
            "good": {"asked": "v6.11", "id": "a".repeat(40), "subject": "g"},
            "bad": {"asked": "master", "id": "b".repeat(40), "subject": "b"},
        },
        "ends": {"target": {"kind": "check", "test": "placement/4632KiB", "check": "neighbours-touch"}},
        "outcome": outcome,
    })
}

fn revision(id: &str, subject: &str) -> Value {
    json!({"id": id.repeat(40), "parents": [], "subject": subject})
}

fn culprit(subject: &str) -> Value {
    json!({"kind": "culprit", "revision": revision("c", subject), "author": "A. Hacker <a@example.org>"})
}

fn of(report: &Value, summary: &str) -> Announcement {
    let found = Found::parse(&report.to_string()).unwrap();
    Announcement::of(&found, summary, Some("https://example.org/run/1")).unwrap()
}

#[test]
fn a_culprit_is_named_with_what_it_broke() {
    let it =
        of(&report(culprit("mm: align \"all\"")), "```text\nbisect: the first bad commit\n\n  table\n```\n");
    insta::assert_snapshot!(format!("{}\n\n{}", it.title, it.body()));
}

#[test]
fn without_a_culprit_no_commit_is_blamed() {
    let range = json!({"kind": "range", "candidates": [revision("d", "one"), revision("e", "two")]});
    let comes = json!({"kind": "comes-and-goes", "bad": revision("d", "one"), "good": revision("e", "two")});
    let said = [
        range,
        json!({"kind": "unconfirmed", "suspect": revision("d", "one"), "why": "its parent fails too"}),
        json!({"kind": "flaky", "what": ["neighbours-touch in 2 of 4 boots"]}),
        comes,
    ]
    .map(|outcome| {
        let it = of(&report(outcome), "");
        assert!(!it.body().contains("first bad commit: "), "{}", it.body());
        format!("{}\n\n{}", it.title, it.body())
    });
    insta::assert_snapshot!(said.join("\n"));
}

#[test]
fn what_did_not_end_is_not_announced() {
    for status in ["unfinished", "interrupted", "refused", "failed"] {
        let mut report = report(culprit("s"));
        report["status"] = json!(status);
        let found = Found::parse(&report.to_string()).unwrap();
        assert_eq!(Announcement::of(&found, "", None), None, "{status}");
    }
    let found = Found::parse(&report(json!(null)).to_string()).unwrap();
    assert_eq!(Announcement::of(&found, "", None), None);
}

#[test]
fn one_culprit_has_one_marker_whatever_was_asked() {
    let first = of(&report(culprit("s")), "");
    let mut later = report(culprit("s"));
    later["question"]["bad"]["id"] = json!("f".repeat(40));
    later["question"]["suite"]["name"] = json!("alignment");
    let later = of(&later, "other words");
    assert_eq!(first.marker, later.marker);
    assert_ne!(first.seen, later.seen);
    let mut other = report(culprit("s"));
    other["outcome"]["revision"]["id"] = json!("d".repeat(40));
    assert_ne!(first.marker, of(&other, "").marker);
    let flaky = |what: &str| report(json!({"kind": "flaky", "what": [what]}));
    assert_eq!(of(&flaky("2 of 4"), "").marker, of(&flaky("3 of 4"), "").marker);
}

#[test]
fn each_kind_of_thing_that_is_followed_has_a_name() {
    for (ends, name) in [
        (
            json!({"target": {"kind": "cost", "test": "t/a", "gate": {"metric": "gap-kib", "floor": 1}, "good": 0}}),
            "gap-kib of t/a",
        ),
        (
            json!({"target": {"kind": "agreement", "test": "t/a", "agreement": "bits", "good": "x"}}),
            "bits of t/a",
        ),
        (json!({"target": {"kind": "all-checks", "test": "t/a"}}), "t/a"),
        (json!({"target": {"kind": "crash", "test": "t/a"}}), "t/a"),
        (json!({"target": {"kind": "kernel", "signature": {}}}), "the kernel itself"),
        (json!(null), "the suite memory"),
    ] {
        let mut report = report(culprit("s"));
        report["ends"] = ends;
        assert_eq!(Found::parse(&report.to_string()).unwrap().followed(), name);
    }
}

#[test]
fn a_long_summary_is_cut_and_stays_in_its_fence() {
    let it = of(&report(culprit("s")), &"ä line of the table\n".repeat(10_000));
    let body = it.body();
    assert!(body.chars().count() < 65_536);
    assert!(
        body.contains("… cut here") && body.contains("\n```\n\nAll files: <https://example.org/run/1>\n")
    );
}

proptest! {
    #[test]
    fn nothing_hostile_leaves_the_fence(
        subject in "[`<>@#\\-!a\\n\\r\u{1b}\u{202e}\\[\\]()]{0,400}",
        summary in "[`~<>@#\\-! a\\n\u{1b}]{0,400}",
    ) {
        let it = of(&report(culprit(&subject)), &summary);
        prop_assert!(it.title.chars().count() <= 200 && !it.title.contains(char::is_control));
        let body = it.body();
        prop_assert!(!body.contains(|c: char| c.is_control() && c != '\n'));
        let lines: Vec<&str> = body.lines().collect();
        let fence = lines[2].strip_suffix("text").unwrap();
        let closed: Vec<usize> = (3..lines.len()).filter(|&at| lines[at].trim_start().starts_with(fence)).collect();
        prop_assert_eq!(&closed, &[lines.len() - 3], "{}", body);
        prop_assert_eq!(lines[lines.len() - 1], "All files: <https://example.org/run/1>");
    }
}
