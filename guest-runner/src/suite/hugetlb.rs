//! Pages of the hugetlb pool.

use std::fs;

use anyhow::{Context, Result};

use super::{Findings, Test};
use crate::{
    isolate::{beside_fork, isolated},
    mem::{MIB, PMD, Reserved, discard::discard, hugetlb, outcome::DONE, sysv::Segment},
    needs::Need,
};

/// Moves, reservations, shared memory.
pub const TESTS: &[Test] = &[
    test("hugetlb/move-with-hole", MOVE, move_with_hole),
    test("hugetlb/move-large", MOVE, move_large),
    test(
        "hugetlb/owner-discards",
        "hugetlbpage.rst: HugePages_Rsvd counts pages that are promised and not yet allocated",
        owner_discards,
    ),
    test(
        "hugetlb/shm-resident",
        "proc_sysvipc_shm: rss is the part of a segment that is in memory (shmctl(2): shm_rss)",
        shm_resident,
    ),
];

const MOVE: &str = "mremap(2): the mapping moves as it is: each page keeps its offset";

const fn test(name: &'static str, contract: &'static str, run: fn(&mut Findings) -> Result<()>) -> Test {
    Test { name, contract, needs: &[Need::HugetlbPool], randomised: false, run }
}

const GIB: usize = 1024 * MIB;

/// An area whose first pages have no page table, moved by a distance that is no multiple of what a table spans.
fn move_with_hole(findings: &mut Findings) -> Result<()> {
    let marks = isolated(|| {
        hugetlb::fill_pool(4)?;
        let reserved = Reserved::anywhere(6 * GIB)?;
        let whole = reserved.start().next_multiple_of(GIB) - reserved.start();
        // Two pages before the boundary, where nothing else is, and two behind it.
        let area = hugetlb::map_fixed(&reserved, whole + GIB - 2 * PMD, 4 * PMD)?;
        area.set_byte(2 * PMD, 0xa)?;
        area.set_byte(3 * PMD, 0xb)?;
        let moved = hugetlb::move_fixed(area, &reserved, whole + 3 * GIB - PMD)?;
        let marks = (2..4).map(|page| Ok(format!("{:x}", moved.byte(page * PMD)?)));
        Ok(marks.collect::<Result<Vec<_>>>()?.join(","))
    })?;
    findings.check(
        "offsets-kept",
        "after a move the third and fourth page hold what they held before",
        marks,
        "a,b".to_owned(),
    );
    Ok(())
}

/// Of pages that were never there: their number is what matters.
fn move_large(findings: &mut Findings) -> Result<()> {
    let moved = isolated(|| {
        let reserved = Reserved::anywhere(10 * GIB)?;
        let whole = reserved.start().next_multiple_of(GIB) - reserved.start();
        let area = hugetlb::map_fixed(&reserved, whole, 4 * GIB)?;
        Ok(match hugetlb::move_fixed(area, &reserved, whole + 5 * GIB) {
            Ok(_) => DONE.to_owned(),
            Err(error) => format!("{error:#}"),
        })
    })?;
    findings.check("large-moved", "an area of 4 GiB can be moved", moved, DONE.to_owned());
    Ok(())
}

fn reserved_pages() -> Result<String> {
    let text = fs::read_to_string("/proc/meminfo").context("failed to read /proc/meminfo")?;
    let value = text.lines().find_map(|line| line.strip_prefix("HugePages_Rsvd:"));
    // As text: what wrapped around is no number that fits.
    Ok(value.context("/proc/meminfo has no HugePages_Rsvd")?.trim().to_owned())
}

/// A fork still has the page that its parent, to whom the page was promised, gives up and asks for again.
fn owner_discards(findings: &mut Findings) -> Result<()> {
    let (mapped, written, again) = isolated(|| {
        hugetlb::fill_pool(2)?;
        let area = hugetlb::map_reserved(PMD)?;
        let mapped = reserved_pages()?;
        area.touch_every(PMD);
        let written = reserved_pages()?;
        let again = beside_fork(|| {
            discard(&area, 0, PMD)?;
            area.touch_every(PMD);
            reserved_pages()
        })?;
        Ok((mapped, written, again))
    })?;
    findings.check("promised", "a private map of one page has one promised", mapped, "1".to_owned());
    findings.check("allocated", "a page that was written is no longer promised", written, "0".to_owned());
    findings.check(
        "allocated-again",
        "no page is promised after the owner discarded and wrote one that a fork still maps",
        again,
        "0".to_owned(),
    );
    Ok(())
}

fn shm_resident(findings: &mut Findings) -> Result<()> {
    let resident = isolated(|| {
        hugetlb::fill_pool(2)?;
        let segment = Segment::huge(2 * PMD)?;
        let area = segment.attach(2 * PMD)?;
        let mut resident = vec![segment.resident_bytes()? / 1024];
        for page in 0..2 {
            area.set_byte(page * PMD, 1)?;
            resident.push(segment.resident_bytes()? / 1024);
        }
        Ok(resident.iter().map(u64::to_string).collect::<Vec<_>>().join(","))
    })?;
    findings.check(
        "resident-size",
        "each huge page that was written adds its size to a segment's resident size (KiB)",
        resident,
        "0,2048,4096".to_owned(),
    );
    Ok(())
}
