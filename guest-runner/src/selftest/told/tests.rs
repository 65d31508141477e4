use std::collections::BTreeMap;

use mthp_record::result::TestResult;

use super::*;

fn selftest(varies: &[&str]) -> Selftest {
    Selftest {
        name: "kselftest-mm/x".to_owned(),
        program: "x".to_owned(),
        arguments: Vec::new(),
        needs: Vec::new(),
        settings: BTreeMap::new(),
        varies: varies.iter().map(|&pattern| pattern.to_owned()).collect(),
    }
}

fn ran(output: &str, code: i32) -> Ran {
    Ran { end: End::Exit(code), output: output.to_owned(), complaints: String::new(), cut: false }
}

fn tell(varies: &[&str], ran: &Ran) -> Result<TestResult> {
    let mut findings = Findings::default();
    report(&selftest(varies), ran, &mut findings)?;
    Ok(findings.into_result("kselftest-mm/x"))
}

fn checks(result: &TestResult) -> Vec<(&str, bool)> {
    result.checks.iter().map(|check| (check.name.as_str(), check.passed)).collect()
}

fn inapplicable(output: &str, code: i32) -> String {
    let error = tell(&[], &ran(output, code)).unwrap_err();
    error.downcast_ref::<Inapplicable>().unwrap().0.clone()
}

#[test]
fn each_point_is_a_check_and_so_is_the_exit_status() {
    let result =
        tell(&[], &ran("TAP version 13\n1..3\nok 1 a\n# why\nnot ok 2 b\nok 3 # SKIP c\n", 1)).unwrap();
    assert_eq!(checks(&result), [("point-1", true), ("point-2", false), ("exit-status", false)]);
    assert_eq!(result.checks[1].promise, "b");
    assert_eq!(result.checks[1].observed, "not ok: why");
    // A skipped point is told and is no pass.
    assert_eq!((result.metrics[0].name.as_str(), result.metrics[0].value), ("skipped", 1));
    assert!(result.evidence["skipped"].contains("point-3"));
}

#[test]
fn a_program_that_gives_up_fails_the_points_it_promised() {
    let result = tell(&[], &ran("TAP version 13\n1..2\nok 1 a\nBail out! mmap: no memory\n", 1)).unwrap();
    assert_eq!(checks(&result), [("point-1", true), ("point-2", false), ("exit-status", false)]);
    assert!(result.checks[1].observed.contains("Bail out! mmap: no memory"), "{}", result.checks[1].observed);
}

#[test]
fn fewer_points_than_promised_with_success_are_an_error() {
    let error = tell(&[], &ran("TAP version 13\n1..2\nok 1 a\n", 0)).unwrap_err();
    assert_eq!(error.to_string(), "the program promises 2 test points and ends with success after 1");
}

#[test]
fn what_skips_all_is_not_applicable() {
    assert_eq!(inapplicable("TAP version 13\n1..0 # SKIP no root\n", 4), "no root");
    assert_eq!(inapplicable("TAP version 13\n1..2\nok 1 # SKIP no pages\n", 4), "no pages");
    assert_eq!(inapplicable("Not enough huge pages\n", 4), "Not enough huge pages");
    assert_eq!(
        inapplicable("TAP version 13\n# Totals: pass:0\n", 0),
        "it ends with success without a test point"
    );
}

#[test]
fn a_program_that_dies_is_a_crash_and_keeps_its_words() {
    let dead = Ran { end: End::Signal("signal 11 (SIGSEGV)".to_owned()), ..ran("TAP version 13\n1..1\n", 0) };
    let error = tell(&[], &dead).unwrap_err();
    assert!(error.downcast_ref::<Killed>().unwrap().0.contains("SIGSEGV"));
    let error = tell(&[], &ran("TAP version 13\nBail out! no memory\n", 1)).unwrap_err();
    assert!(error.downcast_ref::<Killed>().unwrap().0.contains("no memory"));
}

#[test]
fn without_points_the_exit_status_decides() {
    let result = tell(&[], &ran("PASS\n", 0)).unwrap();
    assert_eq!(checks(&result), [("exit-status", true)]);
    let result = tell(&[], &ran("shmget: Cannot allocate memory\n", 1)).unwrap();
    assert_eq!(checks(&result), [("exit-status", false)]);
    assert_eq!(result.checks[0].observed, "exit status 1: shmget: Cannot allocate memory");
}

#[test]
fn what_varies_is_told_and_not_judged() {
    let output = ran("TAP version 13\n1..2\nok 1 a\nnot ok 2 took too long\n", 1);
    let result = tell(&["took*"], &output).unwrap();
    assert_eq!(checks(&result), [("point-1", true)]);
    assert!(result.evidence["varies"].contains("took too long"));
    assert_eq!(checks(&tell(&["point-2"], &output).unwrap()), [("point-1", true)]);
}

#[test]
fn what_cannot_be_believed_is_an_error() {
    assert!(tell(&[], &ran("1..2\nok 1 a\nok 1 a\nok 2 b\n", 0)).is_err());
    let flood = Ran { cut: true, ..ran("TAP version 13\n1..1\nok 1 a\n", 0) };
    assert!(tell(&[], &flood).unwrap_err().to_string().contains("wrote more"));
}

#[test]
fn a_program_that_bails_out_does_not_end_with_success() {
    for code in [0, 4] {
        let result = tell(&[], &ran("TAP version 13\nok 1 a\nBail out! x\n", code)).unwrap();
        assert_eq!(checks(&result), [("point-1", true), ("exit-status", false)]);
    }
    let result = tell(&[], &ran("TAP version 13\n1..3\nok 1 a\nBail out! x\n", 4)).unwrap();
    assert!(checks(&result).contains(&("point-2", false)));
}
