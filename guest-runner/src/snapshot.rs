//! The state of the guest's memory at one moment, and who the guest is.

use std::{collections::BTreeMap, fs, path::Path};

use mthp_record::message::{GuestIdentity, Snapshot};

use crate::{proc, thp};

/// A file longer than this is cut: the whole snapshot must fit in a frame.
const MAX_FILE: usize = 48 << 10;
const FILES: [&str; 6] = [
    "/proc/vmstat",
    "/proc/meminfo",
    "/proc/buddyinfo",
    "/proc/pagetypeinfo",
    "/sys/kernel/debug/extfrag/extfrag_index",
    "/sys/kernel/debug/extfrag/unusable_index",
];
const NODES: &str = "/sys/devices/system/node";

/// Reads all of it. Absent files are left out.
pub fn take() -> Snapshot {
    let mut files = BTreeMap::new();
    for path in FILES {
        add(&mut files, Path::new(path));
    }
    for node in nodes() {
        add(&mut files, &Path::new(NODES).join(&node).join("numastat"));
    }
    add_folder(&mut files, Path::new(thp::ROOT), 3);
    Snapshot(files)
}

/// Who answers.
pub fn identity() -> GuestIdentity {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    GuestIdentity {
        version: read("/proc/version"),
        cmdline: read("/proc/cmdline"),
        mem_total_kib: proc::kib("/proc/meminfo", "MemTotal:")
            .ok()
            .and_then(|kib| u64::try_from(kib).ok())
            .unwrap_or(0),
        cpus: count(&read("/sys/devices/system/cpu/online")).unwrap_or(1),
        nodes: count(&read("/sys/devices/system/node/has_memory")).unwrap_or(1),
        thp_enabled: fs::read_to_string(Path::new(thp::ROOT).join("enabled"))
            .ok()
            .map(|text| text.trim().to_owned()),
        mthp_sizes_kib: thp::sizes_kib(),
    }
}

/// How many numbers are in a list such as `0-1,4`.
fn count(list: &str) -> Option<u32> {
    list.split(',')
        .map(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            last.trim().parse::<u32>().ok()?.checked_sub(first.trim().parse().ok()?)?.checked_add(1)
        })
        .sum()
}

fn nodes() -> Vec<String> {
    fs::read_dir(NODES)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.strip_prefix("node").is_some_and(|id| id.parse::<u32>().is_ok()))
        .collect()
}

fn add_folder(files: &mut BTreeMap<String, String>, folder: &Path, depth: u32) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if !path.is_dir() {
            add(files, &path);
        } else if depth > 1 {
            add_folder(files, &path, depth - 1);
        }
    }
}

fn add(files: &mut BTreeMap<String, String>, path: &Path) {
    if let Ok(text) = fs::read_to_string(path) {
        files.insert(path.display().to_string(), cut(text, MAX_FILE));
    }
}

/// The text, or its beginning and a word that something is missing.
pub fn cut(mut text: String, limit: usize) -> String {
    if text.len() > limit {
        let end = (0..=limit).rev().find(|end| text.is_char_boundary(*end)).unwrap_or(0);
        text.truncate(end);
        text.push_str("\n[cut]\n");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_counted() {
        assert_eq!(count("0"), Some(1));
        assert_eq!(count("0-1,4"), Some(3));
        assert_eq!(count(""), None);
        assert_eq!(count("3-1"), None);
    }

    #[test]
    fn long_text_is_cut_between_characters() {
        assert_eq!(cut("äää".to_owned(), 3), "ä\n[cut]\n");
        assert_eq!(cut("abc".to_owned(), 3), "abc");
    }
}
