//! What one boot of one kernel left behind.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    message::{GuestIdentity, Snapshot},
    result::TestResult,
};

/// Which of the two kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Side {
    /// Without the patch.
    Base,
    /// With it.
    Patched,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Base => "base",
            Self::Patched => "patched",
        })
    }
}

/// One boot. Written with [`BootOutcome::NotFinished`] before QEMU starts, so that a killed run never
/// reads as a pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BootRecord {
    /// Which kernel.
    pub side: Side,
    /// The boot's number within its side, from 0.
    pub index: u32,
    /// How it ended.
    pub outcome: BootOutcome,
    /// The guest's own words, once it said hello.
    pub identity: Option<GuestIdentity>,
    /// The tests the guest announced in its hello.
    pub announced: Vec<String>,
    /// The results, in the order in which they came.
    pub tests: Vec<TestResult>,
    /// The system before the first test.
    pub before: Snapshot,
    /// The system after the last.
    pub after: Snapshot,
    /// The kernel's taint flags at the end.
    pub tainted: Option<u64>,
    /// The console's log, relative to the report's folder.
    pub console: String,
    /// QEMU's command line, as run.
    pub qemu_command: Vec<String>,
    /// From QEMU's start to the guest's hello.
    pub boot_millis: Option<u64>,
    /// From QEMU's start to its end.
    pub total_millis: u64,
}

/// How a boot ended. Only `Completed` can count for anything but a failure.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum BootOutcome {
    /// The guest did all its work, said so, and left.
    Completed,
    /// The run has not finished (or was killed before it could say how it ended).
    NotFinished,
    /// The kernel broke: the kernel's own fault, told by its console.
    KernelFailed {
        /// In what way.
        failure: KernelFailure,
        /// The console's line that told it, printable characters only.
        line: String,
    },
    /// No result by the deadline and nothing on the console that says why.
    SilentHang {
        /// Where the guest was.
        phase: Phase,
        /// The deadline in seconds.
        after_secs: u32,
    },
    /// The guest left without saying that it was done.
    EndedEarly {
        /// Where the guest was.
        phase: Phase,
    },
    /// The guest's result stream was not well formed.
    BadStream {
        /// What was wrong.
        problem: String,
    },
    /// QEMU itself failed: the machinery's fault, not the kernel's.
    QemuFailed {
        /// Its exit status and last words.
        message: String,
    },
    /// The user stopped the run.
    Interrupted,
}

/// The ways in which a kernel breaks that its console tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KernelFailure {
    /// `Kernel panic - not syncing`.
    Panic,
    /// An oops: `BUG:`, `Oops:`, `general protection fault`.
    Oops,
    /// The soft lockup detector spoke.
    SoftLockup,
    /// RCU found a stalled CPU or task.
    RcuStall,
    /// The hung task detector spoke.
    HungTask,
    /// The guest started anew.
    RebootLoop,
    /// The out-of-memory killer ended the runner.
    OutOfMemory,
}

/// Where a guest was when it was last heard of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "at", content = "test")]
pub enum Phase {
    /// Before its hello.
    Boot,
    /// In the test of that name.
    Test(String),
    /// After the last test.
    Shutdown,
}

impl BootOutcome {
    /// Did the guest do all its work?
    #[must_use]
    pub fn is_completed(&self) -> bool {
        matches!(self, Self::Completed)
    }

    /// Is it the kernel that failed (as opposed to the machinery or the user)?
    #[must_use]
    pub fn is_kernels_fault(&self) -> bool {
        matches!(self, Self::KernelFailed { .. } | Self::SilentHang { .. } | Self::EndedEarly { .. })
    }
}
