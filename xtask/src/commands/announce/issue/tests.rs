use mthp_bisect::{
    finding::Finding,
    record::{End, EndsRecord, Question, Tried},
    target::Target,
};
use mthp_judge::report::SuiteRecord;
use proptest::prelude::*;

use super::*;

const LINK: &str = "https://example.org/run/1";

fn end(letter: &str) -> End {
    End { asked: letter.repeat(40), id: letter.repeat(40), subject: String::new() }
}

fn found(outcome: Outcome) -> Bisection {
    let question = Question {
        place: "https://example.org/linux".to_owned(),
        good: end("a"),
        bad: end("b"),
        base_sha256: None,
        series: Vec::new(),
        fragment_sha256: String::new(),
        guest_sha256: String::new(),
        accel: "auto".to_owned(),
        qemu: String::new(),
        suite: SuiteRecord { name: "memory".to_owned(), sha256: String::new() },
        tests: Vec::new(),
        check: None,
        with_patches: Vec::new(),
        step_boots: 1,
        full_boots: 4,
    };
    let mut it = Bisection::unfinished("0.1.0", "2026-01-01T00:00:00Z", question);
    let target = Target::Check { test: "placement/4632KiB".to_owned(), check: "neighbours-touch".to_owned() };
    it.ends = Some(EndsRecord { differs: vec![target.clone()], target, alone: true, revisions: 8 });
    it.status = Status::Complete;
    it.outcome = Some(outcome);
    it
}

fn revision(letter: &str, subject: &str) -> Revision {
    Revision { id: letter.repeat(40), parents: Vec::new(), subject: subject.to_owned() }
}

fn culprit(subject: &str) -> Bisection {
    found(Outcome::Culprit {
        revision: revision("c", subject),
        author: Some("A. Hacker <a@example.org>".to_owned()),
    })
}

fn tried(subject: &str) -> Tried {
    Tried {
        id: "c".repeat(40),
        subject: subject.to_owned(),
        finding: Finding::skipped(subject),
        image: None,
        same_as: None,
        boots: 0,
        build_millis: None,
        boot_millis: 0,
    }
}

fn of(it: &Bisection) -> Announcement {
    Announcement::of(it, Some(LINK)).unwrap()
}

#[test]
fn a_culprit_is_named_with_what_it_broke() {
    let it = of(&culprit("mm: align \"all\""));
    insta::assert_snapshot!(format!("{}\n\n{}", it.title, it.body()));
}

#[test]
fn without_a_culprit_no_commit_is_blamed() {
    let [d, e] = [revision("d", "one"), revision("e", "two")];
    let titles = [
        Outcome::Range { candidates: vec![d.clone(), e.clone()] },
        Outcome::Unconfirmed { suspect: d.clone(), why: "its parent fails too".to_owned() },
        Outcome::Flaky { what: vec!["neighbours-touch in 2 of 4 boots".to_owned()] },
        Outcome::ComesAndGoes { bad: d, good: e },
    ]
    .map(|outcome| of(&found(outcome)).title);
    insta::assert_snapshot!(titles.join("\n"));
}

#[test]
fn what_did_not_end_is_not_announced() {
    for status in [Status::Unfinished, Status::Interrupted, Status::Refused, Status::Failed] {
        assert_eq!(Announcement::of(&Bisection { status, ..culprit("s") }, None), None, "{status:?}");
    }
    assert_eq!(Announcement::of(&Bisection { outcome: None, ..culprit("s") }, None), None);
}

#[test]
fn one_culprit_has_one_marker_whatever_was_asked() {
    let first = of(&culprit("s"));
    let mut later = culprit("s");
    later.question.bad = end("f");
    later.question.suite.name = "alignment".to_owned();
    let later = of(&later);
    assert_eq!(first.marker, later.marker);
    assert_ne!(first.seen, later.seen);
    let other = found(Outcome::Culprit { revision: revision("d", "s"), author: None });
    assert_ne!(first.marker, of(&other).marker);
    let flaky = |what: &str| of(&found(Outcome::Flaky { what: vec![what.to_owned()] }));
    assert_eq!(flaky("2 of 4").marker, flaky("3 of 4").marker);
}

#[test]
fn all_that_is_followed_has_a_name() {
    let names = [
        Some(Target::AllChecks { test: "t/a".to_owned() }),
        Some(Target::Crash { test: "t/a".to_owned(), how: "signal 11".to_owned() }),
        Some(Target::Agreement { test: "t/a".to_owned(), agreement: "bits".to_owned(), good: String::new() }),
        None,
    ]
    .map(|target| {
        let mut it = culprit("s");
        it.ends = target.map(|target| EndsRecord { differs: Vec::new(), target, alone: true, revisions: 1 });
        followed(&it)
    });
    assert_eq!(names, ["t/a", "t/a", "bits of t/a", "the suite memory"]);
}

#[test]
fn what_is_too_long_is_cut_and_stays_in_its_fence() {
    let mut it = culprit("s");
    it.git_log = Some("ä line of the log\n".repeat(10_000));
    let body = of(&it).body();
    assert!(body.chars().count() < 65_536);
    assert!(
        body.ends_with(
            "… cut here: bisect.json has all of it\n```\n\nAll files: <https://example.org/run/1>\n"
        )
    );
}

proptest! {
    #[test]
    fn nothing_hostile_leaves_the_fence(
        subject in "[`<>@#\\-!a\\n\\r\u{1b}\u{202e}\\[\\]()]{0,400}",
        log in "[`~<>@#\\-! a\\n\u{1b}]{0,400}",
    ) {
        let mut it = culprit(&subject);
        it.tried = vec![tried(&subject)];
        it.question.place = subject;
        it.git_log = Some(log);
        let it = of(&it);
        prop_assert!(it.title.chars().count() <= TITLE && !it.title.contains(char::is_control));
        let body = it.body();
        prop_assert!(!body.contains(|c: char| c.is_control() && c != '\n'));
        let lines: Vec<&str> = body.lines().collect();
        let fence = lines[2].strip_suffix("text").unwrap();
        let closed: Vec<usize> = (3..lines.len()).filter(|&at| lines[at].trim_start().starts_with(fence)).collect();
        prop_assert_eq!(&closed, &[lines.len() - 3], "{}", body);
        prop_assert_eq!(lines[lines.len() - 1], "All files: <https://example.org/run/1>");
    }
}
