//! From what a program said to checks: one a test point, and one for its exit status.

use anyhow::{Result, bail};
use mthp_ktap::{Point, State, Transcript, parse};
use mthp_record::{
    job::selects,
    result::{Polarity, Unit},
    selftest::Selftest,
};

use super::{
    Inapplicable,
    program::{End, Ran},
};
use crate::{suite::Findings, workload::Killed};

/// kselftest.h: skipped.
const SKIP: i32 = 4;

/// Reports what a program said.
///
/// # Errors
/// When it died, skipped all, or what it said cannot be believed.
pub fn report(test: &Selftest, ran: &Ran, findings: &mut Findings) -> Result<()> {
    findings.evidence("output", ran.output.clone());
    if !ran.complaints.is_empty() {
        findings.evidence("error-output", ran.complaints.clone());
    }
    let code = match &ran.end {
        End::Exit(code) => *code,
        End::Signal(how) => {
            let words = last_line(ran);
            return Err(Killed(format!("killed by {how}; its last words: {words}")).into());
        }
    };
    if ran.cut {
        bail!("the program wrote more than is read of it");
    }
    let transcript = parse(&ran.output);
    if transcript.is_ktap {
        points(test, ran, code, &transcript, findings)
    } else {
        status(ran, code, findings)
    }
}

/// A program without points: its exit status is all there is.
fn status(ran: &Ran, code: i32, findings: &mut Findings) -> Result<()> {
    if code == SKIP {
        return Err(Inapplicable(last_line(ran)).into());
    }
    exit_status(findings, code, code == 0, &last_line(ran));
    Ok(())
}

fn exit_status(findings: &mut Findings, code: i32, passed: bool, words: &str) {
    let observed = match (passed, words) {
        (true, _) => "success".to_owned(),
        (false, "") => format!("exit status {code}"),
        (false, words) => format!("exit status {code}: {words}"),
    };
    findings.check("exit-status", "the program ends with success", observed, "success".to_owned());
}

fn points(
    test: &Selftest,
    ran: &Ran,
    code: i32,
    transcript: &Transcript,
    findings: &mut Findings,
) -> Result<()> {
    if let Some(problem) = transcript.problems.first() {
        bail!("the program's results are out of order: {problem}");
    }
    if let Some(why) = &transcript.skipped {
        return Err(Inapplicable(why.clone()).into());
    }
    let missing = transcript.count(State::Missing);
    let came = transcript.points.len() - missing;
    if missing > 0 && code == 0 {
        bail!("the program promises {} test points and ends with success after {came}", came + missing);
    }
    if transcript.points.is_empty() {
        return match &transcript.bail_out {
            // Nothing is there that could be compared with the points of the other kernel.
            Some(why) => {
                Err(Killed(format!("ended by itself before its first point: Bail out! {why}")).into())
            }
            None if code == SKIP => Err(Inapplicable(last_line(ran)).into()),
            // kselftest takes that for a pass.
            None if code == 0 => {
                Err(Inapplicable("it ends with success without a test point".to_owned()).into())
            }
            None => bail!("the program reports no test point (exit status {code})"),
        };
    }
    // A program that gives up by skipping skips what is left.
    let state = |point: &Point| match point.state {
        State::Missing if code == SKIP && transcript.bail_out.is_none() => State::Skipped,
        other => other,
    };
    let varies = |point: &Point| {
        let named =
            |pattern: &String| selects(pattern, &point.name()) || selects(pattern, &point.description);
        test.varies.iter().any(named)
    };
    let of = |wanted: State| {
        let points = transcript.points.iter();
        points.filter(move |point| state(point) == wanted && !varies(point)).collect::<Vec<_>>()
    };
    let (skipped, excused) = (of(State::Skipped), of(State::Excused));
    if skipped.len() + excused.len() == transcript.points.len() {
        let why = skipped.iter().chain(&excused).map(|point| reason(point)).find(|words| !words.is_empty());
        return Err(Inapplicable(why.unwrap_or_else(|| last_line(ran))).into());
    }
    let gave_up = match &transcript.bail_out {
        Some(why) => format!("Bail out! {why}"),
        None => last_line(ran),
    };
    let mut judged = 0;
    for point in transcript.points.iter().filter(|point| !varies(point)) {
        let observed = match state(point) {
            State::Skipped | State::Excused => continue,
            State::Passed => "ok".to_owned(),
            State::Failed if point.words.is_empty() => "not ok".to_owned(),
            State::Failed => format!("not ok: {}", point.words),
            State::Missing => format!("did not come; the program ended with status {code}: {gave_up}"),
        };
        judged += 1;
        findings.check(&point.name(), &promise(point), observed, "ok".to_owned());
    }
    if judged == 0 {
        return Err(Inapplicable("every point that is not skipped varies by nature".to_owned()).into());
    }
    list(findings, "skipped", &skipped);
    list(findings, "expected-failures", &excused);
    let varying: Vec<&Point> = transcript.points.iter().filter(|point| varies(point)).collect();
    if !varying.is_empty() {
        list_evidence(findings, "varies", &varying);
    }
    // A point that varies makes the status vary.
    if !varying.iter().any(|point| matches!(state(point), State::Failed | State::Missing)) {
        let good = code == 0 || code == SKIP && !skipped.is_empty();
        let passed = good && transcript.bail_out.is_none();
        exit_status(findings, code, passed, &gave_up);
    }
    Ok(())
}

fn promise(point: &Point) -> String {
    if point.description.is_empty() { "the test point holds".to_owned() } else { point.description.clone() }
}

fn reason(point: &Point) -> String {
    if point.words.is_empty() { point.description.clone() } else { point.words.clone() }
}

/// How many points are not judged, and which.
fn list(findings: &mut Findings, name: &str, points: &[&Point]) {
    findings.metric(name, i64::try_from(points.len()).unwrap_or(i64::MAX), Unit::Count, Polarity::Neutral);
    if !points.is_empty() {
        list_evidence(findings, name, points);
    }
}

fn list_evidence(findings: &mut Findings, name: &str, points: &[&Point]) {
    let lines: String = points
        .iter()
        .map(|point| format!("{} {:?}: {}: {}\n", point.name(), point.state, point.description, point.words))
        .collect();
    findings.evidence(name, lines);
}

/// The last thing it said, in one line.
fn last_line(ran: &Ran) -> String {
    const MAX: usize = 200;
    let said = |text: &str| {
        let line = text.lines().rev().map(str::trim).find(|line| {
            // kselftest's sum over all points tells nothing.
            !line.is_empty() && !line.starts_with("# Totals:") && !line.starts_with("# Planned tests")
        });
        line.map(|line| line.chars().take(MAX).collect::<String>())
    };
    said(&ran.complaints).or_else(|| said(&ran.output)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
