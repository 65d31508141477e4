//! Boots for tests.

use mthp_record::{
    boot::{BootOutcome, BootRecord, Side},
    message::Snapshot,
    result::TestResult,
};

/// A boot that came to its end with these results.
pub(crate) fn boot(side: Side, index: u32, tests: Vec<TestResult>) -> BootRecord {
    BootRecord {
        side,
        index,
        outcome: BootOutcome::Completed,
        identity: None,
        announced: tests.iter().map(|test| test.name.clone()).collect(),
        tests,
        before: Snapshot::default(),
        after: Snapshot::default(),
        tainted: Some(0),
        console: String::new(),
        qemu_command: Vec::new(),
        boot_millis: Some(1),
        total_millis: 1,
    }
}
