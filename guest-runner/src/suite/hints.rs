//! Maps whose place the caller has a say in, and stacks.

use anyhow::{Context, Result};
use mthp_record::result::{Polarity, Unit};

use super::{Findings, Test, layout::Layout};
use crate::{
    isolate::isolated,
    mem::{self, Area, KIB, Kind, MIB, PAGE, PMD, Reserved},
    needs::Need,
    smaps,
};

/// Hints, `MAP_FIXED`, `MAP_STACK`.
pub const TESTS: &[Test] = &[
    test("hint/4MiB", HINT, |f| hint(f, 4 * MIB)),
    test("hint/3MiB", HINT, |f| hint(f, 3 * MIB)),
    test("hint/2MiB", HINT, |f| hint(f, 2 * MIB)),
    test("fixed/map-fixed", "mmap(2): MAP_FIXED places the mapping at exactly that address", fixed),
    test("stack/map-stack", "c4608d1bf7c6: a MAP_STACK area never gets huge pages", stack),
];

const HINT: &str = "mmap(2): the kernel takes addr as a hint about where to place the mapping";

const fn test(name: &'static str, contract: &'static str, run: fn(&mut Findings) -> Result<()>) -> Test {
    Test { name, contract, needs: &[Need::Thp], randomised: false, run }
}

/// A hint at a hole that has room for the map and no more: there the padding for an aligned place does not fit.
fn hint(findings: &mut Findings, len: usize) -> Result<()> {
    let (tight, roomy) = isolated(|| Ok((distance(len, 0)?, distance(len, 2 * PMD)?)))?;
    findings.metric("hint-distance-kib", tight, Unit::Kib, Polarity::Lower);
    findings.check(
        "hint-honoured",
        "a map is placed at the hint when exactly that range is free",
        distance_in_words(tight),
        distance_in_words(0),
    );
    findings.check(
        "roomy-hint-honoured",
        "a map is placed at the hint when that range and more is free",
        distance_in_words(roomy),
        distance_in_words(0),
    );
    Ok(())
}

fn distance_in_words(kib: i64) -> String {
    if kib == 0 { "at the hint".to_owned() } else { format!("{kib} KiB away") }
}

fn distance(len: usize, room: usize) -> Result<i64> {
    let reserved = Reserved::anywhere(len + room + 3 * PMD)?;
    // One page past a boundary: no aligned place can be the hint itself.
    let offset = (reserved.start().next_multiple_of(PMD) - reserved.start()) + PAGE;
    reserved.punch(offset, len + room)?;
    let hint = reserved.start() + offset;
    let area = mem::map_near(hint, Kind::Private, len)?;
    i64::try_from(area.start().abs_diff(hint) / KIB).context("the distance is no number")
}

fn fixed(findings: &mut Findings) -> Result<()> {
    let (asked, got, maps) = isolated(|| {
        let reserved = Reserved::anywhere(4 * PMD)?;
        let offset = (reserved.start().next_multiple_of(PMD) - reserved.start()) + PAGE;
        let area = reserved.map_fixed(offset, 2 * PMD)?;
        area.touch();
        Ok((reserved.start() + offset, area.start(), Layout::of(&[area])?))
    })?;
    findings.check(
        "fixed-honoured",
        "MAP_FIXED places the map exactly where it is told to",
        format!("{got:#x}"),
        format!("{asked:#x}"),
    );
    findings.metric("anon-huge-kib", maps.anon_huge_kib, Unit::Kib, Polarity::Neutral);
    findings.evidence("maps", maps.maps);
    findings.evidence("smaps_rollup", maps.rollup);
    Ok(())
}

fn stack(findings: &mut Findings) -> Result<()> {
    let (layout, flagged) = isolated(|| {
        mem::pin_gap(PMD / 2)?;
        let areas = (0..4).map(|_| mem::map(Kind::Stack, 4 * MIB)).collect::<Result<Vec<_>>>()?;
        areas.iter().for_each(Area::touch);
        let ranges: Vec<_> = areas.iter().map(Area::range).collect();
        let vmas = smaps::of(&ranges)?;
        let flagged = !vmas.is_empty() && vmas.iter().all(|vma| vma.flags.iter().any(|flag| flag == "nh"));
        Ok((Layout::of(&areas)?, flagged))
    })?;
    findings.check(
        "map-stack-no-hugepage",
        "a MAP_STACK map is marked VM_NOHUGEPAGE (nh)",
        if flagged { "nh" } else { "no nh" },
        "nh",
    );
    findings.metric("anon-huge-kib", layout.anon_huge_kib, Unit::Kib, Polarity::Lower);
    findings.metric("gap-kib", layout.gap_bounds().1, Unit::Kib, Polarity::Neutral);
    findings.metric(
        "phase-kib",
        layout.phases_kib.first().copied().unwrap_or(-1),
        Unit::Kib,
        Polarity::Neutral,
    );
    findings.evidence("maps", layout.maps);
    findings.evidence("smaps_rollup", layout.rollup);
    Ok(())
}
