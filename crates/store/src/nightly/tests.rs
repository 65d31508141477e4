use insta::assert_snapshot;

use super::*;

fn revision() -> Revision {
    Revision {
        commit: "ab".repeat(20),
        subject: "mm: align \u{1b}[31mall maps".to_owned(),
        committed: "2025-01-01T00:00:00Z".to_owned(),
        position: None,
    }
}

fn regressed(target: &str) -> Regressed {
    Regressed {
        target: target.to_owned(),
        test: Some("placement/4632KiB".to_owned()),
        check: Some("neighbours-touch".to_owned()),
        good: "12".repeat(20),
        bad: "ab".repeat(20),
        culprit: None,
        known: false,
        undecided: None,
    }
}

fn night(outcome: &Outcome) -> Nightly {
    let mut it = Nightly::unfinished("0.1.0", "2025-01-02T02:17:00Z", "/src/linux", "main", "memory");
    it.status = Status::Complete;
    it.revision = Some(revision());
    it.compared_with = Some(Compared { created: "2025-01-01T02:17:00Z".to_owned(), commit: "12".repeat(20) });
    it.store = "history.sqlite".to_owned();
    it.conclude(outcome);
    it
}

fn worse() -> Nightly {
    let mut it = night(&Outcome::Regressed { reason: "worse: 4 checks".to_owned() });
    let commit = Culprit::Commit { commit: "cd".repeat(20), subject: "mm: break it".to_owned() };
    let range = Culprit::Range { good: "12".repeat(20), bad: "ab".repeat(20) };
    it.regressions = vec![
        Regressed { culprit: Some(commit), known: true, ..regressed("a: one") },
        Regressed { culprit: Some(range), ..regressed("b: two") },
        Regressed { undecided: Some("failed to find a difference".to_owned()), ..regressed("c: three") },
        regressed("d: four"),
    ];
    it
}

#[test]
fn what_is_worse_is_named_with_what_brought_it() {
    assert_snapshot!(render(&worse(), "report/x"));
}

#[test]
fn each_outcome_has_its_headline() {
    let reason = || "the reason".to_owned();
    let mut first = night(&Outcome::Good);
    first.compared_with = None;
    let all = [
        first,
        night(&Outcome::Good),
        night(&Outcome::Failed { reason: reason() }),
        night(&Outcome::Unjudged { reason: reason() }),
        Nightly::unfinished("0.1.0", "2025-01-02T02:17:00Z", "/src/linux", "main", "memory"),
    ];
    assert_snapshot!(all.map(|night| render(&night, "r")).join("---\n"));
}

#[test]
fn the_file_follows_its_schema_and_refuses_unknown_fields() {
    let mut json = serde_json::to_value(worse()).unwrap();
    let schema = jsonschema::validator_for(&json_schema()).unwrap();
    let problems: Vec<_> = schema.iter_errors(&json).map(|error| error.to_string()).collect();
    assert_eq!(problems, Vec::<String>::new());
    assert_eq!(serde_json::from_value::<Nightly>(json.clone()).unwrap(), worse());
    json["surprise"] = true.into();
    assert!(serde_json::from_value::<Nightly>(json).is_err());
}
