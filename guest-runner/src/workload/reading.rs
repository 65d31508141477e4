//! What /proc says of the watched program while it stands still.

use std::fs;

use anyhow::{Context, Result};
use nix::unistd::Pid;

use super::space::{self, Space};
use crate::proc;

/// The program's memory at one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Minor faults of all its threads so far.
    pub minor_faults: i64,
    /// Major faults of all its threads so far.
    pub major_faults: i64,
    /// The most memory it ever had resident.
    pub rss_peak_kib: i64,
    /// Page tables of the lowest level (`VmPTE`).
    pub page_tables_kib: i64,
    /// Anonymous memory (`smaps_rollup`).
    pub anon_kib: i64,
    /// Anonymous memory in PMD-sized pages (`smaps_rollup`).
    pub anon_huge_kib: i64,
    /// Where its mappings lie.
    pub space: Space,
}

/// Reads all of it.
///
/// # Errors
/// When a file cannot be read or lacks a line.
pub fn take(program: Pid) -> Result<Reading> {
    let read = |name: &str| {
        let path = format!("/proc/{program}/{name}");
        fs::read_to_string(&path).with_context(|| format!("failed to read {path}"))
    };
    let (status, rollup) = (read("status")?, read("smaps_rollup")?);
    let kib = |text: &str, name: &str| {
        proc::find(text, name).with_context(|| format!("the program's memory has no {name}"))
    };
    let (minor_faults, major_faults) = faults(&read("stat")?).context("a process's stat has no faults")?;
    Ok(Reading {
        minor_faults,
        major_faults,
        rss_peak_kib: kib(&status, "VmHWM:")?,
        page_tables_kib: kib(&status, "VmPTE:")?,
        anon_kib: kib(&rollup, "Anonymous:")?,
        anon_huge_kib: kib(&rollup, "AnonHugePages:")?,
        space: space::of(&read("maps")?),
    })
}

/// The tenth and the twelfth field of a stat line.
fn faults(stat: &str) -> Option<(i64, i64)> {
    let mut fields = proc::stat_fields(stat).skip(7);
    let minor = fields.next()?.parse().ok()?;
    let major = fields.nth(1)?.parse().ok()?;
    Some((minor, major))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_found_behind_an_odd_name() {
        let stat = "7 (a) b) S 1 7 7 0 -1 4194304 123 0 45 0 10 1";
        assert_eq!(faults(stat), Some((123, 45)));
        assert_eq!(faults("7 (a"), None);
    }
}
