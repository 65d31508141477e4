//! What a loader of many buffers leaves of the physical memory.
//!
//! The values depend on where free pages lie after boot, so they may differ between boots: facts, not contracts.

use std::fs;

use anyhow::{Context, Result};
use mthp_record::result::{Polarity, Unit};

use super::{Findings, Test};
use crate::{
    init,
    isolate::isolated,
    mem::{self, Area, KIB, Kind, PAGE, PMD, Reserved},
    needs::{HUGETLB_POOL, Need},
    proc,
    random::Random,
    thp,
};

/// The one case.
pub const TESTS: &[Test] = &[Test {
    name: "fragmentation/shards",
    contract: "transhuge.rst: a fault that cannot allocate a huge page falls back to small pages",
    needs: &[Need::Thp, Need::MemoryMib(768), Need::HugetlbPool],
    randomised: false,
    run: shards,
}];

/// What the ballast leaves for the shards.
const LEFT_MIB: i64 = 96;
/// What the shards leave to the system.
const SPARE_MIB: i64 = 20;
/// What a loader converts at a time.
const CHUNK: usize = 64 * KIB;
const HUGE_ATTEMPTS: usize = 16;
const SMALL_ATTEMPTS: usize = 128;
const COUNTERS: [&str; 7] = [
    "thp_fault_alloc",
    "thp_fault_fallback",
    "compact_stall",
    "compact_success",
    "compact_fail",
    "pgmigrate_success",
    "compact_isolated",
];

fn shards(findings: &mut Findings) -> Result<()> {
    let facts = isolated(load)?;
    for (name, value, unit) in facts.metrics {
        findings.metric(&name, value, unit, Polarity::Neutral);
    }
    for (name, text) in facts.evidence {
        findings.evidence(&name, text);
    }
    Ok(())
}

#[derive(Default, serde::Serialize, serde::Deserialize)]
struct Facts {
    metrics: Vec<(String, i64, Unit)>,
    evidence: Vec<(String, String)>,
}

fn load() -> Result<Facts> {
    // What khugepaged reserves would stay as large blocks.
    fs::write(thp::MIN_FREE, "2048").context("failed to lower what the kernel keeps free")?;
    if std::path::Path::new(thp::PER_CPU).exists() {
        fs::write(thp::PER_CPU, "100000").context("failed to shorten the CPUs' lists of free pages")?;
    }
    // The ballast shrinks the memory under test, so that a fixed amount of loading fills it on any guest. The
    // pool's pages are not filled with zeros, which would take seconds under emulation.
    let ballast_kib = (free_kib()? - LEFT_MIB * 1024).max(0);
    fs::write(HUGETLB_POOL, (ballast_kib / 2048).to_string()).context("failed to fill the hugetlb pool")?;

    let mut facts = Facts::default();
    let mut random = Random::seeded(0);
    let (mut held, mut staging) = (Vec::new(), Vec::new());
    let budget = usize::try_from((free_kib()? - SPARE_MIB * 1024).max(0))? * KIB;
    let mut in_use = 0;
    while in_use < budget {
        let len = (512 * KIB + random.below(1331 * KIB)).next_multiple_of(PAGE);
        let (raw, converted) = (mem::map(Kind::Private, len)?, mem::map(Kind::Private, len)?);
        // As a loader converts: read some of the one, write as much of the other.
        for offset in (0..len).step_by(CHUNK) {
            raw.touch_part(offset, CHUNK);
            converted.touch_part(offset, CHUNK);
        }
        in_use += 2 * len;
        staging.push(raw);
        held.push(converted);
    }
    let loaded = held.len() + staging.len();
    for raw in staging {
        raw.unmap()?;
    }
    facts.metric("shards-loaded", i64::try_from(loaded)?, Unit::Count);
    facts.metric("shards-held", i64::try_from(held.len())?, Unit::Count);
    state(&mut facts)?;
    attempts(&mut facts)?;
    Ok(facts)
}

/// The orders that are left.
fn state(facts: &mut Facts) -> Result<()> {
    let buddy = fs::read_to_string("/proc/buddyinfo").context("failed to read /proc/buddyinfo")?;
    let blocks = proc::free_blocks(&buddy);
    let free_from = |order: usize| -> i64 {
        blocks.iter().enumerate().skip(order).map(|(order, count)| (count * 4) << order).sum()
    };
    facts.metric("free-kib", free_from(0), Unit::Kib);
    facts.metric("free-order4-up-kib", free_from(4), Unit::Kib);
    facts.metric("free-order9-up-kib", free_from(9), Unit::Kib);
    facts.evidence.push(("buddyinfo".to_owned(), buddy));
    let index = format!("{}/extfrag/extfrag_index", init::DEBUGFS);
    if let Ok(text) = fs::read_to_string(&index) {
        if let (Some(order4), Some(order9)) =
            (proc::extfrag_thousandths(&text, 4), proc::extfrag_thousandths(&text, 9))
        {
            facts.metric("extfrag-order4", order4, Unit::Thousandths);
            facts.metric("extfrag-order9", order9, Unit::Thousandths);
        }
        facts.evidence.push(("extfrag_index".to_owned(), text));
    }
    if let Ok(text) = fs::read_to_string("/proc/pagetypeinfo") {
        facts.evidence.push(("pagetypeinfo".to_owned(), text));
    }
    Ok(())
}

/// How many large allocations still succeed: THP without and with compaction, then 64 KiB.
fn attempts(facts: &mut Facts) -> Result<()> {
    let before = COUNTERS.map(|name| proc::vmstat(name).unwrap_or(0));
    for (name, defrag) in [("order9", "never"), ("order9-compacted", "always")] {
        thp::set("defrag", defrag)?;
        let start = proc::vmstat("thp_fault_alloc")?;
        let area = aligned(HUGE_ATTEMPTS * PMD)?;
        area.touch_every(PMD);
        let got = proc::vmstat("thp_fault_alloc")? - start;
        facts.metric(&format!("{name}-tried"), i64::try_from(HUGE_ATTEMPTS)?, Unit::Count);
        facts.metric(&format!("{name}-succeeded"), got, Unit::Count);
        area.unmap()?;
    }
    let stats = thp::size_dir(64).join("stats/anon_fault_alloc");
    if stats.exists() {
        thp::set(thp::size_dir(2048).join("enabled"), "never")?;
        thp::set(thp::size_dir(64).join("enabled"), "always")?;
        thp::set("defrag", "never")?;
        let start = proc::number(&stats)?;
        let area = aligned(SMALL_ATTEMPTS * 64 * KIB)?;
        area.touch_every(64 * KIB);
        facts.metric("order4-tried", i64::try_from(SMALL_ATTEMPTS)?, Unit::Count);
        facts.metric("order4-succeeded", proc::number(&stats)? - start, Unit::Count);
        area.unmap()?;
    }
    for (name, before) in COUNTERS.into_iter().zip(before) {
        facts.metric(&name.replace('_', "-"), proc::vmstat(name)? - before, Unit::Count);
    }
    Ok(())
}

/// An area at a PMD boundary, wherever the shards left holes.
fn aligned(len: usize) -> Result<Area> {
    let reserved = Reserved::anywhere(len + PMD)?;
    reserved.map_fixed(reserved.start().next_multiple_of(PMD) - reserved.start(), len)
}

fn free_kib() -> Result<i64> {
    proc::kib("/proc/meminfo", "MemFree:")
}

impl Facts {
    fn metric(&mut self, name: &str, value: i64, unit: Unit) {
        self.metrics.push((name.to_owned(), value, unit));
    }
}
