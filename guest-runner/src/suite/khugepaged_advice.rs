//! Does khugepaged come to memory that a program asked huge pages for after it had filled it?

use std::{
    fs::{self, File},
    io::Write,
    os::fd::AsFd,
    time::Duration,
};

use anyhow::{Context, Result};
use mthp_record::result::{Polarity, Unit};

use super::{Findings, Test};
use crate::{
    init::{self, wait_for},
    isolate::isolated,
    mem::{self, Area, KIB, Kind, MIB, PMD},
    needs::Need,
    proc, smaps, thp,
};

/// Private, shared, and a file's memory, where huge pages are for those who ask.
pub const TESTS: &[Test] = &[
    test("khugepaged/advised-private", &[Need::Thp], private),
    test("khugepaged/advised-shared", &[Need::Thp, Need::ThpSetting(SHARED)], shared),
    test("khugepaged/advised-tmpfs", &[Need::Thp, Need::FileSystem("tmpfs")], tmpfs),
];

const SHARED: &str = "hugepages-2048kB/shmem_enabled";
const CONTRACT: &str =
    "madvise(2): MADV_HUGEPAGE enables THP in the range; khugepaged scans it for pages to replace";

const fn test(name: &'static str, needs: &'static [Need], run: fn(&mut Findings) -> Result<()>) -> Test {
    Test { name, contract: CONTRACT, needs, randomised: false, run }
}

/// Whole blocks, and one more for a start in between.
const LEN: usize = 4 * MIB;
/// The first walk may have begun before the advice, and one may find the process's memory map locked. That khugepaged
/// finds nothing more to do cannot be waited for: it counts a file's huge page as collapsed each time it comes by.
const SCANS: i64 = 4;
const LIMIT: Duration = Duration::from_secs(6);

fn private(findings: &mut Findings) -> Result<()> {
    advised(findings, &|| {
        let area = mem::map(Kind::Private, LEN)?;
        area.touch();
        Ok(area)
    })
}

fn shared(findings: &mut Findings) -> Result<()> {
    thp::set(SHARED, "advise")?;
    advised(findings, &|| {
        let area = mem::map(Kind::Shared, LEN)?;
        area.touch();
        Ok(area)
    })
}

fn tmpfs(findings: &mut Findings) -> Result<()> {
    let folder = "/tmp/advised";
    fs::create_dir_all(folder).with_context(|| format!("failed to create {folder}"))?;
    init::mount_at("tmpfs", folder, Some("huge=advise,size=16m"))
        .context("failed to mount tmpfs with huge=advise")?;
    let result = advised(findings, &|| {
        let path = format!("{folder}/file");
        let mut file = File::options().read(true).write(true).create_new(true).open(path)?;
        for _ in 0..LEN / (64 * KIB) {
            file.write_all(&[1; 64 * KIB]).context("failed to fill a file")?;
        }
        let area = mem::map(Kind::File(file.as_fd()), LEN)?;
        area.touch();
        Ok(area)
    });
    nix::mount::umount(folder).with_context(|| format!("failed to unmount {folder}"))?;
    result
}

/// In a process that khugepaged does not know: it never mapped memory that may be huge.
fn advised(findings: &mut Findings, fill: &dyn Fn() -> Result<Area>) -> Result<()> {
    thp::set("enabled", "madvise")?;
    let (before, after, whole) = isolated(|| {
        let area = fill()?;
        let before = huge_kib(&area)?;
        area.want_huge()?;
        wait_for_khugepaged()?;
        // Where khugepaged collapsed a file's pages it took the page table away; the next access maps the huge one.
        area.touch();
        let start = area.range().start.next_multiple_of(PMD);
        Ok((before, huge_kib(&area)?, area.range().end.saturating_sub(start) / PMD))
    })?;
    findings.metric("huge-before-kib", before, Unit::Kib, Polarity::Neutral);
    findings.metric("huge-kib", after, Unit::Kib, Polarity::Higher);
    findings.check("valid-small-before", "the pages are small before the advice (KiB huge)", before, 0);
    findings.check(
        "advised-collapsed",
        "khugepaged collapses what was advised (MADV_HUGEPAGE) after it had been filled with small pages (KiB)",
        after,
        i64::try_from(whole * PMD / KIB)?,
    );
    Ok(())
}

fn huge_kib(area: &Area) -> Result<i64> {
    Ok(smaps::of(&[area.range()])?.iter().map(|vma| vma.anon_huge_kib + vma.shmem_huge_kib).sum())
}

/// Wakes khugepaged and waits until it has walked its list so often that it came by here, whether it collapses or not.
/// How long that takes is its own affair.
fn wait_for_khugepaged() -> Result<()> {
    let before = proc::number(thp::full_scans())?;
    thp::set("khugepaged/pages_to_scan", "1048576")?;
    thp::set("khugepaged/alloc_sleep_millisecs", "10")?;
    // The last: it wakes khugepaged.
    thp::set("khugepaged/scan_sleep_millisecs", "10")?;
    wait_for(LIMIT, || (proc::number(thp::full_scans()).ok()? >= before + SCANS).then_some(()))
        .context("khugepaged did not walk its list")
}
