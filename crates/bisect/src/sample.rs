//! Boots for tests.

use mthp_record::{
    boot::{BootOutcome, BootRecord, KernelFailure, Phase, Side},
    message::{GuestIdentity, Snapshot},
    result::{Agreement, Check, Metric, Outcome, Polarity, TestResult, Unit},
};

pub(crate) fn boot(side: Side, tests: Vec<TestResult>) -> BootRecord {
    BootRecord {
        side,
        index: 0,
        outcome: BootOutcome::Completed,
        identity: Some(GuestIdentity {
            version: "6.12".to_owned(),
            cmdline: String::new(),
            mem_total_kib: 1 << 20,
            cpus: 1,
            nodes: 1,
            thp_enabled: None,
            mthp_sizes_kib: Vec::new(),
        }),
        announced: tests.iter().map(|test| test.name.clone()).collect(),
        tests,
        before: Snapshot::default(),
        after: Snapshot::default(),
        tainted: Some(0),
        console: String::new(),
        qemu_command: Vec::new(),
        boot_millis: Some(1),
        total_millis: 2,
    }
}

/// A boot whose kernel panicked in the first test without a result.
pub(crate) fn panicked(side: Side, announced: &[&str], line: &str) -> BootRecord {
    let outcome = BootOutcome::KernelFailed { failure: KernelFailure::Panic, line: line.to_owned() };
    let announced = announced.iter().map(|&name| name.to_owned()).collect();
    BootRecord { outcome, announced, ..boot(side, Vec::new()) }
}

pub(crate) fn hung(side: Side, test: &str) -> BootRecord {
    let outcome = BootOutcome::SilentHang { phase: Phase::Test(test.to_owned()), after_secs: 60 };
    BootRecord { outcome, ..boot(side, Vec::new()) }
}

/// A test with one check and one metric, in KiB, lower being better, and one agreement.
pub(crate) fn test(name: &str, holds: bool, gap: i64) -> TestResult {
    TestResult {
        name: name.to_owned(),
        outcome: Outcome::Completed,
        checks: vec![Check {
            name: "touch".to_owned(),
            promise: "neighbours touch".to_owned(),
            passed: holds,
            observed: format!("{gap} KiB"),
            expected: "0 KiB".to_owned(),
        }],
        metrics: vec![Metric {
            name: "gap-kib".to_owned(),
            value: gap,
            unit: Unit::Kib,
            polarity: Polarity::Lower,
        }],
        agreements: vec![Agreement {
            name: "bits".to_owned(),
            promise: "the same bits".to_owned(),
            value: "ab".to_owned(),
        }],
        evidence: Default::default(),
    }
}

pub(crate) fn ended(name: &str, outcome: Outcome) -> TestResult {
    TestResult {
        outcome,
        checks: Vec::new(),
        metrics: Vec::new(),
        agreements: Vec::new(),
        ..test(name, true, 0)
    }
}

/// So many boots of each end, each end's alike.
pub(crate) fn ends(n: usize, good: &[TestResult], bad: &[TestResult]) -> Vec<BootRecord> {
    let side = |side, tests: &[TestResult]| {
        let boots = (0..n)
            .map(|index| BootRecord { index: u32::try_from(index).unwrap(), ..boot(side, tests.to_vec()) });
        boots.collect::<Vec<_>>()
    };
    [side(Side::Base, good), side(Side::Patched, bad)].concat()
}
