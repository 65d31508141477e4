//! Where the kernel puts anonymous maps of one size, and what that costs.

use anyhow::{Result, ensure};
use mthp_record::result::{Polarity, Unit};
use serde::{Deserialize, Serialize};

use super::{
    Findings, Test, collapse,
    layout::{self, Layout},
};
use crate::{
    isolate::isolated,
    mem::{self, Area, KIB, Kind, MIB, PAGE, PMD},
    needs::Need,
    proc,
};

const CONTRACT: &str =
    "d4148aeab412: only anonymous maps of whole huge pages are aligned; others touch and merge";
const NEEDS: &[Need] = &[Need::Thp, Need::MemoryMib(768)];

/// The sizes of the table in METHOD.md.
pub const TESTS: &[Test] = &[
    test("placement/1536KiB", |f| touched(f, 1536 * KIB, 8)),
    test("placement/1844KiB", |f| touched(f, 1844 * KIB, 8)),
    test("placement/2044KiB", |f| touched(f, 2044 * KIB, 8)),
    test("placement/2MiB", |f| touched(f, 2 * MIB, 8)),
    test("placement/4MiB", |f| touched(f, 4 * MIB, 8)),
    test("placement/2052KiB", |f| touched(f, 2052 * KIB, 8)),
    test("placement/3MiB", |f| touched(f, 3 * MIB, 8)),
    test("placement/4224KiB", |f| touched(f, 4224 * KIB, 8)),
    test("placement/4632KiB", |f| touched(f, 4632 * KIB, 16)),
    test("placement/512MiB+12KiB", |f| placed(f, 512 * MIB + 12 * KIB, 3)),
    Test { randomised: true, ..test("placement-aslr/4632KiB", |f| placed(f, 4632 * KIB, 16)) },
];

const fn test(name: &'static str, run: fn(&mut Findings) -> Result<()>) -> Test {
    Test { name, contract: CONTRACT, needs: NEEDS, randomised: false, run }
}

/// When the maps are written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Touch {
    /// Once all of them exist.
    After,
    /// Each right after it was mapped.
    Each,
}

#[derive(Debug, Serialize, Deserialize)]
struct Measured {
    faults: i64,
    /// One for the control, for each huge page and for each small one.
    faults_explained: i64,
    page_tables_kib: i64,
    layout: Layout,
}

/// Placement only: sizes that are too large to fill, and randomised addresses.
fn placed(findings: &mut Findings, len: usize, count: usize) -> Result<()> {
    let layout = isolated(|| {
        mem::pin_gap(0)?;
        Layout::of(&maps(len, count)?)
    })?;
    report_layout(findings, len, layout)
}

/// Placement and what filling the maps costs.
fn touched(findings: &mut Findings, len: usize, count: usize) -> Result<()> {
    let after = isolated(|| measure(len, count, Touch::After))?;
    let each = isolated(|| measure(len, count, Touch::Each))?;
    let collapsed = isolated(|| collapse::measure(len, count))?;

    let anon_huge = after.layout.anon_huge_kib;
    findings.metric("anon-huge-kib", anon_huge, Unit::Kib, Polarity::Higher);
    findings.metric("anon-huge-each-kib", each.layout.anon_huge_kib, Unit::Kib, Polarity::Neutral);
    findings.metric("faults-after", after.faults, Unit::Count, Polarity::Lower);
    findings.metric("faults-each", each.faults, Unit::Count, Polarity::Neutral);
    findings.metric("page-tables-kib", after.page_tables_kib, Unit::Kib, Polarity::Lower);
    findings.metric("collapse-ok", collapsed.ok, Unit::Count, Polarity::Higher);
    findings.metric("collapse-failed", collapsed.failed, Unit::Count, Polarity::Lower);
    findings.check(
        "faults-explained",
        "each fault filled one page, huge or small: none came from elsewhere (after/each)",
        format!("{}/{}", after.faults, each.faults),
        format!("{}/{}", after.faults_explained, each.faults_explained),
    );
    findings.check(
        "collapse-reaches-whole-blocks",
        "MADV_COLLAPSE makes every block that lies in one map area as a whole huge",
        collapsed.ok,
        collapsed.layout.whole_blocks,
    );
    findings.evidence("maps-each", each.layout.maps);
    findings.evidence("maps-collapsed", collapsed.layout.maps);
    report_layout(findings, len, after.layout)
}

fn report_layout(findings: &mut Findings, len: usize, layout: Layout) -> Result<()> {
    let (gap, gap_max) = layout.gap_bounds();
    findings.metric("gap-kib", gap, Unit::Kib, Polarity::Lower);
    findings.metric("gap-max-kib", gap_max, Unit::Kib, Polarity::Lower);
    findings.metric("vmas", layout.vmas, Unit::Count, Polarity::Lower);
    findings.metric("span-kib", layout.span_kib, Unit::Kib, Polarity::Lower);
    findings.check("gaps-equal", "equal maps are placed at equal distances", gap_max, gap);
    findings.check(
        "neighbours-touch",
        "neighbouring maps touch",
        format!("{gap_max} KiB"),
        "0 KiB".to_owned(),
    );
    findings.check("neighbours-merge", "neighbouring maps are one area", layout.vmas, 1);
    if len.is_multiple_of(PMD) {
        // Half a block off: a kernel that does not align cannot hit the boundary by luck.
        let phases = isolated(|| {
            mem::pin_gap(PMD / 2)?;
            Ok(Layout::of(&maps(len, 4)?)?.phases_kib)
        })?;
        findings.check(
            "pmd-aligned",
            "a map of whole huge pages starts at a PMD boundary, wherever the free gap ends",
            phases.into_iter().max().unwrap_or(-1),
            0,
        );
    }
    findings.evidence("maps", layout.maps);
    findings.evidence("smaps_rollup", layout.rollup);
    Ok(())
}

fn maps(len: usize, count: usize) -> Result<Vec<Area>> {
    (0..count).map(|_| mem::map(Kind::Private, len)).collect()
}

fn measure(len: usize, count: usize, touch: Touch) -> Result<Measured> {
    let mut areas = Vec::with_capacity(count);
    // Everything that the measured region and the readings need is used once, then made present.
    proc::page_tables_kib()?;
    mem::minor_faults()?;
    mem::settle_own_pages()?;
    let control = mem::map(Kind::Private, PAGE)?;
    mem::pin_gap(0)?;

    // The control: one small page, one fault. It shows that the counter counts singly, and that nothing else
    // was counted; the published figures (2177, 133, 7798) include such a fault, so these do.
    let start = mem::minor_faults()?;
    control.touch();
    let control_faults = mem::minor_faults()? - start;
    ensure!(control_faults == 1, "one page was touched and {control_faults} faults were counted");

    let tables_before = proc::page_tables_kib()?;
    let start = mem::minor_faults()?;
    for _ in 0..count {
        let area = mem::map(Kind::Private, len)?;
        if touch == Touch::Each {
            area.touch();
        }
        areas.push(area);
    }
    if touch == Touch::After {
        areas.iter().for_each(Area::touch);
    }
    let faults = mem::minor_faults()? - start + control_faults;
    let page_tables_kib = proc::page_tables_kib()? - tables_before;
    let layout = Layout::of(&areas)?;
    let small_kib = layout::kib(len * count) - layout.anon_huge_kib;
    let faults_explained = control_faults + layout.anon_huge_kib / 2048 + small_kib / 4;
    Ok(Measured { faults, faults_explained, page_tables_kib, layout })
}
