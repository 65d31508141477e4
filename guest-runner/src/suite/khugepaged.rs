//! Does khugepaged find what can be huge?

use std::time::Duration;

use anyhow::{Context, Result};
use mthp_record::result::{Polarity, Unit};

use super::{Findings, Test, layout::Layout};
use crate::{
    init::wait_for,
    isolate::isolated,
    mem::{self, Area, KIB, Kind, MIB},
    needs::Need,
    proc, thp,
};

/// The one case.
pub const TESTS: &[Test] = &[Test {
    name: "khugepaged/4632KiB",
    contract: "transhuge.rst: khugepaged collapses sequences of basic pages into PMD-sized huge pages",
    needs: &[Need::Thp, Need::MemoryMib(768)],
    randomised: false,
    run: collapse,
}];

const COUNT: usize = 16;
const LEN: usize = 4632 * KIB;
/// khugepaged is done when it walked its list so often and collapsed nothing.
const IDLE_SCANS: i64 = 3;
const LIMIT: Duration = Duration::from_secs(8);

fn collapse(findings: &mut Findings) -> Result<()> {
    let counter = std::path::Path::new(thp::ROOT).join("khugepaged/pages_collapsed");
    let (layout, collapsed, before) = isolated(|| {
        let shown = mem::map(Kind::Private, 4 * MIB)?;
        mem::pin_gap(0)?;
        let areas = (0..COUNT).map(|_| mem::map(Kind::Private, LEN)).collect::<Result<Vec<_>>>()?;
        mem::forbid_thp(true)?;
        areas.iter().for_each(Area::touch);
        mem::forbid_thp(false)?;
        thp::show_to_khugepaged(&shown);
        let before = proc::number(&counter)?;
        let huge_before = Layout::of(&areas)?.anon_huge_kib;
        thp::set("khugepaged/pages_to_scan", "1048576")?;
        thp::set("khugepaged/alloc_sleep_millisecs", "10")?;
        // The last: it wakes khugepaged.
        thp::set("khugepaged/scan_sleep_millisecs", "10")?;
        let (mut seen, mut since) = (before, proc::number(thp::full_scans())?);
        wait_for(LIMIT, || {
            let now = proc::number(&counter).ok()?;
            let scans = proc::number(thp::full_scans()).ok()?;
            if now != seen {
                (seen, since) = (now, scans);
            }
            (scans - since >= IDLE_SCANS).then_some(())
        })
        .context("khugepaged did not come to rest")?;
        Ok((Layout::of(&areas)?, seen - before, huge_before))
    })?;
    findings.metric("anon-huge-before-kib", before, Unit::Kib, Polarity::Neutral);
    findings.metric("anon-huge-kib", layout.anon_huge_kib, Unit::Kib, Polarity::Higher);
    findings.metric("collapsed", collapsed, Unit::Count, Polarity::Higher);
    findings.check(
        "collapsible-collapsed",
        "khugepaged collapses every block that lies in one map area as a whole (KiB)",
        layout.anon_huge_kib,
        layout.whole_blocks * 2048,
    );
    findings.evidence("maps", layout.maps);
    findings.evidence("smaps_rollup", layout.rollup);
    Ok(())
}
