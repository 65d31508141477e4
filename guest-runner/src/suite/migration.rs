//! Pages that move from one NUMA node to another: where they are then, what they hold, and what the kernel remembers
//! of them.

use std::fs;

use anyhow::{Context, Result};
use mthp_record::result::{Polarity, Unit};

use super::{Findings, Test};
use crate::{
    isolate::isolated,
    mem::{self, Area, KIB, Kind, MIB, PAGE, PMD, numa},
    needs::Need,
    smaps, thp,
};

/// Moving small pages, huge pages, and huge pages that are mostly empty.
pub const TESTS: &[Test] = &[
    Test {
        name: "migration/small",
        contract: "move_pages(2): status is the node where each page now is, and the page keeps its address and content",
        needs: &[Need::Thp, Need::Nodes(2)],
        randomised: false,
        run: |findings| moved(findings, false),
    },
    Test {
        name: "migration/huge",
        contract: "move_pages(2): status is the node where each page now is, and the page keeps its address and content",
        needs: &[Need::Thp, Need::Nodes(2)],
        randomised: false,
        run: |findings| moved(findings, true),
    },
    Test {
        name: "migration/underused",
        contract: "transhuge.rst: memory pressure splits THPs with more zero pages than max_ptes_none, wherever they moved",
        needs: &[Need::Thp, Need::Nodes(2), Need::ThpSetting("shrink_underused")],
        randomised: false,
        run: underused,
    },
];

/// With room for eight whole blocks wherever it starts.
const LEN: usize = 18 * MIB;
const BLOCKS: usize = 8;
/// Half of a huge page's pages may be empty.
const MAX_NONE: &str = "256";

/// Two words a page: its first, and one in its middle.
const STEP: usize = PAGE / 2;

fn moved(findings: &mut Findings, huge: bool) -> Result<()> {
    let (wrong, wrong_later, lost, huge_before, huge_after) = isolated(|| {
        mem::forbid_thp(!huge)?;
        let area = mem::map(Kind::Private, 4 * MIB)?;
        area.fill_words(STEP)?;
        let huge_before = huge_kib(&area)?;
        let pages: Vec<_> = area.range().step_by(PAGE).collect();
        let target = other_node(area.start())?;
        // A huge page moves as a whole; to name a second page of it in the same call finds it busy (EBUSY).
        let named: Vec<_> = area.range().step_by(if huge { PMD } else { PAGE }).collect();
        let wrong = not_on(target, &numa::move_to(&named, target)?);
        let wrong_later = not_on(target, &numa::nodes_of(&pages)?);
        Ok((wrong, wrong_later, area.lost_words(STEP)?, huge_before, huge_kib(&area)?))
    })?;
    findings.metric("anon-huge-before-kib", huge_before, Unit::Kib, Polarity::Neutral);
    findings.metric("anon-huge-after-kib", huge_after, Unit::Kib, Polarity::Neutral);
    findings.check(
        "reported-moved",
        "each page's status is the node it was moved to (pages that differ)",
        wrong,
        0,
    );
    findings.check(
        "found-there",
        "each page is found on that node afterwards (pages that differ)",
        wrong_later,
        0,
    );
    findings.check("content-kept", "each page holds what it held before (words that differ)", lost, 0);
    Ok(())
}

fn underused(findings: &mut Findings) -> Result<()> {
    for (name, moves) in [("stayed", false), ("moved", true)] {
        // Each in a process of its own: neighbours of the same kind would be one VMA.
        let (before, after) = isolated(|| {
            thp::set("khugepaged/max_ptes_none", MAX_NONE)?;
            let blocks = Blocks::new()?;
            if moves {
                blocks.go_to_other_node()?;
            }
            let before = blocks.state()?;
            fs::write("/proc/sys/vm/drop_caches", "2").context("failed to shrink the kernel's caches")?;
            Ok((before, blocks.state()?))
        })?;
        let which = if moves { "moved to another node" } else { "left where they were" };
        findings.metric(&format!("{name}-huge-before-kib"), before.huge_kib, Unit::Kib, Polarity::Neutral);
        findings.check(
            &format!("valid-{name}-huge"),
            "the pages are huge before caches are shrunk (KiB)",
            before.huge_kib,
            i64::try_from(BLOCKS * PMD / KIB)?,
        );
        findings.check(
            &format!("{name}-split"),
            &format!(
                "underused huge pages that were {which} are split when caches are shrunk (KiB still huge)"
            ),
            after.huge_kib,
            0,
        );
        findings.check(
            &format!("{name}-freed"),
            &format!(
                "the empty pages of underused huge pages that were {which} are freed (KiB still present)"
            ),
            after.present_kib,
            i64::try_from(BLOCKS * PAGE / KIB)?,
        );
        findings.check(
            &format!("{name}-kept"),
            "a page that is not empty holds what it held before the split (words that differ)",
            after.lost,
            0,
        );
    }
    Ok(())
}

/// Huge pages that hold one word each.
struct Blocks {
    area: Area,
    starts: Vec<usize>,
}

#[derive(serde::Serialize, serde::Deserialize)]
struct State {
    huge_kib: i64,
    present_kib: i64,
    lost: usize,
}

impl Blocks {
    fn new() -> Result<Self> {
        let area = mem::map(Kind::Private, LEN)?;
        let first = area.start().next_multiple_of(PMD);
        let starts: Vec<_> = (0..BLOCKS).map(|block| first + block * PMD).collect();
        for start in &starts {
            area.write_word(start - area.start(), 1)?;
        }
        Ok(Self { area, starts })
    }

    fn go_to_other_node(&self) -> Result<()> {
        let target = other_node(self.area.start().next_multiple_of(PMD))?;
        let astray = not_on(target, &numa::move_to(&self.starts, target)?);
        anyhow::ensure!(astray == 0, "{astray} of {BLOCKS} huge pages were not moved to node {target}");
        Ok(())
    }

    fn state(&self) -> Result<State> {
        let vmas = smaps::of(&[self.area.range()])?;
        let mut lost = 0;
        for start in &self.starts {
            lost += usize::from(self.area.read_word(start - self.area.start())? != 1);
        }
        Ok(State {
            huge_kib: vmas.iter().map(|vma| vma.anon_huge_kib).sum(),
            present_kib: vmas.iter().map(|vma| vma.rss_kib).sum(),
            lost,
        })
    }
}

fn huge_kib(area: &Area) -> Result<i64> {
    Ok(smaps::of(&[area.range()])?.iter().map(|vma| vma.anon_huge_kib).sum())
}

/// Of the first two nodes the one where this page is not.
fn other_node(page: usize) -> Result<i32> {
    let now = numa::nodes_of(&[page])?.first().copied().unwrap_or(-1);
    anyhow::ensure!(now >= 0, "the page has no node: {now}");
    Ok(i32::from(now == 0))
}

fn not_on(node: i32, status: &[i32]) -> usize {
    status.iter().filter(|status| **status != node).count()
}
