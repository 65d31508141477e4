//! What the kernel counts as promised memory (`Committed_AS`).

use anyhow::{Context, Result, ensure};
use perf_event::{Builder, events::Software};

use super::{Findings, Test};
use crate::{
    isolate::isolated,
    mem::{self, Kind, MIB, outcome::outcome, over},
    proc,
};

/// A map that fails in the place of another.
pub const TESTS: &[Test] = &[Test {
    name: "commit/failed-map",
    contract: "proc_meminfo(5): Committed_AS: the amount of memory presently allocated on the system",
    needs: &[],
    randomised: false,
    run: failed_map,
}];

const LEN: usize = 64 * MIB;

fn committed_kib() -> Result<i64> {
    proc::kib("/proc/meminfo", "Committed_AS:")
}

fn failed_map(findings: &mut Findings) -> Result<()> {
    let (refused, left) = isolated(|| {
        // The kernel learns only from the file itself that it cannot be mapped so: too late for what was there.
        let counter = Builder::new(Software::DUMMY).build().context("failed to open a counter")?;
        let before = committed_kib()?;
        let area = mem::map(Kind::Private, LEN)?;
        let range = area.range();
        let refused = outcome(&over::map_file_over(area, &counter));
        let gone = crate::smaps::of(&[range])?.is_empty();
        ensure!(gone, "the old map is still there after the new one was refused");
        Ok((refused, committed_kib()? - before))
    })?;
    findings.check("refused", "a counter cannot be mapped private", refused, "EINVAL".to_owned());
    findings.check(
        "nothing-left",
        "what is unmapped is no longer counted, also where a failed map took its place (MiB)",
        left.max(0) / 1024,
        0,
    );
    Ok(())
}
