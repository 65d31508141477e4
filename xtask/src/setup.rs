//! What must be on the machine: lists all that is missing at once, and installs it if asked.

use std::process::Command;

use anyhow::{Context, Result, bail};
use mthp_kernel::{Cache, toolchain};
use mthp_workload::{Spec, fetch};

use crate::{cli::Common, ui};

/// Makes sure that everything is there. With `install`, Debian's packages are installed; without, nothing is.
///
/// # Errors
/// When something is missing and may not or cannot be installed; the error says how.
pub fn ensure(needs: &toolchain::Needs, install: bool) -> Result<()> {
    let missing = toolchain::missing(needs);
    if missing.is_empty() {
        return Ok(());
    }
    if !install {
        bail!("{}", toolchain::advice(&missing));
    }
    let packages = toolchain::debian_packages(&missing);
    ui::say(&format!("installing {}", packages.join(" ")));
    apt(&["update", "--quiet"], &[])?;
    let packages: Vec<&str> = packages.iter().map(String::as_str).collect();
    apt(&["install", "--yes", "--quiet", "--no-install-recommends"], &packages)?;
    let still = toolchain::missing(needs);
    if !still.is_empty() {
        bail!("{}", toolchain::advice(&still));
    }
    Ok(())
}

/// What a workload needs on top of a kernel: tools for its disk, and pip only where something must be fetched.
///
/// # Errors
/// When the cache cannot be used.
pub fn of_workload(spec: Option<&Spec>, common: &Common) -> Result<toolchain::Needs> {
    let Some(spec) = spec else { return Ok(toolchain::Needs::default()) };
    let cache = Cache::open(common.cache_dir.as_deref())?;
    let wheels = common.setup && !fetch::missing(spec, &cache).is_empty();
    Ok(toolchain::Needs { disk: true, wheels, ..toolchain::Needs::default() })
}

fn apt(arguments: &[&str], packages: &[&str]) -> Result<()> {
    let mut command = if nix::unistd::geteuid().is_root() {
        Command::new("apt-get")
    } else {
        let mut sudo = Command::new("sudo");
        sudo.arg("apt-get");
        sudo
    };
    command.args(arguments).args(packages).env("DEBIAN_FRONTEND", "noninteractive");
    let output = command
        .output()
        .with_context(|| format!("failed to start {command:?} (--setup knows Debian only)"))?;
    if !output.status.success() {
        bail!(
            "failed to install packages: {command:?} ended with {}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    Ok(())
}
