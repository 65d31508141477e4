//! The guest's THP settings: the calm state in which every test begins, and what tests change.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};

use crate::{
    init::wait_for,
    mem::{self, Kind, MIB},
    needs::HUGETLB_POOL,
    proc,
};

/// Where the settings live.
pub const ROOT: &str = "/sys/kernel/mm/transparent_hugepage";
/// What the kernel keeps free; it raises it when khugepaged starts.
pub const MIN_FREE: &str = "/proc/sys/vm/min_free_kbytes";
/// The larger, the fewer free pages wait in lists of the CPUs, where buddyinfo does not see them.
pub const PER_CPU: &str = "/proc/sys/vm/percpu_pagelist_high_fraction";
/// khugepaged looks again after 49 days.
const ASLEEP: &str = "4294967295";
/// khugepaged answers within milliseconds; this is for a host with no time.
const KHUGEPAGED_LIMIT: Duration = Duration::from_secs(5);

/// Is THP compiled in and not switched off at boot?
pub fn available() -> bool {
    Path::new(ROOT).is_dir()
}

/// The sizes that have a folder of their own, in KiB, in ascending order. None before 6.8.
pub fn sizes_kib() -> Vec<u64> {
    let mut sizes: Vec<u64> = fs::read_dir(ROOT)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            entry.file_name().to_str()?.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse().ok()
        })
        .collect();
    sizes.sort_unstable();
    sizes
}

/// The folder of one size.
pub fn size_dir(kib: u64) -> PathBuf {
    Path::new(ROOT).join(format!("hugepages-{kib}kB"))
}

/// Writes a setting under [`ROOT`].
///
/// # Errors
/// The kernel's.
pub fn set(name: impl AsRef<Path>, value: &str) -> Result<()> {
    let path = Path::new(ROOT).join(name);
    fs::write(&path, value).with_context(|| format!("failed to write {value:?} to {}", path.display()))
}

/// The calm state, and how to return to it.
#[derive(Debug)]
pub struct Calm(Vec<(PathBuf, String)>, bool);

impl Calm {
    /// Enters it: `always`, only PMD-sized pages, khugepaged asleep.
    ///
    /// # Errors
    /// When a setting cannot be written.
    pub fn enter() -> Result<Self> {
        let mut settings = Vec::new();
        if !available() {
            let mut calm = Self(settings, false);
            calm.keep_pools();
            return Ok(calm);
        }
        for kib in sizes_kib() {
            let value = if kib == 2048 { "inherit" } else { "never" };
            settings.push((size_dir(kib).join("enabled"), value.to_owned()));
            settings.push((size_dir(kib).join("shmem_enabled"), value.to_owned()));
        }
        for (name, value) in [
            ("shmem_enabled", "never"),
            ("defrag", "madvise"),
            ("khugepaged/scan_sleep_millisecs", ASLEEP),
            ("khugepaged/alloc_sleep_millisecs", ASLEEP),
            ("khugepaged/pages_to_scan", "4096"),
            ("khugepaged/max_ptes_none", "511"),
            ("enabled", "always"),
        ] {
            settings.push((Path::new(ROOT).join(name), value.to_owned()));
        }
        // Absent files belong to kernels without that feature.
        settings.retain(|(path, _)| path.exists());
        let scans = proc::number(full_scans())?;
        let mut calm = Self(settings, false);
        calm.restore()?;
        calm.keep_pools();
        // khugepaged scans at once when its list of processes stops being empty. With this process on the list
        // it sleeps through every test.
        show_to_khugepaged(&mem::map(Kind::Private, 4 * MIB)?);
        wait_for(KHUGEPAGED_LIMIT, || (proc::number(full_scans()).ok()? > scans).then_some(()))
            .context("khugepaged did not do its first scan")?;
        // From now on a new sleep time is followed by one more scan.
        calm.1 = true;
        Ok(calm)
    }

    /// What the tests of fragmentation and of hugetlb turn on the way.
    fn keep_pools(&mut self) {
        for path in [HUGETLB_POOL, MIN_FREE, PER_CPU] {
            if let Ok(value) = fs::read_to_string(path) {
                self.0.push((path.into(), value.trim().to_owned()));
            }
        }
    }

    /// Returns to it after a test, whatever the test changed, and waits until khugepaged is asleep again.
    ///
    /// # Errors
    /// When a setting cannot be written.
    pub fn restore(&self) -> Result<()> {
        let scans = proc::number(full_scans()).unwrap_or(0);
        let mut woken = false;
        for (path, value) in &self.0 {
            let now =
                fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
            if chosen(&now) != value {
                fs::write(path, value)
                    .with_context(|| format!("failed to write {value:?} to {}", path.display()))?;
                woken |= value == ASLEEP;
            }
        }
        if woken && self.1 {
            wait_for(KHUGEPAGED_LIMIT, || (proc::number(full_scans()).ok()? > scans).then_some(()))
                .context("khugepaged did not fall asleep again")?;
        }
        Ok(())
    }
}

/// Puts this process on khugepaged's list, which a first huge fault does: here in `area`, of 4 MiB.
/// Wherever it starts, its middle lies in a whole block.
pub fn show_to_khugepaged(area: &mem::Area) {
    area.touch_every(2 * MIB);
}

/// The file that counts khugepaged's walks through its list.
pub fn full_scans() -> PathBuf {
    Path::new(ROOT).join("khugepaged/full_scans")
}

/// The value of a setting: the word in brackets, or the text itself.
fn chosen(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text.trim(), |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_choice_stands_in_brackets() {
        assert_eq!(chosen("always [madvise] never\n"), "madvise");
        assert_eq!(chosen("511\n"), "511");
        assert_eq!(chosen("[odd"), "[odd");
    }
}
