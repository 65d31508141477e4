//! Same-page merging (KSM): ksmd runs while a [`Ksm`] lives, and only when it is told to.

use std::{fs, path::Path, time::Duration};

use anyhow::{Context, Result};

use crate::{init::wait_for, needs::Need, proc};

/// Where its settings live.
pub const ROOT: &str = "/sys/kernel/mm/ksm";
/// What a test of it needs.
pub const NEED: Need = Need::Path(ROOT, "same-page merging (KSM)");
/// A page is merged in the second scan after its contents came to rest; after so many everything is.
const SCANS: i64 = 4;
const LIMIT: Duration = Duration::from_secs(6);

/// Settings of ksmd that are taken back when dropped.
#[derive(Debug)]
pub struct Ksm(Vec<(&'static str, String)>);

impl Ksm {
    /// Makes ksmd quick, and lets it merge pages of zeros with the zero page or not.
    ///
    /// # Errors
    /// The kernel's.
    pub fn quick(zero_pages: bool) -> Result<Self> {
        let mut ksm = Self(Vec::new());
        let zero_pages = if zero_pages { "1" } else { "0" };
        // Two nodes have a tree each otherwise.
        for (name, value) in [
            ("merge_across_nodes", "1"),
            ("use_zero_pages", zero_pages),
            ("pages_to_scan", "10000"),
            ("sleep_millisecs", "1"),
            ("run", "0"),
        ] {
            let path = Path::new(ROOT).join(name);
            let before =
                fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
            set(name, value)?;
            ksm.0.push((name, before.trim().to_owned()));
        }
        Ok(ksm)
    }

    /// Lets it scan until all that can be merged is, then stops it.
    ///
    /// # Errors
    /// The kernel's, and when it does not scan.
    pub fn merge(&self) -> Result<()> {
        let start = count("full_scans")?;
        set("run", "1")?;
        let done = wait_for(LIMIT, || (count("full_scans").ok()? >= start + SCANS).then_some(()));
        set("run", "0")?;
        done.context("ksmd did not scan")
    }
}

impl Drop for Ksm {
    fn drop(&mut self) {
        for (name, value) in self.0.iter().rev() {
            let _ = set(name, value);
        }
    }
}

/// One of its counters.
///
/// # Errors
/// When it cannot be read.
pub fn count(name: &str) -> Result<i64> {
    proc::number(Path::new(ROOT).join(name))
}

/// How many pages of this process are merged.
///
/// # Errors
/// When it cannot be read.
pub fn merged_here() -> Result<i64> {
    proc::number("/proc/self/ksm_merging_pages")
}

fn set(name: &str, value: &str) -> Result<()> {
    fs::write(Path::new(ROOT).join(name), value)
        .with_context(|| format!("failed to write {value:?} to the setting {name} of KSM"))
}
