//! Swap, to a disk in memory.

use std::{
    fs::{self, File},
    os::fd::AsFd,
};

use anyhow::{Context, Result};
use mthp_record::result::{Polarity, Unit};

use super::{Findings, Test};
use crate::{
    init,
    isolate::isolated,
    mem::{
        self, Kind, MIB,
        swap::{self, Swap},
    },
    needs::Need,
    proc,
};

const NEEDS: &[Need] = &[
    Need::Thp,
    Need::FileSystem("tmpfs"),
    Need::Path("/proc/swaps", "swap"),
    Need::Path(swap::DISK, "disk in memory (brd)"),
];

/// Huge pages of shared memory that are swapped out.
pub const TESTS: &[Test] = &[Test {
    name: "swap/shmem-huge",
    contract: "proc.rst: ShmemHugePages is the memory used by shared memory and tmpfs with huge pages",
    needs: NEEDS,
    randomised: false,
    run: shmem_huge,
}];

const FOLDER: &str = "/tmp/swapped";
const LEN: usize = 4 * MIB;

fn shmem_huge(findings: &mut Findings) -> Result<()> {
    fs::create_dir_all(FOLDER).with_context(|| format!("failed to create {FOLDER}"))?;
    init::mount_at("tmpfs", FOLDER, Some("huge=always,size=16m")).context("failed to mount tmpfs")?;
    let found = isolated(|| {
        let _swap = Swap::on()?;
        let file = File::options().read(true).write(true).create_new(true).open(format!("{FOLDER}/file"))?;
        file.set_len(LEN as u64)?;
        let area = mem::map(Kind::File(file.as_fd()), LEN)?;
        let before = sizes()?;
        area.fill(|_| 7);
        let filled = sizes()?;
        area.pageout()?;
        let out = sizes()?;
        let held = area.pages_that_hold(|_| 7);
        Ok((before, filled, out, held, area.pages()))
    });
    nix::mount::umount(FOLDER).with_context(|| format!("failed to unmount {FOLDER}"))?;
    let (before, filled, out, held, pages) = found?;
    findings.check(
        "huge-counted",
        "a huge file in tmpfs counts as ShmemHugePages (KiB)",
        filled[0] - before[0],
        4096,
    );
    findings.check("swapped-out", "MADV_PAGEOUT swaps all of it out (KiB of swap)", before[1] - out[1], 4096);
    findings.check(
        "huge-uncounted",
        "huge pages that were swapped out no longer count as ShmemHugePages (KiB)",
        out[0] - before[0],
        0,
    );
    findings.check("data-kept", "what was swapped out comes back as it was (pages)", held, pages);
    findings.metric("shmem-kib", out[2] - before[2], Unit::Kib, Polarity::Neutral);
    Ok(())
}

fn sizes() -> Result<[i64; 3]> {
    let kib = |name| proc::kib("/proc/meminfo", name);
    Ok([kib("ShmemHugePages:")?, kib("SwapFree:")?, kib("Shmem:")?])
}
