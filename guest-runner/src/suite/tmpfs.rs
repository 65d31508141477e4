//! The options of a tmpfs mount.

use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, MetadataExt},
};

use anyhow::{Context, Result};
use nix::mount::{MsFlags, mount, umount};

use super::{Findings, Test};
use crate::{
    init,
    mem::{PAGE, PMD},
    needs::Need,
};

/// `noswap` when mounted anew, and `huge=within_size` of small files.
pub const TESTS: &[Test] = &[
    Test {
        name: "tmpfs-options/remount-noswap",
        contract: "tmpfs.rst: noswap disables swap; remounts must respect the original settings",
        needs: &[Need::FileSystem("tmpfs"), Need::Path("/proc/swaps", "swap")],
        randomised: false,
        run: remount,
    },
    Test {
        name: "tmpfs-options/within-size",
        contract: "tmpfs(5): huge=within_size allocates a huge page only if it will be fully within i_size",
        needs: &[Need::Thp, Need::FileSystem("tmpfs")],
        randomised: false,
        run: within_size,
    },
];

/// A tmpfs that is unmounted when dropped.
struct Mounted(&'static str);

impl Mounted {
    fn with(folder: &'static str, options: &str) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("failed to create {folder}"))?;
        init::mount_at("tmpfs", folder, Some(options))
            .with_context(|| format!("failed to mount tmpfs with {options}"))?;
        Ok(Self(folder))
    }

    /// How a change of its options ends, in words.
    fn remounted(&self, options: &str) -> String {
        let none = None::<&str>;
        match mount(none, self.0, none, MsFlags::MS_REMOUNT, Some(options)) {
            Ok(()) => "done".to_owned(),
            Err(error) => format!("{error:?}"),
        }
    }

    /// The options that /proc/mounts shows.
    fn options(&self) -> Result<String> {
        let text = fs::read_to_string("/proc/mounts").context("failed to read /proc/mounts")?;
        text.lines()
            .filter_map(|line| line.strip_prefix("tmpfs ")?.strip_prefix(self.0)?.split_whitespace().nth(1))
            .next_back()
            .map(str::to_owned)
            .with_context(|| format!("{} is not mounted", self.0))
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = umount(self.0);
    }
}

fn remount(findings: &mut Findings) -> Result<()> {
    let without = Mounted::with("/tmp/noswap", "noswap,size=1m")?;
    for (check, options, promise) in [
        (
            "noswap-kept",
            "noswap,size=2m",
            "what was mounted with noswap can be remounted with it and a new size",
        ),
        ("noswap-unnamed", "size=3m", "what was mounted with noswap can be remounted with a new size alone"),
    ] {
        findings.check(check, promise, without.remounted(options), "done".to_owned());
    }
    let shown = without.options()?;
    findings.check(
        "still-noswap",
        "noswap stays in force across remounts",
        shown.split(',').any(|option| option == "noswap"),
        true,
    );
    findings.evidence("options", shown);
    let with = Mounted::with("/tmp/withswap", "size=1m")?;
    findings.check(
        "no-change-to-noswap",
        "what was mounted with swap cannot be remounted without it",
        with.remounted("noswap"),
        "EINVAL".to_owned(),
    );
    Ok(())
}

fn within_size(findings: &mut Findings) -> Result<()> {
    let mounted = Mounted::with("/tmp/within", "huge=within_size,size=32m")?;
    let large = i64::try_from(PMD / 1024)?;
    for (check, len, page, expected, promise) in [
        ("small-is-small", PAGE, 0, 4, "a file of one page takes one page (KiB)"),
        (
            "tail-is-small",
            PMD + PAGE,
            PMD / PAGE,
            4,
            "the first page past a file's last whole block takes one page (KiB)",
        ),
        ("head-is-huge", PMD + PAGE, 0, large, "a block that lies within the file is huge (KiB)"),
        ("middle-is-huge", PMD, 7, large, "a block that ends where the file ends is huge (KiB)"),
    ] {
        let path = format!("{}/{check}", mounted.0);
        let file = File::create_new(&path).with_context(|| format!("failed to create {path}"))?;
        file.set_len(len as u64).with_context(|| format!("failed to make {path} longer"))?;
        file.write_all_at(&[7], (page * PAGE) as u64)
            .with_context(|| format!("failed to write to {path}"))?;
        let blocks = file.metadata().with_context(|| format!("failed to look at {path}"))?.blocks();
        findings.check(check, promise, i64::try_from(blocks)? / 2, expected);
    }
    Ok(())
}
