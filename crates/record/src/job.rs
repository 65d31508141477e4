//! What the host asks of one boot. Travels as `/job.json` in the initramfs, not on the kernel command line.

use serde::{Deserialize, Serialize};

use crate::{selftest::Selftest, workload::Scenario};

/// Where the job lies in the initramfs.
pub const JOB_PATH: &str = "/job.json";
/// The name of the virtio-serial port that carries the frames.
pub const PORT_NAME: &str = "mthp.results";

/// One boot's work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// A number the guest repeats in its first message, so that a stale or foreign stream is noticed.
    pub nonce: u64,
    /// Patterns of test names: a name, or a prefix that ends in `*`.
    pub tests: Vec<String>,
    /// The workload's scenarios; they run before all other tests.
    pub scenarios: Vec<Scenario>,
    /// The kernel's own selftests to run, behind the scenarios and before all other tests.
    pub selftests: Vec<Selftest>,
    /// The deadline of each test in seconds, already scaled for the accelerator.
    pub test_deadline_secs: u32,
    /// A fault the runner commits on purpose instead of its work; only the suite's own tests set it.
    pub misbehave: Option<Misbehaviour>,
}

/// What a guest does wrong on purpose, to test the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Misbehaviour {
    /// Panic the kernel through `/proc/sysrq-trigger` or by ending PID 1.
    Panic,
    /// Never answer and never end.
    Hang,
    /// Reboot before the work is done.
    Reboot,
    /// Write to the console without end.
    FloodConsole,
    /// Send frames whose checksum is wrong.
    BrokenFrames,
    /// Send bytes that are no frame at all.
    Garbage,
    /// Announce a frame larger than [`crate::frame::MAX_PAYLOAD`].
    HugeFrame,
    /// Stop after half of the results as if all were done.
    Truncate,
    /// Use all memory until the out-of-memory killer ends PID 1's worker.
    OutOfMemory,
    /// Terminal escape sequences in names, values and the console.
    Escapes,
}

/// Does `pattern` (a name, or a prefix ending in `*`) select `name`?
#[must_use]
pub fn selects(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_name_or_a_prefix() {
        assert!(selects("placement/3MiB", "placement/3MiB"));
        assert!(selects("placement/*", "placement/3MiB"));
        assert!(!selects("placement/3", "placement/3MiB"));
        assert!(selects("*", "anything"));
    }
}
