//! Boots for this crate's tests, with the values of thp-alignment.md, section 3.

use mthp_record::{
    boot::{BootOutcome, BootRecord, Side},
    message::Snapshot,
    result::{Agreement, Check, Metric, Outcome, Polarity, TestResult, Unit},
};

use crate::{
    compare::compare,
    report::{
        AcceleratorRecord, HostRecord, KernelRecord, PatchRecord, PhaseTiming, QemuRecord, Report,
        SourceRecord, SuiteRecord,
    },
    suite::{Gate, Suite},
};

pub(crate) fn gates() -> Vec<Gate> {
    Suite::parse(include_str!("../../../configs/suites/alignment.toml")).unwrap().gates
}

pub(crate) fn boot(side: Side, index: u32, tests: Vec<TestResult>) -> BootRecord {
    BootRecord {
        side,
        index,
        outcome: BootOutcome::Completed,
        identity: None,
        announced: tests.iter().map(|test| test.name.clone()).collect(),
        tests,
        before: Snapshot::default(),
        after: Snapshot::default(),
        tainted: Some(0),
        console: format!("{side}-{index}.console"),
        qemu_command: Vec::new(),
        boot_millis: Some(1200),
        total_millis: 3400,
    }
}

/// `n` boots a side, interleaved, each side's boots all alike.
pub(crate) fn boots(n: u32, base: &[TestResult], patched: &[TestResult]) -> Vec<BootRecord> {
    (0..n)
        .flat_map(|i| [boot(Side::Base, i, base.to_vec()), boot(Side::Patched, i, patched.to_vec())])
        .collect()
}

pub(crate) fn test(name: &str, checks: Vec<Check>, metrics: Vec<Metric>) -> TestResult {
    TestResult {
        name: name.to_owned(),
        outcome: Outcome::Completed,
        checks,
        metrics,
        agreements: Vec::new(),
        evidence: Default::default(),
    }
}

pub(crate) fn ended(name: &str, outcome: Outcome) -> TestResult {
    TestResult { outcome, ..test(name, Vec::new(), Vec::new()) }
}

pub(crate) fn check(name: &str, passed: bool) -> Check {
    Check {
        name: name.to_owned(),
        promise: format!("{name} is promised"),
        passed,
        observed: if passed { "as expected" } else { "something else" }.to_owned(),
        expected: "as expected".to_owned(),
    }
}

pub(crate) fn metric(name: &str, value: i64) -> Metric {
    Metric { name: name.to_owned(), value, unit: Unit::Kib, polarity: Polarity::Lower }
}

/// One placement test: gap, VMAs, AnonHuge, faults after, faults each, page tables.
pub(crate) fn placement(size: &str, [gap, vmas, huge, after, each, tables]: [i64; 6]) -> TestResult {
    let metric = |name: &str, value, unit, polarity| Metric { name: name.to_owned(), value, unit, polarity };
    let merged = Check {
        name: "neighbours-merge".to_owned(),
        promise: "neighbouring maps touch and merge into one VMA".to_owned(),
        passed: gap == 0 && vmas == 1,
        observed: format!("gaps of {gap} KiB, {vmas} VMAs"),
        expected: "gaps of 0 KiB, 1 VMA".to_owned(),
    };
    let metrics = vec![
        metric("gap-kib", gap, Unit::Kib, Polarity::Lower),
        metric("vmas", vmas, Unit::Count, Polarity::Lower),
        metric("anon-huge-kib", huge, Unit::Kib, Polarity::Higher),
        metric("faults-after", after, Unit::Count, Polarity::Lower),
        metric("faults-each", each, Unit::Count, Polarity::Lower),
        metric("page-tables-kib", tables, Unit::Kib, Polarity::Lower),
    ];
    test(&format!("placement/{size}"), vec![merged], metrics)
}

fn quiet() -> Vec<TestResult> {
    let missing = Outcome::NotApplicable { reason: "the kernel offers no page size of 32 KiB".to_owned() };
    vec![
        test("stack/map-stack", vec![check("no-huge-pages", true)], vec![]),
        test("shared/3MiB", vec![check("gapped", false)], vec![metric("gap-kib", 1024)]),
        ended("mthp/32kB", missing),
    ]
}

pub(crate) fn old_rule() -> Vec<TestResult> {
    let mut tests = vec![
        placement("1844KiB", [0, 1, 12288, 1300, 3688, 36]),
        placement("2MiB", [0, 1, 16384, 9, 9, 32]),
        placement("2052KiB", [2044, 8, 16384, 17, 17, 64]),
        placement("3MiB", [1024, 8, 16384, 2057, 2057, 64]),
        placement("4632KiB", [1512, 16, 65536, 2177, 2177, 192]),
    ];
    tests.extend(quiet());
    tests
}

pub(crate) fn new_rule() -> Vec<TestResult> {
    let mut tests = vec![
        placement("1844KiB", [0, 1, 12288, 1300, 3688, 36]),
        placement("2MiB", [0, 1, 16384, 9, 9, 32]),
        placement("2052KiB", [0, 1, 16384, 17, 3594, 36]),
        placement("3MiB", [0, 1, 24576, 13, 2057, 48]),
        placement("4632KiB", [0, 1, 73728, 133, 7798, 148]),
    ];
    tests.extend(quiet());
    tests
}

/// A workload's scenario with these metrics other than usual. The figures are of the right size, not measured.
pub(crate) fn scenario(other: &[(&str, i64)]) -> TestResult {
    const USUAL: [(&str, i64); 39] = [
        ("maps-small", 150),
        ("maps-multiple", 4),
        ("maps-other", 65),
        ("maps-small-kib", 30_720),
        ("maps-multiple-kib", 262_144),
        ("maps-other-kib", 299_008),
        ("maps-reserved-kib", 278_528),
        ("aligned-small", 1),
        ("aligned-multiple", 4),
        ("aligned-other", 65),
        ("inference-maps", 0),
        ("inference-unmaps", 0),
        ("inference-heap-kib", 0),
        ("heap-kib", 93_184),
        ("gaps", 64),
        ("gap-kib", 66_560),
        ("vmas", 240),
        ("anon-kib", 204_800),
        ("anon-huge-kib", 61_440),
        ("huge-small-kib", 0),
        ("huge-multiple-kib", 4096),
        ("huge-other-kib", 57_344),
        ("huge-reserved-kib", 0),
        ("huge-heap-kib", 0),
        ("page-tables-kib", 1024),
        ("faults-load", 30_512),
        ("faults-first", 812),
        ("faults-inference", 16),
        ("major-faults-load", 420),
        ("rss-peak-kib", 221_184),
        ("thp-fault-alloc", 30),
        ("thp-fault-fallback", 0),
        ("thp-collapse-alloc", 0),
        ("compact-stall", 0),
        ("load-micros", 8_500_000),
        ("inference-p50-micros", 2_400_000),
        ("inference-p90-micros", 2_450_000),
        ("inference-p99-micros", 2_500_000),
        ("throughput", 416),
    ];
    let metrics = USUAL.map(|(name, usual)| {
        let value = other.iter().find(|(known, _)| *known == name).map_or(usual, |(_, value)| *value);
        let (unit, polarity) = match name {
            "throughput" => (Unit::PerKilosecond, Polarity::Higher),
            _ if name.ends_with("micros") => (Unit::Micros, Polarity::Lower),
            _ if name.ends_with("kib") => (Unit::Kib, Polarity::Neutral),
            _ => (Unit::Count, Polarity::Neutral),
        };
        Metric { name: name.to_owned(), value, unit, polarity }
    });
    let mut scenario = test("yolov5/160", vec![check("valid-detections", true)], metrics.to_vec());
    scenario.agreements = vec![agreement("output-bits", &"4ac0".repeat(16))];
    scenario
}

pub(crate) fn agreement(name: &str, value: &str) -> Agreement {
    let promise = format!("{name} do not depend on the kernel");
    Agreement { name: name.to_owned(), promise, value: value.to_owned() }
}

/// What a fix of placement changes in a workload, by the figures of [`scenario`].
pub(crate) const PLACED: [(&str, i64); 8] = [
    ("aligned-other", 3),
    ("gaps", 0),
    ("gap-kib", 0),
    ("vmas", 176),
    ("anon-huge-kib", 65_536),
    ("huge-other-kib", 61_440),
    ("faults-load", 28_470),
    ("page-tables-kib", 992),
];

/// K2 → the fix.
pub(crate) fn demonstration() -> Vec<BootRecord> {
    boots(2, &old_rule(), &new_rule())
}

pub(crate) fn swapped(mut boots: Vec<BootRecord>) -> Vec<BootRecord> {
    for boot in &mut boots {
        boot.side = match boot.side {
            Side::Base => Side::Patched,
            Side::Patched => Side::Base,
        };
    }
    boots
}

fn kernel(label: &str, patches: &[&str]) -> KernelRecord {
    KernelRecord {
        label: label.to_owned(),
        key: format!("{label}-key"),
        source: SourceRecord {
            kind: "debian".to_owned(),
            what: "linux-source-6.12".to_owned(),
            version: "6.12.120".to_owned(),
            package_version: Some("6.12.120-1".to_owned()),
            hash: "ab".repeat(32),
        },
        patches: patches
            .iter()
            .map(|name| PatchRecord {
                name: (*name).to_owned(),
                subject: None,
                sha256: "cd".repeat(32),
                reverted: false,
            })
            .collect(),
        config_sha256: "0123456789abcdef".repeat(4),
        compiler: "gcc (Debian 12.2.0-14) 12.2.0".to_owned(),
        vmlinux_sha256: "fedcba9876543210".repeat(4),
        build_log: None,
        config: None,
    }
}

/// A finished report over such boots.
pub(crate) fn report(boots: &[BootRecord], gates: &[Gate]) -> Report {
    let suite = SuiteRecord { name: "alignment".to_owned(), sha256: "ef".repeat(32) };
    let mut report = Report::unfinished("0.1.0", "2025-01-01T00:00:00Z", suite);
    report.base = Some(kernel("base", &["old-rule.patch"]));
    report.patched = Some(kernel("patched", &["old-rule.patch", "limit-alignment.patch"]));
    report.accelerator =
        Some(AcceleratorRecord { kind: "tcg".to_owned(), why: "/dev/kvm does not exist".to_owned() });
    report.qemu =
        Some(QemuRecord { version: "7.2.22".to_owned(), binary: "/usr/bin/qemu-system-x86_64".to_owned() });
    report.host =
        Some(HostRecord { cpus: 2, cpu_model: "Some CPU at 2.0 GHz".to_owned(), kernel: "6.1.0".to_owned() });
    report.timings = vec![
        PhaseTiming { name: "build base".to_owned(), wall_millis: 120_300, cpu_millis: Some(233_100) },
        PhaseTiming { name: "build patched".to_owned(), wall_millis: 7_040, cpu_millis: Some(8_900) },
        PhaseTiming { name: "boots".to_owned(), wall_millis: 14_900, cpu_millis: None },
    ];
    report.complete(boots.to_vec(), compare(boots, gates, true));
    report
}
