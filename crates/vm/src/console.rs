//! Reads a guest's console as it comes and finds the line that tells how its kernel broke.
//!
//! A guest may lie. A line that looks like a failure and is none costs a run; none is taken for a success.

use mthp_record::boot::KernelFailure;

use crate::text::printable;

/// The longest line that is kept whole.
const MAX_LINE: usize = 4096;
/// What of a longer line is looked at again together with its next piece.
const OVERLAP: usize = 256;
/// The names under which the runner and its children run: the kernel cuts names at 15 bytes.
const RUNNERS: [&str; 4] = ["init", "guest-runner", "mthp-guest", "mthp-worker"];

/// The failure and the console's line that told it, made printable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// In what way the kernel broke.
    pub failure: KernelFailure,
    /// The line.
    pub line: String,
}

/// A streaming reader of a console.
#[derive(Debug, Default)]
pub struct Console {
    line: Vec<u8>,
    overlap: Vec<u8>,
    banners: u32,
    told: Option<Told>,
}

impl Console {
    /// Takes bytes as they come. `log` gets each line that they end, made printable, without its end.
    pub fn push(&mut self, bytes: &[u8], mut log: impl FnMut(&str)) {
        for &byte in bytes {
            if byte == b'\n' {
                self.end_line(&mut log, true);
            } else {
                self.line.push(byte);
                if self.line.len() >= MAX_LINE {
                    self.end_line(&mut log, false);
                }
            }
        }
    }

    /// The console will say no more: takes a last line without an end.
    pub fn finish(&mut self, mut log: impl FnMut(&str)) {
        if !self.line.is_empty() {
            self.end_line(&mut log, true);
        }
    }

    /// The failure that was told, if any: the first, since the later ones follow from it (a lockup's
    /// detector speaks and then panics).
    #[must_use]
    pub fn told(&self) -> Option<&Told> {
        self.told.as_ref()
    }

    fn end_line(&mut self, log: &mut impl FnMut(&str), whole: bool) {
        let piece = std::mem::take(&mut self.line);
        log(&printable(&String::from_utf8_lossy(&piece)));
        let mut seen = std::mem::take(&mut self.overlap);
        let again = seen.len();
        seen.extend_from_slice(&piece);
        let line = printable(&String::from_utf8_lossy(&seen));
        self.look_at(&line, again > 0);
        if !whole {
            self.overlap = seen.split_off(seen.len() - OVERLAP);
        }
    }

    /// `continued`: the line's begin was cut off.
    fn look_at(&mut self, line: &str, continued: bool) {
        let mut from_kernel = false;
        let mut found = None;
        for message in kernel_messages(line) {
            from_kernel = true;
            if message.starts_with("Linux version ") {
                self.banners += 1;
                if self.banners > 1 {
                    found.get_or_insert(KernelFailure::RebootLoop);
                }
            }
            if found.is_none() {
                found = judge(message);
            }
        }
        // Without a time (too early for printk.time) only a line's begin counts.
        if !from_kernel && !continued {
            found = judge_unstamped(line);
        }
        if let (None, Some(failure)) = (&self.told, found) {
            self.told = Some(Told { failure, line: line.chars().take(300).collect() });
        }
    }
}

/// The kernel's messages in a line: what follows a time such as `[    1.234567] ` or `[    1.234567][   T42] `.
/// More than one, and not at the begin, where a program wrote without a line's end.
fn kernel_messages(line: &str) -> impl Iterator<Item = &str> {
    line.match_indices('[').filter_map(|(at, _)| after_stamp(line.get(at..)?))
}

fn after_stamp(text: &str) -> Option<&str> {
    let (time, rest) = text.strip_prefix('[')?.split_once(']')?;
    let (seconds, micros) = time.split_once('.')?;
    let seconds = seconds.trim_start_matches(' ');
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if !digits(seconds) || micros.len() != 6 || !digits(micros) {
        return None;
    }
    let rest = match rest.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((caller, rest)) if caller.trim_start().starts_with(['T', 'C']) => rest,
        _ => rest,
    };
    Some(rest.strip_prefix(' ').unwrap_or(rest))
}

/// What a message of the kernel's tells. The more specific is asked first: a lockup is told by a `BUG:` too.
fn judge(message: &str) -> Option<KernelFailure> {
    let has = |words: &str| message.contains(words);
    if has("Kernel panic - not syncing") {
        return Some(judge_panic(message));
    }
    // A program's fault, which the kernel only reports.
    if message.starts_with("traps: ") {
        return None;
    }
    if has("BUG: soft lockup") || has("hard LOCKUP") || has("BUG: workqueue lockup") {
        return Some(KernelFailure::SoftLockup);
    }
    if has("rcu") && has("detected") && has("stall") {
        return Some(KernelFailure::RcuStall);
    }
    if has("INFO: task ") && has("blocked") && has(" for more than ") {
        return Some(KernelFailure::HungTask);
    }
    if let Some(victim) = message.strip_prefix("Out of memory: Killed process ") {
        return is_runner(victim).then_some(KernelFailure::OutOfMemory);
    }
    if message.starts_with("PANIC: ") {
        return Some(KernelFailure::Panic);
    }
    let oops = has("BUG: ")
        || has("kernel BUG at ")
        || message.starts_with("Oops: ")
        || message.starts_with("general protection fault")
        || has("nable to handle page fault")
        || has("nable to handle kernel ")
        || has_oops_count(message);
    oops.then_some(KernelFailure::Oops)
}

/// A panic that says what it follows from is told as that.
fn judge_panic(message: &str) -> KernelFailure {
    let has = |words: &str| message.contains(words);
    if has("softlockup") || has("LOCKUP") {
        KernelFailure::SoftLockup
    } else if has("hung_task") {
        KernelFailure::HungTask
    } else if has("RCU Stall") {
        KernelFailure::RcuStall
    } else if has("deadlocked on memory") || has("ut of memory") {
        KernelFailure::OutOfMemory
    } else if has("Fatal exception") {
        KernelFailure::Oops
    } else {
        KernelFailure::Panic
    }
}

fn judge_unstamped(line: &str) -> Option<KernelFailure> {
    let line = line.trim_start();
    let begins = [
        "Kernel panic - not syncing",
        "---[ end Kernel panic - not syncing",
        "BUG: ",
        "watchdog: BUG: ",
        "rcu: INFO: ",
        "INFO: task ",
        "INFO: rcu_",
        "Out of memory: Killed process ",
        "PANIC: ",
        "Oops: ",
        "general protection fault",
        "kernel BUG at ",
    ];
    begins.iter().any(|begin| line.starts_with(begin)).then(|| judge(line)).flatten()
}

/// `12 (name) …`: is it PID 1, or one of the runner's children by its name?
fn is_runner(victim: &str) -> bool {
    let Some((pid, rest)) = victim.split_once(' ') else {
        return false;
    };
    let name = rest.strip_prefix('(').and_then(|rest| rest.split_once(')')).map(|(name, _)| name);
    pid.trim_end_matches(',') == "1" || name.is_some_and(|name| RUNNERS.contains(&name))
}

/// `invalid opcode: 0000 [#1] PREEMPT SMP`: every oops counts itself so.
fn has_oops_count(message: &str) -> bool {
    message.match_indices("[#").any(|(at, _)| {
        let rest = &message[at + 2..];
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        end > 0 && rest[end..].starts_with(']')
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8]) -> Option<KernelFailure> {
        let mut console = Console::default();
        console.push(text, |_| ());
        console.finish(|_| ());
        console.told().map(|told| told.failure)
    }

    #[test]
    fn stamps_are_found_in_every_shape() {
        assert_eq!(after_stamp("[    0.000000] a"), Some("a"));
        assert_eq!(after_stamp("[12345.678901][  T42] a"), Some("a"));
        assert_eq!(after_stamp("[    1.234567][    C0] a"), Some("a"));
        assert_eq!(after_stamp("[    1.234567] [drm] a"), Some("[drm] a"));
        assert_eq!(after_stamp("[  ok  ] a"), None);
        assert_eq!(after_stamp("[1.5] a"), None);
    }

    #[test]
    fn a_kernel_line_behind_a_programs_unfinished_one_counts() {
        let line = b"progress 12%[    3.000000] Kernel panic - not syncing: sysrq triggered crash\r\n";
        assert_eq!(read(line), Some(KernelFailure::Panic));
    }

    #[test]
    fn a_programs_words_in_a_line_do_not_count() {
        assert_eq!(read(b"the test looks for BUG: and Oops: lines\n"), None);
        assert_eq!(read(b"Linux version 6.12\nLinux version 6.12\n"), None);
        assert_eq!(read(b"[    1.000000] traps: x[9] general protection fault ip:1 sp:2 error:0\n"), None);
        assert_eq!(read(b"[    1.000000] x[9]: segfault at 0 ip 1 sp 2 error 4 in x[1000+1]\n"), None);
    }

    #[test]
    fn a_panic_before_the_first_stamp_counts() {
        assert_eq!(read(b"Kernel panic - not syncing: early"), Some(KernelFailure::Panic));
    }

    #[test]
    fn the_killer_counts_only_where_it_ends_the_runner() {
        let killed = |what: &str| read(format!("[    1.000000] {what}\n").as_bytes());
        let oom = Some(KernelFailure::OutOfMemory);
        assert_eq!(killed("Out of memory: Killed process 1 (x) total-vm:1kB"), oom);
        assert_eq!(killed("Out of memory: Killed process 42 (init) total-vm:1kB"), oom);
        assert_eq!(killed("Out of memory: Killed process 42 (hog) total-vm:1kB"), None);
        assert_eq!(killed("Memory cgroup out of memory: Killed process 42 (init)"), None);
        assert_eq!(killed("Kernel panic - not syncing: System is deadlocked on memory"), oom);
    }

    #[test]
    fn a_line_without_end_is_bounded_and_still_read() {
        let mut text = vec![b'x'; 3 * MAX_LINE - 20];
        text.extend_from_slice(b"[    9.000000] Kernel panic - not syncing: late\n");
        let mut console = Console::default();
        let mut longest = 0;
        console.push(&text, |line| longest = longest.max(line.len()));
        assert_eq!(console.told().map(|told| told.failure), Some(KernelFailure::Panic));
        assert_eq!(longest, MAX_LINE);
        assert!(console.told().is_some_and(|told| told.line.len() <= 300));
    }
}
