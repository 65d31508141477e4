//! Files on a file system without a placement function of its own: overlayfs.

use std::{
    fs::{self, File},
    os::fd::AsFd,
};

use anyhow::{Context, Result};
use mthp_record::result::{Polarity, Unit};
use nix::mount::umount;

use super::{Findings, Test, layout::Layout};
use crate::{
    init,
    isolate::isolated,
    mem::{self, Kind, MIB, PMD},
    needs::Need,
};

/// The one case.
pub const TESTS: &[Test] = &[Test {
    name: "file/overlayfs",
    contract: "34d7cf637c43: file maps are not aligned for a file system without get_unmapped_area",
    needs: &[Need::Thp, Need::FileSystem("overlay"), Need::FileSystem("tmpfs")],
    randomised: false,
    run: overlay,
}];

const BASE: &str = "/tmp/overlay";

fn overlay(findings: &mut Findings) -> Result<()> {
    fs::create_dir_all(BASE).with_context(|| format!("failed to create {BASE}"))?;
    init::mount_at("tmpfs", BASE, Some("size=64m")).context("failed to mount the overlay's tmpfs")?;
    for folder in ["lower", "upper", "work", "merged"] {
        fs::create_dir_all(format!("{BASE}/{folder}"))
            .with_context(|| format!("failed to create {folder}"))?;
    }
    let options = format!("lowerdir={BASE}/lower,upperdir={BASE}/upper,workdir={BASE}/work");
    let merged = format!("{BASE}/merged");
    init::mount_at("overlay", &merged, Some(&options)).context("failed to mount overlayfs")?;
    let file = File::options()
        .read(true)
        .write(true)
        .create_new(true)
        .open(format!("{merged}/file"))
        .context("failed to create a file on overlayfs")?;
    file.set_len(u64::try_from(4 * MIB)?).context("failed to make the file 4 MiB long")?;

    let layout = |len, phase| {
        isolated(|| {
            mem::pin_gap(phase)?;
            let areas =
                (0..4).map(|_| mem::map(Kind::File(file.as_fd()), len)).collect::<Result<Vec<_>>>()?;
            Layout::of(&areas)
        })
    };
    let odd = layout(3 * MIB, 0)?;
    let even = layout(4 * MIB, PMD / 2)?;
    let phase = even.phases_kib.iter().max().copied().unwrap_or(-1);
    findings.metric("gap-3mib-kib", odd.gap_bounds().1, Unit::Kib, Polarity::Lower);
    findings.metric("gap-4mib-kib", even.gap_bounds().1, Unit::Kib, Polarity::Lower);
    findings.metric("phase-4mib-kib", phase, Unit::Kib, Polarity::Neutral);
    findings.check(
        "neighbours-touch",
        "neighbouring maps of a file, of no whole huge pages, touch",
        format!("{} KiB", odd.gap_bounds().1),
        "0 KiB".to_owned(),
    );
    findings.check(
        "file-map-unaligned-by-thp",
        "a file system without a placement function gets the plain one: directly below the last map (KiB past a PMD boundary)",
        phase,
        1024,
    );
    findings.evidence("maps-3mib", odd.maps);
    findings.evidence("maps-4mib", even.maps);
    drop(file);
    umount(merged.as_str()).context("failed to unmount overlayfs")?;
    umount(BASE).context("failed to unmount the overlay's tmpfs")
}
