//! Same-page merging: what a process sees of it must not change because pages were merged.

use anyhow::Result;
use mthp_record::result::{Polarity, Unit};

use super::{Findings, Test};
use crate::{
    isolate::isolated,
    ksm::{self, Ksm},
    mem::{self, Kind, PAGE, soft_dirty},
    needs::Need,
};

/// Counters across a fork, the soft-dirty bit, and `MADV_FREE` of a page that others come to share.
pub const TESTS: &[Test] = &[
    Test {
        name: "ksm/counters-of-a-fork",
        contract: "ksm.rst: ksm_merging_pages and ksm_zero_pages of a process are the pages that KSM saves for it",
        needs: &[ksm::NEED, Need::Path("/proc/self/ksm_merging_pages", "counters of KSM per process")],
        randomised: false,
        run: fork,
    },
    Test {
        name: "ksm/zero-pages-of-a-fork",
        contract: "ksm.rst: ksm_zero_pages counts how many empty pages are mapped to the zero page by KSM",
        needs: &[ksm::NEED, Need::Path("/sys/kernel/mm/ksm/ksm_zero_pages", "count of merged zero pages")],
        randomised: false,
        run: zero_pages,
    },
    Test {
        name: "ksm/soft-dirty",
        contract: "soft-dirty.rst: a page that was written since the bits were cleared has its soft-dirty bit set",
        needs: &[ksm::NEED, Need::Path("/proc/self/clear_refs", "soft-dirty bits")],
        randomised: false,
        run: soft_dirty,
    },
    Test {
        name: "ksm/lazyfree",
        contract: "madvise(2): MADV_FREE frees pages of the specified range, and of no other",
        needs: &[ksm::NEED],
        randomised: false,
        run: lazyfree,
    },
];

const PAGES: usize = 64;

fn pages(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A child starts with its parent's pages, of which ksmd has seen none.
fn fork(findings: &mut Findings) -> Result<()> {
    let (parent, child, after) = isolated(|| {
        let ksm = Ksm::quick(false)?;
        let area = mem::map(Kind::Private, PAGES * PAGE)?;
        area.mergeable()?;
        area.fill(|_| 7);
        ksm.merge()?;
        Ok((ksm::merged_here()?, isolated(ksm::merged_here)?, ksm::merged_here()?))
    })?;
    findings.check("parent-merged", "equal pages are merged (pages)", parent, pages(PAGES));
    findings.check(
        "child-counts-its-own",
        "a forked child, of which ksmd has merged no page yet, counts none (pages)",
        child,
        0,
    );
    findings.check("parent-unchanged", "a fork leaves the parent's count as it was (pages)", after, parent);
    Ok(())
}

/// A child has the zero pages too, and takes back what it added when it ends.
fn zero_pages(findings: &mut Findings) -> Result<()> {
    let (before, merged, child, after) = isolated(|| {
        let ksm = Ksm::quick(true)?;
        let area = mem::map(Kind::Private, PAGES * PAGE)?;
        area.mergeable()?;
        area.fill(|_| 0);
        let before = ksm::count("ksm_zero_pages")?;
        ksm.merge()?;
        let merged = ksm::count("ksm_zero_pages")?;
        let child = isolated(|| ksm::count("ksm_zero_pages"))?;
        Ok((before, merged, child, ksm::count("ksm_zero_pages")?))
    })?;
    findings.metric("before", before, Unit::Count, Polarity::Neutral);
    findings.check(
        "merged",
        "empty pages are merged with the zero page (pages)",
        merged - before,
        pages(PAGES),
    );
    findings.check(
        "both-counted",
        "while a forked child lives, its zero pages are counted beside its parent's (pages)",
        child - before,
        2 * pages(PAGES),
    );
    findings.check(
        "one-left",
        "once the child is gone, its parent's zero pages are still counted (pages)",
        after - before,
        pages(PAGES),
    );
    Ok(())
}

fn soft_dirty(findings: &mut Findings) -> Result<()> {
    let (merged, written, read) = isolated(|| {
        let ksm = Ksm::quick(false)?;
        let written = mem::map(Kind::Private, PAGES * PAGE)?;
        let clean = mem::map(Kind::Private, PAGES * PAGE)?;
        for area in [&written, &clean] {
            area.mergeable()?;
            area.fill(|_| 7);
        }
        soft_dirty::clear_soft_dirty()?;
        written.fill(|_| 7);
        ksm.merge()?;
        Ok((
            ksm::merged_here()?,
            soft_dirty::pages_with(&written, soft_dirty::SOFT_DIRTY)?,
            soft_dirty::pages_with(&clean, soft_dirty::SOFT_DIRTY)?,
        ))
    })?;
    findings.check("merged", "equal pages are merged (pages)", merged, 2 * pages(PAGES));
    findings.check(
        "written-stay-dirty",
        "pages written since the bits were cleared are soft-dirty after they were merged",
        written,
        PAGES,
    );
    findings.check("others-stay-clean", "pages that nothing wrote to are not soft-dirty", read, 0);
    Ok(())
}

/// A page whose only user gave it up with `MADV_FREE` is merged with the page of another, who keeps his.
fn lazyfree(findings: &mut Findings) -> Result<()> {
    let value = |page: usize| u8::try_from(page % 255).unwrap_or(0) + 1;
    let (merged, again, kept) = isolated(|| {
        let ksm = Ksm::quick(false)?;
        let freed = mem::map(Kind::Private, PAGES * PAGE)?;
        let gone = mem::map(Kind::Private, PAGES * PAGE)?;
        for area in [&freed, &gone] {
            area.mergeable()?;
            area.fill(value);
        }
        ksm.merge()?;
        let merged = ksm::merged_here()?;
        gone.unmap()?;
        freed.lazyfree()?;
        let kept = mem::map(Kind::Private, PAGES * PAGE)?;
        kept.mergeable()?;
        kept.fill(value);
        ksm.merge()?;
        let again = ksm::merged_here()?;
        freed.unmap()?;
        kept.pageout()?;
        Ok((merged, again, kept.pages_that_hold(value)))
    })?;
    findings.check("merged", "equal pages are merged (pages)", merged, 2 * pages(PAGES));
    findings.metric("merged-after-free", again, Unit::Count, Polarity::Neutral);
    findings.check(
        "kept-is-kept",
        "memory that was never given up holds what was written to it (pages)",
        kept,
        PAGES,
    );
    Ok(())
}
