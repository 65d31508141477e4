//! What a test that was killed could not take back itself: swap, mounts, a running ksmd.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use nix::mount::{MntFlags, umount2};

use crate::{ksm, mem::swap};

/// Where tests mount.
const PLACE: &str = "/tmp/";

/// Takes back what is left. Its process is dead by now.
///
/// # Errors
/// The kernel's.
pub fn up() -> Result<()> {
    if read("/proc/swaps").lines().any(|line| line.starts_with(swap::DISK)) {
        swap::off().context("failed to take swap back")?;
    }
    // The last mounted first: it may lie in an earlier one.
    for place in mounted(&read("/proc/mounts")).into_iter().rev() {
        umount2(place.as_str(), MntFlags::MNT_DETACH)
            .with_context(|| format!("failed to unmount {place}"))?;
    }
    let run = Path::new(ksm::ROOT).join("run");
    if fs::read_to_string(&run).is_ok_and(|value| value.trim() != "0") {
        fs::write(&run, "0").with_context(|| format!("failed to write 0 to {}", run.display()))?;
    }
    Ok(())
}

/// Empty where the kernel has no such file.
fn read(path: &str) -> String {
    fs::read_to_string(path).unwrap_or_default()
}

fn mounted(mounts: &str) -> Vec<String> {
    mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .filter(|place| place.starts_with(PLACE))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_tests_mount_is_taken_back() {
        let text = "rootfs / rootfs rw 0 0\ntmpfs /tmp/a tmpfs rw 0 0\nproc /proc proc rw 0 0\noverlay /tmp/a/m overlay rw 0 0\n";
        assert_eq!(mounted(text), ["/tmp/a", "/tmp/a/m"]);
    }
}
