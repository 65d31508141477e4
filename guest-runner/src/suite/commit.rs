//! What the kernel counts as promised memory (`Committed_AS`).

use anyhow::{Context, Result, ensure};
use perf_event::{Builder, events::Software};

use super::{Findings, Test};
use crate::{
    isolate::isolated,
    mem::{self, Area, KIB, Kind, MIB, outcome::outcome, over},
    proc, smaps,
};

/// A map that fails in the place of another, and a map that loses its middle.
pub const TESTS: &[Test] =
    &[test("commit/failed-map", failed_map), test("commit/moved-middle", moved_middle)];

const CONTRACT: &str =
    "proc_meminfo(5): Committed_AS: the amount of memory presently allocated on the system";

const fn test(name: &'static str, run: fn(&mut Findings) -> Result<()>) -> Test {
    Test { name, contract: CONTRACT, needs: &[], randomised: false, run }
}

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
        let gone = smaps::of(&[range])?.is_empty();
        ensure!(gone, "the old map is still there after the new one was refused");
        Ok((refused, committed_kib()? - before))
    })?;
    findings.check("refused", "a counter cannot be mapped private", refused, "EINVAL".to_owned());
    findings.check(
        "nothing-left",
        "what is unmapped is no longer counted, also where a failed map took its place (MiB)",
        left.abs() / 1024,
        0,
    );
    Ok(())
}

/// Three fit below where programs are linked to; what the process itself allocates meanwhile is less.
const PART: usize = 512 * KIB;

/// Of a usual area, and of one that starts at address 0.
fn moved_middle(findings: &mut Findings) -> Result<()> {
    for (place, lowest) in [("usual", false), ("lowest", true)] {
        let (parts, left) = isolated(|| {
            let before = committed_kib()?;
            let area = if lowest {
                over::map_lowest(3 * PART).context("failed to map the lowest addresses")?
            } else {
                mem::map(Kind::Private, 3 * PART)?
            };
            let areas = over::move_middle(area, PART, PART).context("failed to move a part of an area")?;
            let vmas = smaps::of(&areas.each_ref().map(Area::range))?;
            let accounted = |area: &Area| {
                let mut of_area = vmas.iter().filter(|vma| vma.range.contains(&area.start()));
                of_area.any(|vma| vma.flags.iter().any(|flag| flag == "ac"))
            };
            let parts = areas.iter().filter(|area| accounted(area)).count();
            areas.into_iter().try_for_each(Area::unmap)?;
            Ok((parts, committed_kib()? - before))
        })?;
        findings.check(
            &format!("{place}-parts-accounted"),
            "all three parts of an area whose middle was moved are accounted (ac)",
            parts,
            3,
        );
        findings.check(
            &format!("{place}-nothing-left"),
            "when they are unmapped no part is counted any more",
            left.abs() / i64::try_from(PART / KIB)?,
            0,
        );
    }
    Ok(())
}
