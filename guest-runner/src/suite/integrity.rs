//! What was written stays written.

use anyhow::{Context, Result};
use mthp_record::result::{Polarity, Unit};

use super::{Findings, Test};
use crate::{
    isolate::isolated,
    mem::{self, Area, PMD, Reserved, protect},
    needs::Need,
    smaps,
};

/// Memory that was given up and written again.
pub const TESTS: &[Test] = &[
    test("integrity/lazyfree-small", |f| lazyfree(f, false)),
    test("integrity/lazyfree-huge", |f| lazyfree(f, true)),
];

const fn test(name: &'static str, run: fn(&mut Findings) -> Result<()>) -> Test {
    Test {
        name,
        contract: "madvise(2): after MADV_FREE, writes to the range succeed and cannot be freed by the kernel",
        needs: &[Need::Thp],
        randomised: false,
        run,
    }
}

const LEN: usize = 2 * PMD;

/// What happens between the write and the reclaim.
#[derive(Clone, Copy, Debug)]
enum Between {
    Nothing,
    /// Writes are forbidden.
    Forbidden,
    /// Writes are forbidden and allowed again.
    Allowed,
}

fn lazyfree(findings: &mut Findings, huge: bool) -> Result<()> {
    for (case, between) in
        [("plain", Between::Nothing), ("read-only", Between::Forbidden), ("read-write", Between::Allowed)]
    {
        let (huge_kib, kept, pages) = isolated(|| {
            let area = filled(huge)?;
            area.lazyfree()?;
            area.fill(second);
            // Before the pages are reclaimed: that can split them.
            let huge_kib: i64 = smaps::of(&[area.range()])?.iter().map(|vma| vma.anon_huge_kib).sum();
            match between {
                Between::Nothing => {}
                Between::Forbidden => protect::read_only(&area)?,
                Between::Allowed => {
                    protect::read_only(&area)?;
                    protect::read_write(&area)?;
                }
            }
            area.pageout()?;
            Ok((huge_kib, area.pages_that_hold(second), area.pages()))
        })?;
        findings.check(
            &format!("{case}-page-size"),
            "the memory has huge pages where that is asked for, and nowhere else (KiB)",
            huge_kib,
            if huge { i64::try_from(LEN / 1024)? } else { 0 },
        );
        findings.check(
            &format!("{case}-kept"),
            "what is written after MADV_FREE is still there after reclaim (pages)",
            kept,
            pages,
        );
    }
    let discarded = isolated(|| {
        let area = filled(huge)?;
        area.lazyfree()?;
        area.pageout()?;
        Ok(area.pages() - area.pages_that_hold(first))
    })?;
    // Whether given-up memory is discarded at once is the kernel's choice.
    findings.metric("discarded", i64::try_from(discarded)?, Unit::Count, Polarity::Neutral);
    Ok(())
}

fn first(page: usize) -> u8 {
    u8::try_from(page % 100).unwrap_or(0) + 1
}

fn second(page: usize) -> u8 {
    first(page) + 100
}

/// Whole blocks that hold [`first`].
fn filled(huge: bool) -> Result<Area> {
    mem::forbid_thp(!huge)?;
    let reserved = Reserved::anywhere(LEN + PMD)?;
    let offset = reserved.start().next_multiple_of(PMD) - reserved.start();
    let area = reserved.map_fixed(offset, LEN).context("failed to map whole blocks")?;
    area.fill(first);
    Ok(area)
}
