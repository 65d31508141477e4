//! Maps of 32-bit system calls.

use anyhow::{Context, Result, ensure};

use super::{Findings, Test, layout::Layout};
use crate::{
    isolate::isolated,
    mem::{KIB, MIB, PAGE, PMD, compat},
    needs::Need,
};

/// Where they are placed.
pub const TESTS: &[Test] =
    &[test("compat/2MiB", |f| placed(f, 2 * MIB)), test("compat/4MiB", |f| placed(f, 4 * MIB))];

const fn test(name: &'static str, run: fn(&mut Findings) -> Result<()>) -> Test {
    Test {
        name,
        contract: "4ef9ad19e176: maps of 32-bit callers are not aligned to huge pages",
        needs: &[Need::Thp, Need::Path("/proc/sys/abi/vsyscall32", "32-bit system calls")],
        randomised: false,
        run,
    }
}

/// The end of the free gap, past a PMD boundary: no map of whole huge pages below it is aligned by luck.
const PHASE: usize = PMD / 2;

/// Four maps from a gap that ends at [`PHASE`].
fn placed(findings: &mut Findings, len: usize) -> Result<()> {
    let (phases, gap, end) = isolated(|| {
        let top = pin_gap()?;
        let areas = (0..4)
            .map(|_| compat::map(len).context("failed to map by a 32-bit call"))
            .collect::<Result<Vec<_>>>()?;
        let layout = Layout::of(&areas)?;
        Ok((layout.phases_kib.clone(), layout.gap_bounds().1, top))
    })?;
    findings.check(
        "below-4gib",
        "a 32-bit caller gets addresses below 4 GiB (GiB of the highest end)",
        end >> 32,
        0,
    );
    findings.check(
        "not-aligned",
        "each map of a 32-bit caller lies directly below the last one (KiB past a PMD boundary)",
        format!("{phases:?}"),
        format!("{:?}", [i64::try_from(PHASE / KIB)?; 4]),
    );
    findings.check("neighbours-touch", "neighbouring maps of a 32-bit caller touch (KiB between)", gap, 0);
    Ok(())
}

/// Ends the free gap of the 32-bit addresses at [`PHASE`], and says where that is. Maps of less than a PMD are
/// aligned by no kernel.
fn pin_gap() -> Result<usize> {
    let top = compat::reserve(PAGE).context("failed to map by a 32-bit call")?.start();
    let filler = (top + PMD - PHASE) % PMD;
    if filler == 0 {
        return Ok(top);
    }
    let end = compat::reserve(filler).context("failed to map by a 32-bit call")?.start();
    ensure!(
        end + filler == top,
        "a small map of a 32-bit caller lies at {end:x}, not directly below {top:x}"
    );
    Ok(end)
}
