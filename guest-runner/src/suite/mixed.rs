//! Maps of alternating sizes: whole huge pages, and not.

use anyhow::Result;
use mthp_record::result::{Polarity, Unit};

use super::{Findings, Test, layout::Layout};
use crate::{
    isolate::isolated,
    mem::{self, Kind, MIB},
    needs::Need,
};

/// The one case: 2 MiB, 3 MiB, and again, six maps.
pub const TESTS: &[Test] = &[Test {
    name: "mixed/2MiB-3MiB",
    contract: "d4148aeab412: aligning maps of whole huge pages does not keep others from their neighbours",
    needs: &[Need::Thp],
    randomised: false,
    run: alternating,
}];

fn alternating(findings: &mut Findings) -> Result<()> {
    let layout = isolated(|| {
        mem::pin_gap(0)?;
        let areas = [2, 3, 2, 3, 2, 3]
            .into_iter()
            .map(|mib| mem::map(Kind::Private, mib * MIB))
            .collect::<Result<Vec<_>>>()?;
        Layout::of(&areas)
    })?;
    let total: i64 = layout.gaps_kib.iter().sum();
    findings.metric("gap-total-kib", total, Unit::Kib, Polarity::Lower);
    findings.metric("gap-max-kib", layout.gap_bounds().1, Unit::Kib, Polarity::Lower);
    findings.metric("vmas", layout.vmas, Unit::Count, Polarity::Lower);
    let gaps: Vec<_> = layout.gaps_kib.iter().map(i64::to_string).collect();
    findings.check(
        "alternating-maps-touch",
        "maps of alternating sizes leave no gaps (KiB, from the top)",
        gaps.join(","),
        "0,0,0,0,0".to_owned(),
    );
    findings.evidence("gaps-kib", gaps.join(","));
    findings.evidence("maps", layout.maps);
    findings.evidence("smaps_rollup", layout.rollup);
    Ok(())
}
