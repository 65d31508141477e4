//! Huge pages of shared memory on demand: `MADV_COLLAPSE` decides by itself, whatever is set for faults.

use anyhow::{Result, ensure};
use mthp_record::result::{Polarity, Unit};

use super::{Findings, Test};
use crate::{
    isolate::isolated,
    mem::{self, Kind, MIB, PMD},
    needs::Need,
    smaps, thp,
};

/// Shared anonymous memory under each setting of its own size, and of all sizes.
pub const TESTS: &[Test] = &[
    Test {
        name: "shmem/collapse-by-size",
        contract: "madvise(2): MADV_COLLAPSE ignores any sysfs setting when determining THP eligibility",
        needs: &[Need::Thp, Need::ThpSetting(SIZE)],
        randomised: false,
        run: |findings| collapsed(findings, SIZE, &["never", "advise", "within_size", "always", "inherit"]),
    },
    Test {
        name: "shmem/collapse-by-default",
        contract: "madvise(2): MADV_COLLAPSE ignores any sysfs setting when determining THP eligibility",
        // "deny" and "force" are for emergencies and tests: they hold for everybody.
        needs: &[Need::Thp, Need::ThpSetting(ALL)],
        randomised: false,
        run: |findings| collapsed(findings, ALL, &["never", "advise", "within_size", "always"]),
    },
];

const SIZE: &str = "hugepages-2048kB/shmem_enabled";
const ALL: &str = "shmem_enabled";

fn collapsed(findings: &mut Findings, setting: &str, values: &[&str]) -> Result<()> {
    for value in values {
        thp::set(setting, value)?;
        let (accepted, huge) = isolated(|| {
            // Where nothing is huge by itself nothing is aligned by itself, and a huge page needs both.
            mem::pin_gap(0)?;
            let area = mem::map(Kind::Shared, 4 * MIB)?;
            ensure!(area.start().is_multiple_of(PMD), "the area is not aligned: {:x?}", area.range());
            area.touch();
            let accepted = mem::collapse(area.start());
            Ok((accepted, smaps::of(&[area.range()])?.iter().map(|vma| vma.shmem_huge_kib).sum::<i64>()))
        })?;
        let said = if accepted { "done" } else { "refused" };
        findings.check(
            &format!("collapse-{value}"),
            &format!("MADV_COLLAPSE makes shared memory huge when {setting} is {value}"),
            // Where faults give huge pages already, more than the one may be mapped so.
            format!("{said}, {}", if huge >= 2048 { "huge" } else { "not huge" }),
            "done, huge".to_owned(),
        );
        findings.metric(&format!("{value}-huge-kib"), huge, Unit::Kib, Polarity::Neutral);
    }
    Ok(())
}
