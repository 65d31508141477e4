//! Reads `/proc/self/smaps` and what hangs together with it.

use std::{fmt::Write, fs, ops::Range};

use anyhow::{Context, Result};

/// One virtual memory area.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Vma {
    /// Its addresses.
    pub range: Range<usize>,
    /// Its line as in `/proc/self/maps`.
    pub line: String,
    /// `AnonHugePages`.
    pub anon_huge_kib: i64,
    /// `ShmemPmdMapped`.
    pub shmem_huge_kib: i64,
    /// `Rss`.
    pub rss_kib: i64,
    /// `VmFlags`.
    pub flags: Vec<String>,
}

/// The areas in the text of an smaps file.
pub fn parse(text: &str) -> Vec<Vma> {
    let mut vmas: Vec<Vma> = Vec::new();
    for line in text.lines() {
        if let Some(range) = header(line) {
            vmas.push(Vma { range, line: line.trim_end().to_owned(), ..Vma::default() });
        } else if let (Some(vma), Some((name, value))) = (vmas.last_mut(), line.split_once(':')) {
            match name {
                "AnonHugePages" => vma.anon_huge_kib = kib(value).unwrap_or(0),
                "ShmemPmdMapped" => vma.shmem_huge_kib = kib(value).unwrap_or(0),
                "Rss" => vma.rss_kib = kib(value).unwrap_or(0),
                "VmFlags" => vma.flags = value.split_whitespace().map(str::to_owned).collect(),
                _ => {}
            }
        }
    }
    vmas
}

/// The number in `" 123 kB"`.
pub fn kib(value: &str) -> Option<i64> {
    value.trim().strip_suffix("kB").unwrap_or(value).trim().parse().ok()
}

/// The addresses that a line of maps or smaps begins with; `None` for any other line.
pub fn header(line: &str) -> Option<Range<usize>> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
}

/// The areas of this process that share an address with one of `ranges`.
///
/// # Errors
/// When smaps cannot be read.
pub fn of(ranges: &[Range<usize>]) -> Result<Vec<Vma>> {
    let text = fs::read_to_string("/proc/self/smaps").context("failed to read /proc/self/smaps")?;
    Ok(parse(&text).into_iter().filter(|vma| ranges.iter().any(|range| meet(&vma.range, range))).collect())
}

fn meet(a: &Range<usize>, b: &Range<usize>) -> bool {
    a.start < b.end && b.start < a.end
}

/// Their lines, and this process's smaps_rollup.
pub fn evidence(vmas: &[Vma]) -> (String, String) {
    let mut lines = String::new();
    for vma in vmas {
        let _ = writeln!(lines, "{} AnonHugePages: {} kB", vma.line, vma.anon_huge_kib);
    }
    (lines, fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
7ffff0000000-7ffff4860000 rw-p 00000000 00:00 0 
Size:              74112 kB
AnonHugePages:     73728 kB
THPeligible:           1
VmFlags: rd wr mr mw me ac sd 
7ffff7ff9000-7ffff7ffd000 r--p 00000000 00:00 0                          [vvar]
AnonHugePages:         0 kB
VmFlags: rd mr nh 
";

    #[test]
    fn areas_have_their_own_values() {
        let vmas = parse(TEXT);
        assert_eq!(vmas.len(), 2);
        assert_eq!(vmas[0].range, 0x7fff_f000_0000..0x7fff_f486_0000);
        assert_eq!(vmas[0].anon_huge_kib, 73728);
        assert_eq!(vmas[1].flags, ["rd", "mr", "nh"]);
        assert!(vmas[1].line.ends_with("[vvar]"));
    }

    #[test]
    fn odd_text_gives_nothing() {
        assert_eq!(parse(""), []);
        assert_eq!(parse("AnonHugePages: 3 kB\nzz-yy rw\n"), []);
        assert_eq!(kib(" 12 kB"), Some(12));
        assert_eq!(kib("x"), None);
    }

    #[test]
    fn ranges_meet_when_they_share_an_address() {
        assert!(meet(&(0..2), &(1..3)));
        assert!(!meet(&(0..2), &(2..3)));
    }
}
