//! Shared memory: a placement function of its own (`shmem_get_unmapped_area`).

use std::{
    fs::{self, File},
    os::fd::AsFd,
};

use anyhow::{Context, Result};
use mthp_record::result::{Polarity, Unit};
use nix::sys::memfd::{MFdFlags, memfd_create};

use super::{Findings, Test, layout::Layout};
use crate::{
    init,
    isolate::isolated,
    mem::{self, Area, Kind, MIB, PMD},
    needs::Need,
};

/// Shared anonymous memory, memfd, and tmpfs with each `huge=`.
pub const TESTS: &[Test] = &[
    test("shared/anon", |f| plain(f, &|len| areas(len, || Ok(None)))),
    test("shared/memfd", |f| plain(f, &|len| areas(len, || memfd(len).map(Some)))),
    test("tmpfs/never", |f| tmpfs(f, "never")),
    test("tmpfs/always", |f| tmpfs(f, "always")),
    test("tmpfs/within_size", |f| tmpfs(f, "within_size")),
    test("tmpfs/advise", |f| tmpfs(f, "advise")),
];

const CONTRACT: &str = "tmpfs(5): only a mount whose huge= allows huge pages gets its maps aligned for them";

const fn test(name: &'static str, run: fn(&mut Findings) -> Result<()>) -> Test {
    Test { name, contract: CONTRACT, needs: &[Need::Thp, Need::FileSystem("tmpfs")], randomised: false, run }
}

/// Where shared memory is not huge, nothing is aligned.
fn plain(findings: &mut Findings, make: &dyn Fn(usize) -> Result<Vec<Area>>) -> Result<()> {
    for mib in [3, 4] {
        let layout = laid_out(make, mib * MIB, 0)?;
        report(findings, mib, &layout);
        findings.check(
            &format!("neighbours-touch-{mib}mib"),
            "neighbouring maps of shared memory that is never huge touch",
            format!("{} KiB", layout.gap_bounds().1),
            "0 KiB".to_owned(),
        );
        findings.evidence(&format!("maps-{mib}mib"), layout.maps);
    }
    let phases = laid_out(make, 4 * MIB, PMD / 2)?.phases_kib;
    findings.check(
        "plain-placement",
        "shared memory that is never huge is placed directly below the last map (KiB past a PMD boundary)",
        phases.into_iter().max().unwrap_or(-1),
        1024,
    );
    Ok(())
}

fn tmpfs(findings: &mut Findings, huge: &str) -> Result<()> {
    let folder = format!("/tmp/{huge}");
    fs::create_dir_all(&folder).with_context(|| format!("failed to create {folder}"))?;
    init::mount_at("tmpfs", &folder, Some(&format!("huge={huge},size=64m")))
        .with_context(|| format!("failed to mount tmpfs with huge={huge}"))?;
    let file = format!("{folder}/file");
    let make = |len: usize| {
        areas(len, || {
            let file = File::options().read(true).write(true).create(true).truncate(false).open(&file)?;
            file.set_len(u64::try_from(len)?)?;
            Ok(Some(file))
        })
    };
    if huge == "never" {
        plain(findings, &make)?;
    } else {
        for mib in [3, 4] {
            let layout = laid_out(&make, mib * MIB, 0)?;
            report(findings, mib, &layout);
            findings.evidence(&format!("maps-{mib}mib"), layout.maps);
        }
        let phases = laid_out(&make, 4 * MIB, PMD / 2)?.phases_kib;
        findings.check(
            "pmd-aligned",
            "a map of a file that may be huge starts where a huge page can (KiB past a PMD boundary)",
            phases.into_iter().max().unwrap_or(-1),
            0,
        );
    }
    nix::mount::umount(folder.as_str()).with_context(|| format!("failed to unmount {folder}"))
}

/// The kernel gaps maps of huge files by design, so gaps are facts here.
fn report(findings: &mut Findings, mib: usize, layout: &Layout) {
    let (gap, gap_max) = layout.gap_bounds();
    findings.metric(&format!("gap-{mib}mib-kib"), gap, Unit::Kib, Polarity::Neutral);
    findings.metric(&format!("gap-max-{mib}mib-kib"), gap_max, Unit::Kib, Polarity::Neutral);
    findings.metric(&format!("vmas-{mib}mib"), layout.vmas, Unit::Count, Polarity::Neutral);
}

fn laid_out(make: &dyn Fn(usize) -> Result<Vec<Area>>, len: usize, phase: usize) -> Result<Layout> {
    isolated(|| {
        mem::pin_gap(phase)?;
        Layout::of(&make(len)?)
    })
}

/// Four maps, of one file each or of none.
fn areas(len: usize, open: impl Fn() -> Result<Option<File>>) -> Result<Vec<Area>> {
    (0..4)
        .map(|_| match open()? {
            Some(file) => mem::map(Kind::File(file.as_fd()), len),
            None => mem::map(Kind::Shared, len),
        })
        .collect()
}

fn memfd(len: usize) -> Result<File> {
    let file = File::from(memfd_create(c"mthp", MFdFlags::empty()).context("failed to create a memfd")?);
    file.set_len(u64::try_from(len)?)?;
    Ok(file)
}
