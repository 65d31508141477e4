//! What a guest says, one message a frame, in this order: `hello`, one `test` each, `bye`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::result::TestResult;

/// One message, sent as JSON in a [`crate::frame`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Message {
    /// The guest is up and has read its job.
    Hello {
        /// The job's nonce.
        nonce: u64,
        /// The names of the tests it will run, in order.
        tests: Vec<String>,
        /// What kernel answers.
        identity: GuestIdentity,
        /// The system before any test.
        before: Snapshot,
    },
    /// A test is about to run.
    Started {
        /// Its name.
        name: String,
    },
    /// A test ended.
    Test {
        /// Its result.
        result: TestResult,
    },
    /// Everything was done.
    Bye {
        /// How many `test` messages went before.
        tests: u32,
        /// The kernel's taint flags (`/proc/sys/kernel/tainted`).
        tainted: u64,
        /// The system after the last test.
        after: Snapshot,
    },
}

/// What the guest kernel says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GuestIdentity {
    /// `/proc/version`.
    pub version: String,
    /// `/proc/cmdline`.
    pub cmdline: String,
    /// Usable memory in KiB (`MemTotal`).
    pub mem_total_kib: u64,
    /// CPUs online.
    pub cpus: u32,
    /// NUMA nodes with memory.
    pub nodes: u32,
    /// `/sys/kernel/mm/transparent_hugepage/enabled`, or `None` where THP is not compiled in or off.
    pub thp_enabled: Option<String>,
    /// The sizes of mTHP that the kernel offers, in KiB.
    pub mthp_sizes_kib: Vec<u64>,
}

/// Files of /proc and /sys read at one moment: path → text. Absent files are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Snapshot(pub BTreeMap<String, String>);
