//! Counters in /proc and /sys.

use std::{fs, path::Path};

use anyhow::{Context, Result};

/// A file that holds one number.
///
/// # Errors
/// When it cannot be read or holds something else.
pub fn number(path: impl AsRef<Path>) -> Result<i64> {
    let path = path.as_ref();
    let text = fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    text.trim().parse().with_context(|| format!("{} holds no number: {text:?}", path.display()))
}

/// A value of `/proc/vmstat`; 0 where the kernel does not count it.
///
/// # Errors
/// When the file cannot be read.
pub fn vmstat(name: &str) -> Result<i64> {
    Ok(field("/proc/vmstat", name)?.unwrap_or(0))
}

/// A value in KiB of `/proc/meminfo` or of a file like it.
///
/// # Errors
/// When the file cannot be read or has no such line.
pub fn kib(path: &str, name: &str) -> Result<i64> {
    field(path, name)?.with_context(|| format!("{path} has no {name}"))
}

/// The page tables of this process in KiB.
///
/// # Errors
/// When it cannot be read.
pub fn page_tables_kib() -> Result<i64> {
    kib("/proc/self/status", "VmPTE:")
}

fn field(path: &str, name: &str) -> Result<Option<i64>> {
    let text = fs::read_to_string(path).with_context(|| format!("failed to read {path}"))?;
    Ok(find(&text, name))
}

/// The number behind a name, of a text that has one of each in a line.
pub fn find(text: &str, name: &str) -> Option<i64> {
    text.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        (words.next() == Some(name)).then(|| words.next()?.parse().ok()).flatten()
    })
}

/// The fields of a process's or thread's stat line from the third (its state) on. The second may hold anything, but
/// ends with the last bracket.
pub fn stat_fields(stat: &str) -> impl Iterator<Item = &str> {
    stat.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace()
}

/// Free blocks of each order, summed over the zones, of `/proc/buddyinfo`.
pub fn free_blocks(buddyinfo: &str) -> Vec<i64> {
    let mut sums = Vec::new();
    for line in buddyinfo.lines() {
        let counts = line.split_whitespace().skip_while(|word| *word != "zone").skip(2);
        for (order, count) in counts.filter_map(|word| word.parse::<i64>().ok()).enumerate() {
            match sums.get_mut(order) {
                Some(sum) => *sum += count,
                None => sums.push(count),
            }
        }
    }
    sums
}

/// The fragmentation index of an order in thousandths, of the zone with the most to say (the largest).
pub fn extfrag_thousandths(extfrag: &str, order: usize) -> Option<i64> {
    extfrag
        .lines()
        .filter_map(|line| {
            let word = line.split_whitespace().skip_while(|word| *word != "zone").nth(2 + order)?;
            thousandths(word)
        })
        .max()
}

fn thousandths(word: &str) -> Option<i64> {
    let (negative, digits) = match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word),
    };
    let (whole, part) = digits.split_once('.')?;
    let value = whole.parse::<i64>().ok()? * 1000 + format!("{part:0<3}").get(..3)?.parse::<i64>().ok()?;
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_found_by_their_whole_name() {
        let text = "thp_fault_alloc 3\nthp_fault 1\nVmPTE:\t     192 kB\n";
        assert_eq!(find(text, "thp_fault"), Some(1));
        assert_eq!(find(text, "VmPTE:"), Some(192));
        assert_eq!(find(text, "thp"), None);
    }

    #[test]
    fn a_threads_state_stands_behind_an_odd_name() {
        assert_eq!(stat_fields("7 (a) R) S 1 7").next(), Some("S"));
        assert_eq!(stat_fields("7 (a").next(), None);
    }

    #[test]
    fn free_blocks_are_summed_over_zones() {
        let text = "Node 0, zone      DMA      1      2      3\nNode 0, zone    DMA32     10     20     30\n";
        assert_eq!(free_blocks(text), [11, 22, 33]);
        assert_eq!(free_blocks(""), [0_i64; 0]);
    }

    #[test]
    fn the_index_is_read_in_thousandths() {
        let text = "Node 0, zone      DMA -1.000 -1.000 \nNode 0, zone    DMA32 -1.000 0.962 \n";
        assert_eq!(extfrag_thousandths(text, 0), Some(-1000));
        assert_eq!(extfrag_thousandths(text, 1), Some(962));
        assert_eq!(extfrag_thousandths(text, 2), None);
    }
}
