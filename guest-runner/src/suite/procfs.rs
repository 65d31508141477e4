//! What `/proc/PID` says of processes' maps.

use std::fs;

use anyhow::{Context, Result};

use super::{Findings, Test};
use crate::mem::outcome::outcome;

/// Threads of the kernel.
pub const TESTS: &[Test] = &[Test {
    name: "procfs/kernel-thread",
    contract: "proc_pid_maps(5): the currently mapped memory regions; a kernel thread has none, which is no error",
    needs: &[],
    randomised: false,
    run: kernel_thread,
}];

/// The parent of all kernel threads.
const KTHREADD: &str = "/proc/2";

fn kernel_thread(findings: &mut Findings) -> Result<()> {
    fs::metadata(KTHREADD).context("the guest has no kernel thread")?;
    for file in ["maps", "smaps", "numa_maps"] {
        let text = fs::read_to_string(format!("{KTHREADD}/{file}"));
        let observed = match &text {
            Ok(text) => format!("{} lines", text.lines().count()),
            Err(_) => outcome(&text),
        };
        findings.check(
            &format!("{file}-empty"),
            "the list of a kernel thread's map areas is there, and empty",
            observed,
            "0 lines".to_owned(),
        );
    }
    Ok(())
}
