//! Locked memory: what is counted, and what cannot be locked.

use anyhow::{Context, Result};

use super::{Findings, Test};
use crate::{
    isolate::isolated,
    mem::{self, Area, Kind, MIB, PAGE, Reserved, lock},
    needs::Need,
    proc, smaps,
};

/// What `VmLck` counts.
pub const TESTS: &[Test] = &[
    Test {
        name: "mlock/large-range",
        contract: "proc_pid_status(5): VmLck: locked memory size",
        needs: &[],
        randomised: false,
        run: large_range,
    },
    Test {
        name: "mlock/droppable",
        contract: "d239462787b0: memory that may be dropped at any time is never locked",
        needs: &[Need::Droppable],
        randomised: false,
        run: droppable,
    },
];

/// As many pages as 32 bits can count, and one.
const LARGE: usize = (MIB * MIB) << 4;

fn locked_kib() -> Result<i64> {
    proc::kib("/proc/self/status", "VmLck:")
}

fn large_range(findings: &mut Findings) -> Result<()> {
    let counted = isolated(|| {
        let before = locked_kib()?;
        lock::lock_on_fault(&Reserved::anywhere(LARGE + PAGE)?.range())
            .context("failed to lock addresses")?;
        Ok(locked_kib()? - before)
    })?;
    findings.check(
        "locked-size",
        "a locked range of 16 TiB and a page is counted whole (KiB)",
        counted,
        i64::try_from((LARGE + PAGE) / 1024)?,
    );
    Ok(())
}

fn droppable(findings: &mut Findings) -> Result<()> {
    let marked = isolated(|| {
        let locked = |area: &Area| -> Result<String> {
            let vmas = smaps::of(&[area.range()])?;
            let marked = vmas.iter().any(|vma| vma.flags.iter().any(|flag| flag == "lo"));
            Ok(if marked { "locked" } else { "not locked" }.to_owned())
        };
        let map = || lock::map_droppable(4 * PAGE).context("failed to map droppable memory");
        let explicit = map()?;
        // Whether the call itself is refused is not promised.
        let _ = lock::lock(&explicit);
        lock::lock_future()?;
        let (usual, implicit) = (mem::map(Kind::Private, 4 * PAGE)?, map()?);
        Ok([locked(&explicit)?, locked(&usual)?, locked(&implicit)?])
    })?;
    let [explicit, usual, implicit] = marked;
    findings.check(
        "not-by-mlock",
        "droppable memory is not marked as locked after mlock",
        explicit,
        "not locked".to_owned(),
    );
    findings.check(
        "usual-by-mlockall",
        "memory that is mapped after mlockall(MCL_FUTURE) is marked as locked",
        usual,
        "locked".to_owned(),
    );
    findings.check(
        "not-by-mlockall",
        "droppable memory is not, also when it is mapped after mlockall(MCL_FUTURE)",
        implicit,
        "not locked".to_owned(),
    );
    Ok(())
}
