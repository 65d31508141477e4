//! Huge pages of sizes of their own in shared memory.

use std::{fs::File, os::fd::AsFd, os::unix::fs::MetadataExt, path::Path};

use anyhow::{Context, Result, ensure};
use nix::sys::memfd::{MFdFlags, memfd_create};

use super::{Findings, Test};
use crate::{
    mem::{self, KIB, Kind, PAGE},
    needs::Need,
    thp,
};

/// `shmem_enabled` of one size.
pub const TESTS: &[Test] = &[Test {
    name: "shmem/within-size",
    contract: "transhuge.rst: within_size: only allocate <size> huge page if it will be fully within i_size",
    needs: &[Need::Thp, Need::MthpKib(64)],
    randomised: false,
    run: within_size,
}];

/// A free address that is a multiple of every size.
const PLACE: usize = 1 << 44;
const LEN: usize = 64 * KIB;

fn within_size(findings: &mut Findings) -> Result<()> {
    thp::set(Path::new("hugepages-64kB").join("shmem_enabled"), "within_size")?;
    for (check, pages, expected, promise) in [
        ("one-page", 1, 4, "a fault takes one page of a file of one page (KiB)"),
        ("shorter", 10, 4, "a fault takes one page where 64 KiB would reach beyond the file's end (KiB)"),
        ("exact", LEN / PAGE, 64, "a fault takes 64 KiB where they end with the file (KiB)"),
    ] {
        findings.check(check, promise, taken(pages)?, expected);
    }
    Ok(())
}

/// KiB that a write to the first page of a file of so many pages takes.
fn taken(pages: usize) -> Result<i64> {
    let file = File::from(memfd_create(c"mthp", MFdFlags::empty()).context("failed to create a memfd")?);
    file.set_len((pages * PAGE) as u64).context("failed to make a memfd longer")?;
    let area = mem::map_near(PLACE, Kind::File(file.as_fd()), LEN)?;
    ensure!(area.start() == PLACE, "failed to map a memfd at {PLACE:#x}");
    area.touch_part(0, PAGE);
    let blocks = file.metadata().context("failed to look at a memfd")?.blocks();
    area.unmap()?;
    Ok(i64::try_from(blocks)? / 2)
}
