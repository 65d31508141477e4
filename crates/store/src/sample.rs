//! Runs for this crate's tests.

use mthp_record::{
    boot::{BootOutcome, BootRecord, Side},
    message::Snapshot,
    result::{self, Check, Metric, Polarity, TestResult, Unit},
};

use crate::{
    history::{Kind, Measured, Name, Point, Track},
    run::{Outcome, Revision, Run, RunId, Series},
};

/// The metric of [`boot`].
pub(crate) const METRIC: &str = "placement/4632KiB:gap-kib";
/// Its check.
pub(crate) const CHECK: &str = "placement/4632KiB:neighbours-merge";

pub(crate) fn series(branch: &str, host: &str) -> Series {
    Series {
        tree: "linux".to_owned(),
        branch: branch.to_owned(),
        host: host.to_owned(),
        accelerator: "tcg".to_owned(),
        suite: "alignment".to_owned(),
    }
}

pub(crate) fn revision(n: u64) -> Revision {
    Revision {
        commit: format!("{n:04x}").repeat(10),
        subject: format!("mm: change number {n}"),
        committed: "2026-01-01T00:00:00Z".to_owned(),
        position: Some(n),
    }
}

/// The `n`th night's run.
pub(crate) fn run(series: &Series, n: u64, outcome: Outcome) -> Run {
    Run {
        series: series.clone(),
        created: format!("2026-01-{:02}T03:00:00Z", n % 28 + 1),
        revision: revision(n),
        suite_sha256: "ef".repeat(32),
        image_sha256: Some("ab".repeat(32)),
        tool_version: "0.1.0".to_owned(),
        outcome,
        report: format!("report/{n}"),
        build_millis: Some(120_000),
        boots_millis: None,
    }
}

pub(crate) fn regressed() -> Outcome {
    Outcome::Regressed { reason: "1 check broken".to_owned() }
}

pub(crate) fn failed() -> Outcome {
    Outcome::Failed { reason: "kernel panic: not syncing".to_owned() }
}

/// A boot with one test, one check and one metric.
pub(crate) fn boot(index: u32, gap: i64, holds: bool) -> BootRecord {
    let check = Check {
        name: "neighbours-merge".to_owned(),
        promise: "neighbours merge".to_owned(),
        passed: holds,
        observed: "o".to_owned(),
        expected: "e".to_owned(),
    };
    let metric =
        Metric { name: "gap-kib".to_owned(), value: gap, unit: Unit::Kib, polarity: Polarity::Lower };
    let test = TestResult {
        name: "placement/4632KiB".to_owned(),
        outcome: result::Outcome::Completed,
        checks: vec![check],
        metrics: vec![metric],
        agreements: Vec::new(),
        evidence: [("maps".to_owned(), "7f00-7f01".to_owned())].into(),
    };
    BootRecord {
        side: Side::Base,
        index,
        outcome: BootOutcome::Completed,
        identity: None,
        announced: vec![test.name.clone()],
        tests: vec![test],
        before: Snapshot::default(),
        after: Snapshot::default(),
        tainted: Some(0),
        console: String::new(),
        qemu_command: Vec::new(),
        boot_millis: Some(1200),
        total_millis: 3400,
    }
}

/// Two boots alike.
pub(crate) fn boots(gap: i64, holds: bool) -> Vec<BootRecord> {
    vec![boot(0, gap, holds), boot(1, gap, holds)]
}

/// A metric's value in a run.
#[expect(clippy::unnecessary_wraps, reason = "what a point holds")]
pub(crate) fn metric(low: i64, high: i64) -> Option<Measured> {
    Some(Measured::Metric { low, high, boots: 2 })
}

/// [`METRIC`] with these values, a run each; runs without one failed.
pub(crate) fn track(values: &[Option<Measured>]) -> Track {
    let point = |(n, measured): (u64, &Option<Measured>)| {
        let outcome = if measured.is_some() { Outcome::Good } else { failed() };
        let run = run(&series("main", "builder-7"), n, outcome);
        let id = RunId(i64::try_from(n).unwrap());
        Point {
            run: id,
            created: run.created,
            revision: run.revision,
            outcome: run.outcome,
            measured: *measured,
        }
    };
    Track {
        series: series("main", "builder-7"),
        name: Name { test: "placement/4632KiB".to_owned(), name: "gap-kib".to_owned() },
        measures: Kind::Metric { unit: Unit::Kib, polarity: Polarity::Lower },
        points: (0..).zip(values).map(point).collect(),
    }
}
