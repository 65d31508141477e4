//! Accounts, tests and boots for this crate's tests; the stencil's misses are those of the two kernels.

use mthp_judge::compare::{Comparison, compare};
use mthp_record::{
    boot::{BootOutcome, BootRecord, Side},
    cost::{Account, Counts, RegionAccount},
    message::Snapshot,
    result::{Check, Metric, Outcome, Polarity, TestResult, Unit},
};

use crate::{Asked, Latencies, Machine, attach};

/// The boot that the accounts are of.
pub(crate) const NONCE: u64 = 7;

/// The names of [`machines`] with latencies.
pub(crate) const LATENCIES: [(&str, Latencies); 4] = {
    const CPU: Latencies =
        Latencies { l1: 4, l2: 12, l3: Some(46), memory: 250, stlb: 7, walk_reference: 12 };
    [("zen3", CPU), ("small", Latencies { l3: None, ..CPU }), ("zen3-hashed", CPU), ("zen3-l2-32way", CPU)]
};

pub(crate) const ASKED: Asked<'_> = Asked { nonce: NONCE, machines: &LATENCIES };

pub(crate) fn machines() -> Vec<Machine> {
    let machine = |name: &str, title: &str, what_if| Machine {
        name: name.to_owned(),
        title: title.to_owned(),
        what_if,
    };
    vec![
        machine("zen3", "AMD Zen 3", false),
        machine("small", "a small core", false),
        machine("zen3-hashed", "Zen 3 with a hashed L2", true),
        machine("zen3-l2-32way", "Zen 3 with a 32-way L2", true),
    ]
}

pub(crate) fn test(name: &str) -> TestResult {
    TestResult {
        name: name.to_owned(),
        outcome: Outcome::Completed,
        checks: Vec::new(),
        metrics: Vec::new(),
        agreements: Vec::new(),
        evidence: Default::default(),
    }
}

pub(crate) fn metric(name: &str, value: i64) -> Metric {
    Metric { name: name.to_owned(), value, unit: Unit::Count, polarity: Polarity::Lower }
}

/// A region with the L2 misses and page walks of each machine in the order of [`machines`].
pub(crate) fn region(name: &str, misses: [(u64, u64); 4]) -> RegionAccount {
    let counts = |(l2_misses, walks): (u64, u64)| Counts {
        l1_accesses: 8_294_400,
        l1_misses: 4_848_680.max(l2_misses),
        l2_misses,
        l3_misses: l2_misses / 2,
        prefetches: 0,
        dtlb_misses: walks * 3,
        walks,
        walk_references: walks * 2,
    };
    RegionAccount {
        name: name.to_owned(),
        entered: 1,
        loads: 8_294_400,
        stores: 345_600,
        crossings: 12,
        machines: machines().into_iter().map(|it| it.name).zip(misses.map(counts)).collect(),
        occupancy: Default::default(),
    }
}

pub(crate) fn account(regions: Vec<RegionAccount>) -> Account {
    let machines = machines().into_iter().map(|machine| machine.name).collect();
    Account { api: 1, nonce: NONCE, machines, regions, faults: Vec::new() }
}

/// The tests of an account's regions, with what it says of them.
pub(crate) fn measured(regions: Vec<RegionAccount>) -> Vec<TestResult> {
    let whole = regions.iter().filter(|region| region.name.matches('/').count() == 1);
    let mut tests: Vec<_> = whole.map(|region| test(&region.name)).collect();
    attach(&account(regions), ASKED, &mut tests).unwrap();
    tests
}

pub(crate) fn compared(base: &[TestResult], patched: &[TestResult]) -> Comparison {
    compared_boots(&[base.to_vec(), base.to_vec()], &[patched.to_vec(), patched.to_vec()])
}

pub(crate) fn compared_boots(base: &[Vec<TestResult>], patched: &[Vec<TestResult>]) -> Comparison {
    let boots = |side, of: &[Vec<TestResult>]| {
        let boots = (0..).zip(of).map(move |(index, tests)| boot(side, index, tests.clone()));
        boots.collect::<Vec<_>>()
    };
    compare(&[boots(Side::Base, base), boots(Side::Patched, patched)].concat(), &[], true)
}

fn boot(side: Side, index: u32, tests: Vec<TestResult>) -> BootRecord {
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
        console: String::new(),
        qemu_command: Vec::new(),
        boot_millis: Some(1200),
        total_millis: 3400,
    }
}

/// Both kernels on six kinds of tests: the patched one aliases, gains, differs by a little, has parts, has layouts.
pub(crate) fn demonstration() -> (Vec<TestResult>, Vec<TestResult>) {
    let stencil = "cost/stencil-24x4632KiB";
    let layout = |n: u64, misses| region(&format!("{stencil}-layout-{n}"), misses);
    let base = vec![
        region(stencil, [(346_085, 129), (1_733_041, 640), (345_900, 129), (345_600, 129)]),
        region("cost/sum-64MiB", [(1_048_576, 32), (1_048_576, 40), (1_048_576, 32), (1_048_576, 32)]),
        region("cost/chase-1024KiB", [(0, 260), (52_000, 260), (0, 260), (0, 260)]),
        region(
            "cost/radix",
            [(2_000_000, 9_000), (2_400_000, 9_000), (2_000_000, 9_000), (2_000_000, 9_000)],
        ),
        region("cost/radix/build", [(1_000, 10), (1_000, 10), (1_000, 10), (1_000, 10)]),
        layout(1, [(346_001, 129), (1_733_000, 640), (345_900, 129), (345_600, 129)]),
        layout(2, [(401_220, 129), (1_733_090, 640), (345_900, 129), (345_600, 129)]),
        layout(3, [(352_118, 129), (1_733_000, 640), (345_900, 129), (345_600, 129)]),
    ];
    let patched = vec![
        region(stencil, [(4_839_227, 26), (4_845_100, 26), (358_412, 26), (345_610, 26)]),
        region("cost/sum-64MiB", [(1_048_580, 32), (1_048_576, 40), (1_048_580, 32), (1_048_580, 32)]),
        region("cost/chase-1024KiB", [(0, 8), (51_000, 8), (0, 8), (0, 8)]),
        region("cost/radix", [(1_500_000, 400), (2_390_000, 400), (1_990_000, 400), (1_500_000, 400)]),
        region("cost/radix/build", [(1_000, 10), (1_000, 10), (1_000, 10), (1_000, 10)]),
        layout(1, [(4_838_800, 26), (4_845_100, 26), (358_412, 26), (345_610, 26)]),
        layout(2, [(4_839_404, 26), (4_845_100, 26), (359_000, 26), (345_610, 26)]),
        layout(3, [(4_839_227, 26), (1_733_000, 26), (358_100, 26), (345_610, 26)]),
    ];
    (measured(base), measured(patched))
}

pub(crate) fn check(name: &str, passed: bool) -> Check {
    let text = String::new;
    Check { name: name.to_owned(), promise: text(), passed, observed: text(), expected: text() }
}
