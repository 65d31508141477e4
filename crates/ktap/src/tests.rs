use proptest::prelude::*;

use crate::{MAX_POINTS, State, parse};

fn told(text: &str) -> Vec<(String, String, State)> {
    let transcript = parse(text);
    assert_eq!(transcript.problems, Vec::<String>::new(), "{text}");
    transcript.points.iter().map(|point| (point.name(), point.description.clone(), point.state)).collect()
}

fn one(line: &str) -> (String, String, State) {
    let mut points = told(&format!("TAP version 13\n{line}\n"));
    assert_eq!(points.len(), 1, "{line}: {points:?}");
    points.remove(0)
}

fn problem(text: &str) -> String {
    parse(text).problems.first().cloned().unwrap_or_default()
}

#[test]
fn every_form_of_a_result_is_read() {
    for (line, name, description, state) in [
        ("ok 1 mremap", "point-1", "mremap", State::Passed),
        ("not ok 1 mremap", "point-1", "mremap", State::Failed),
        ("ok 7 - a name", "point-7", "a name", State::Passed),
        ("ok", "point-1", "", State::Passed),
        ("ok - no number", "point-1", "no number", State::Passed),
        ("not ok 2", "point-2", "", State::Failed),
        ("ok 1 a # SKIP no root", "point-1", "a", State::Skipped),
        ("not ok 1 a # skip", "point-1", "a", State::Skipped),
        ("ok 1 a # Skipped: why", "point-1", "a", State::Skipped),
        // As kselftest.h has it.
        ("ok 1 # SKIP cannot map", "point-1", "cannot map", State::Skipped),
        ("ok 1 # XFAIL overlapping", "point-1", "overlapping", State::Excused),
        ("not ok 1 a # TODO later", "point-1", "a", State::Excused),
        ("not ok 1 # error it broke", "point-1", "error it broke", State::Failed),
        ("not ok 1 a # TIMEOUT 30 seconds", "point-1", "a", State::Failed),
        ("ok 1 check # rcode=0", "point-1", "check", State::Passed),
        // A hash within a word is one of the name.
        ("ok 1 issue#7 holds", "point-1", "issue#7 holds", State::Passed),
        ("ok 1 at 0x7ffff7ff8000 of 0x10", "point-1", "at 0x… of 0x10", State::Passed),
    ] {
        assert_eq!(one(line), (name.to_owned(), description.to_owned(), state), "{line}");
    }
}

#[test]
fn words_that_look_like_it_are_no_results() {
    for text in ["okay 1\n", "TAP version x\nok1\n", "ok 1 a\nok 2 b\n", "# ok 1\n", "not okay\n", ""] {
        let transcript = parse(text);
        assert!(!transcript.is_ktap && transcript.points.is_empty(), "{text}");
    }
}

#[test]
fn a_point_that_was_promised_and_did_not_come_is_missing_and_never_a_pass() {
    let transcript = parse("TAP version 13\n1..3\nok 1 a\nBail out! mmap: no memory\n# Totals: pass:1\n");
    assert_eq!(transcript.bail_out.as_deref(), Some("mmap: no memory"));
    let states: Vec<State> = transcript.points.iter().map(|point| point.state).collect();
    assert_eq!(states, [State::Passed, State::Missing, State::Missing]);
}

#[test]
fn a_plan_of_nothing_says_why() {
    assert_eq!(parse("TAP version 13\n1..0 # SKIP no hugetlb\n").skipped.as_deref(), Some("no hugetlb"));
    assert_eq!(parse("1..0\n").skipped.as_deref(), Some("a plan of nothing"));
}

#[test]
fn what_is_out_of_order_is_a_problem() {
    assert_eq!(problem("1..2\nok 1 a\nok 1 b\nok 2 c\n"), "number 1 came twice");
    assert_eq!(problem("1..1\nok 1 a\nok 2 b\n"), "a plan promises 1 points, and number 2 came");
    assert_eq!(problem("1..1\n1..2\nok 1 a\nok 2 b\n"), "two plans that differ");
    assert!(problem("1..4000000000\n").contains("more than the 1500 allowed"));
    let flood: String = (1..=MAX_POINTS + 1).map(|number| format!("ok {number} x\n")).collect();
    assert!(problem(&format!("TAP version 13\n{flood}")).contains("more than the 1500 points allowed"));
}

#[test]
fn a_failure_carries_the_words_before_it() {
    let transcript = parse("TAP version 13\n1..2\nok 1 a\n# expected 1\n# got 2\nnot ok 2 b\n");
    assert_eq!(transcript.points[1].words, "expected 1; got 2");
}

/// The example of Documentation/dev-tools/ktap.rst.
const NESTED: &str = include_str!("../transcripts/nested.txt");
/// mremap_test of 6.12 on stock.
const MREMAP: &str = include_str!("../transcripts/mremap_test.txt");
/// ksm_functional_tests of 6.12 where it cannot execute itself: a child goes on as if it were its parent.
const KSM: &str = include_str!("../transcripts/ksm_functional_tests-twice.txt");

#[test]
fn nested_tests_have_the_numbers_of_their_parents() {
    use State::{Failed, Passed, Skipped};
    let names: Vec<(String, State)> =
        told(NESTED).into_iter().map(|(name, _, state)| (name, state)).collect();
    let expected = [
        ("point-1.1.1", Passed),
        ("point-1.1", Passed),
        ("point-1.2.1", Skipped),
        ("point-1.2.2", Passed),
        ("point-1.2", Passed),
        ("point-1.3.1", Passed),
        ("point-1.3.2", Failed),
        ("point-1.3.3", Skipped),
        ("point-1.3", Failed),
        ("point-1", Failed),
    ];
    assert_eq!(names, expected.map(|(name, state)| (name.to_owned(), state)));
    let short = NESTED.replacen("    ok 2 test_2\n", "", 1);
    assert_eq!(parse(&short).count(State::Missing), 1, "an inner plan counts too");
}

#[test]
fn real_transcripts_are_read() {
    let mremap = parse(MREMAP);
    assert_eq!(mremap.problems, [""; 0]);
    assert_eq!((mremap.count(State::Excused), mremap.count(State::Passed)), (3, 5));
    assert_eq!(mremap.count(State::Missing), 11);
    assert_eq!(problem(KSM), "number 8 came twice");
}

proptest! {
    #[test]
    fn no_text_makes_it_panic_or_grow(text in "(?s).{0,2000}") {
        prop_assert!(parse(&text).points.len() <= MAX_POINTS);
    }

    #[test]
    fn neither_does_text_that_is_almost_of_the_format(
        lines in prop::collection::vec((0usize..20, prop_oneof![
            Just("TAP version 13".to_owned()),
            "1\\.\\.[0-9]{1,11}( # SKIP x)?",
            "(not )?ok [0-9]{0,11}( - )?[a-z#\\\\äx0-9]{0,8}( # (SKIP|TODO|XFAIL|x))?",
            Just("# Subtest: a".to_owned()),
            Just("Bail out!".to_owned()),
        ]), 0..60)
    ) {
        let text: String = lines.iter().map(|(indent, line)| format!("{}{line}\n", " ".repeat(*indent))).collect();
        let transcript = parse(&text);
        prop_assert!(transcript.points.len() <= MAX_POINTS);
        let mut names: Vec<String> = transcript.points.iter().map(crate::Point::name).collect();
        names.sort();
        names.dedup();
        prop_assert!(names.len() == transcript.points.len() || !transcript.problems.is_empty());
    }

    #[test]
    fn a_plan_that_is_kept_leaves_nothing_missing(states in prop::collection::vec(any::<bool>(), 1..50)) {
        let lines: String = (1..).zip(&states)
            .map(|(number, ok)| format!("{} {number} x\n", if *ok { "ok" } else { "not ok" }))
            .collect();
        let transcript = parse(&format!("KTAP version 1\n1..{}\n{lines}", states.len()));
        prop_assert_eq!(transcript.count(State::Missing), 0);
        prop_assert_eq!(transcript.count(State::Failed), states.iter().filter(|ok| !**ok).count());
    }
}

#[test]
fn a_failure_that_is_not_understood_does_not_get_lost() {
    for text in [
        "TAP version 13\nok 1 a\nnot ok 2: b\n",
        "TAP version 13\nok 1 a\nnot ok 99999999999 b\n",
        "TAP version 13\nok 1 a\n  not ok 2 b\n",
    ] {
        assert!(!parse(text).problems.is_empty(), "{text}");
    }
}

#[test]
fn a_hash_in_a_description_does_not_hide_a_skip() {
    let found = parse("TAP version 13\n1..1\nok 1 count # of pages # SKIP no memory\n");
    assert_eq!(found.points[0].state, State::Skipped);
    assert_eq!(found.points[0].description, "count # of pages");
}

#[test]
fn promises_are_bounded_over_all_levels() {
    let text: String = (1..=200).map(|number| format!("    1..1500\n    ok 1 x\nok {number} y\n")).collect();
    let found = parse(&format!("TAP version 13\n{text}"));
    assert!(!found.problems.is_empty() && found.points.len() <= MAX_POINTS);
}
