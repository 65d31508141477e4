//! What `/proc/PID/pagemap` says of pages, entry by entry and as a scan.

use std::ops::Range;

use anyhow::{Context, Result};

use super::{Findings, Test};
use crate::{
    isolate::isolated,
    mem::{
        self, Kind, MIB, PAGE, PMD,
        discard::discard,
        outcome::outcome,
        pagemap::{PFNZERO, PRESENT, Pagemap, WRITTEN, pages_in_words},
        uffd::{FLAG_WP, Mode, Userfaultfd},
    },
    needs::Need,
    smaps,
};

/// The scan, and requests that are none.
pub const TESTS: &[Test] = &[
    Test {
        name: "pagemap/zero-page",
        contract: "pagemap.rst: PAGE_IS_PFNZERO: the page has the zero PFN",
        needs: &[Need::PagemapScan, Need::Thp],
        randomised: false,
        run: zero_page,
    },
    Test {
        name: "pagemap/written",
        contract: "pagemap.rst: PAGE_IS_WRITTEN: the page was written to since it was write-protected",
        needs: &[Need::PagemapScan, Need::Userfaultfd(FLAG_WP)],
        randomised: false,
        run: written,
    },
    Test {
        name: "pagemap/written-huge",
        contract: "pagemap.rst: PAGE_IS_WRITTEN: the page was written to since it was write-protected",
        needs: &[Need::PagemapScan, Need::Userfaultfd(FLAG_WP), Need::Thp],
        randomised: false,
        run: written_huge,
    },
    Test {
        name: "pagemap/unknown-request",
        contract: "ioctl(2): ENOTTY: the request does not apply to the kind of object that fd refers to",
        needs: &[],
        randomised: false,
        run: unknown_request,
    },
];

fn zero_page(findings: &mut Findings) -> Result<()> {
    let (small, huge, huge_kib) = isolated(|| {
        let pagemap = Pagemap::open()?;
        mem::pin_gap(0)?;
        let area = mem::map(Kind::Private, 4 * MIB)?;
        mem::forbid_thp(true)?;
        area.byte(0)?;
        mem::forbid_thp(false)?;
        area.byte(PMD)?;
        let in_words = |offset: usize| -> Result<String> {
            let start = area.start() + offset;
            let regions = pagemap.scan(&(start..start + PAGE), PRESENT, PRESENT | PFNZERO)?;
            Ok(match regions.first().map(|region| region.categories & PFNZERO) {
                None => "absent".to_owned(),
                Some(0) => "not the zero page".to_owned(),
                Some(_) => "the zero page".to_owned(),
            })
        };
        let huge_kib: i64 = smaps::of(&[area.range()])?.iter().map(|vma| vma.anon_huge_kib).sum();
        Ok((in_words(0)?, in_words(PMD)?, huge_kib))
    })?;
    findings.check(
        "small-zero-page",
        "a page that was only read is reported as the zero page",
        small,
        "the zero page".to_owned(),
    );
    findings.check(
        "huge-zero-page",
        "a huge page that was only read is reported as the zero page",
        huge,
        "the zero page".to_owned(),
    );
    findings.evidence("anon-huge-kib", huge_kib.to_string());
    Ok(())
}

fn written(findings: &mut Findings) -> Result<()> {
    let (alone, together) = isolated(|| {
        let uffd = Userfaultfd::open(FLAG_WP).context("failed to open a userfaultfd")?;
        let area = mem::map(Kind::Private, 4 * PAGE)?;
        area.touch();
        uffd.register(&area.range(), Mode::WriteProtect).context("failed to watch an area")?;
        // The second page is left as it was written.
        let start = area.start();
        uffd.write_protect(&(start..start + PAGE))?;
        uffd.write_protect(&(start + 2 * PAGE..start + 4 * PAGE))?;
        // What was protected is gone, and so is its protection.
        discard(&area, 2 * PAGE, PAGE)?;
        both_questions(&area.range(), PAGE)
    })?;
    compare(findings, alone, together, "1,2");
    Ok(())
}

fn written_huge(findings: &mut Findings) -> Result<()> {
    let (alone, together) = isolated(|| {
        let uffd = Userfaultfd::open(FLAG_WP).context("failed to open a userfaultfd")?;
        mem::pin_gap(0)?;
        let area = mem::map(Kind::Private, 4 * MIB)?;
        area.touch();
        uffd.register(&area.range(), Mode::WriteProtect).context("failed to watch an area")?;
        uffd.write_protect(&area.range())?;
        discard(&area, PMD, PMD)?;
        both_questions(&area.range(), PMD)
    })?;
    compare(findings, alone, together, "1");
    Ok(())
}

/// Which units of `range` were written to: the scan that asks for nothing else takes a short cut.
fn both_questions(range: &Range<usize>, unit: usize) -> Result<(String, String)> {
    let pagemap = Pagemap::open()?;
    let ask = |returned| -> Result<String> {
        let mut numbers = Vec::new();
        for (number, start) in range.clone().step_by(unit).enumerate() {
            let unit = start..start + unit;
            let regions = pagemap.scan(&unit, WRITTEN, returned).context("failed to scan an area")?;
            if pages_in_words(&regions, &(start..start + PAGE)) != "none" {
                numbers.push(number.to_string());
            }
        }
        Ok(numbers.join(","))
    };
    Ok((ask(WRITTEN)?, ask(WRITTEN | PRESENT)?))
}

fn compare(findings: &mut Findings, alone: String, together: String, expected: &str) {
    findings.check(
        "asked-alone",
        "pages that were written or discarded are reported as written (their numbers)",
        alone,
        expected.to_owned(),
    );
    findings.check(
        "asked-with-others",
        "they are also when the scan asks for other categories too (their numbers)",
        together,
        expected.to_owned(),
    );
}

fn unknown_request(findings: &mut Findings) -> Result<()> {
    let result = Pagemap::open()?.unknown_operation();
    findings.check(
        "refused-as-unknown",
        "a request that pagemap does not know is refused with ENOTTY",
        outcome(&result),
        "ENOTTY".to_owned(),
    );
    Ok(())
}
