//! Each multi-size THP alone: what it covers of maps that are no multiple of it.

use std::fs;

use anyhow::Result;
use mthp_record::result::{Polarity, Unit};

use super::{
    Findings, Test,
    layout::{self, Layout},
};
use crate::{
    isolate::isolated,
    mem::{self, Area, KIB, Kind},
    needs::Need,
    proc, smaps, thp,
};

/// One case a size.
pub const TESTS: &[Test] = &[
    test("mthp/16kB", &[Need::Thp, Need::MthpKib(16)], |f| alone(f, 16)),
    test("mthp/32kB", &[Need::Thp, Need::MthpKib(32)], |f| alone(f, 32)),
    test("mthp/64kB", &[Need::Thp, Need::MthpKib(64)], |f| alone(f, 64)),
    test("mthp/128kB", &[Need::Thp, Need::MthpKib(128)], |f| alone(f, 128)),
    test("mthp/256kB", &[Need::Thp, Need::MthpKib(256)], |f| alone(f, 256)),
    test("mthp/512kB", &[Need::Thp, Need::MthpKib(512)], |f| alone(f, 512)),
    test("mthp/1024kB", &[Need::Thp, Need::MthpKib(1024)], |f| alone(f, 1024)),
];

const CONTRACT: &str = "transhuge.rst: a fault takes the largest enabled size that fits into the area";
const COUNT: usize = 16;
const LEN: usize = 4632 * KIB;

const fn test(name: &'static str, needs: &'static [Need], run: fn(&mut Findings) -> Result<()>) -> Test {
    Test { name, contract: CONTRACT, needs, randomised: false, run }
}

fn alone(findings: &mut Findings, size_kib: u64) -> Result<()> {
    let stats = thp::size_dir(size_kib).join("stats");
    let size = usize::try_from(size_kib)? * KIB;
    let (allocated, fallback, faults, layout, whole) = isolated(|| {
        mem::pin_gap(0)?;
        let read = || -> Result<(i64, i64)> {
            Ok((
                proc::number(stats.join("anon_fault_alloc"))?,
                proc::number(stats.join("anon_fault_fallback"))?,
            ))
        };
        let mut areas = Vec::with_capacity(COUNT);
        read()?;
        mem::minor_faults()?;
        mem::settle_own_pages()?;
        for _ in 0..COUNT {
            areas.push(mem::map(Kind::Private, LEN)?);
        }
        thp::set(thp::size_dir(2048).join("enabled"), "never")?;
        thp::set(thp::size_dir(size_kib).join("enabled"), "always")?;
        let before = read()?;
        let faults_before = mem::minor_faults()?;
        areas.iter().for_each(Area::touch);
        let faults = mem::minor_faults()? - faults_before;
        let after = read()?;
        let ranges: Vec<_> = areas.iter().map(Area::range).collect();
        let whole = layout::count(layout::whole_blocks(&smaps::of(&ranges)?, size));
        Ok((after.0 - before.0, after.1 - before.1, faults, Layout::of(&areas)?, whole))
    })?;
    let covered = allocated * i64::try_from(size_kib)?;
    findings.metric("anon-fault-alloc", allocated, Unit::Count, Polarity::Neutral);
    findings.metric("anon-fault-fallback", fallback, Unit::Count, Polarity::Lower);
    findings.metric("covered-kib", covered, Unit::Kib, Polarity::Higher);
    findings.metric("uncovered-kib", layout::kib(LEN * COUNT) - covered, Unit::Kib, Polarity::Lower);
    findings.metric("faults-after", faults, Unit::Count, Polarity::Lower);
    findings.check(
        "whole-blocks-covered",
        "every block of this size that lies in one map area as a whole is one folio",
        allocated,
        whole,
    );
    findings.check("no-fallback", "with plenty of free memory no allocation falls back", fallback, 0);
    for name in ["nr_anon", "nr_anon_partially_mapped", "anon_fault_fallback_charge", "split"] {
        if let Ok(text) = fs::read_to_string(stats.join(name)) {
            findings.evidence(name, text);
        }
    }
    findings.evidence("maps", layout.maps);
    findings.evidence("smaps_rollup", layout.rollup);
    Ok(())
}
