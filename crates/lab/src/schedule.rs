//! In which order the boots run.

use mthp_record::boot::Side;

/// Base and patched in turn, so that whatever drifts on the host drifts for both.
#[must_use]
pub fn interleaved(boots: u32) -> Vec<(Side, u32)> {
    (0..boots).flat_map(|index| [(Side::Base, index), (Side::Patched, index)]).collect()
}

/// How many boots run side by side: one a core (a guest has one CPU), as far as the host's available
/// memory carries them with a quarter to spare.
#[must_use]
pub fn side_by_side(cores: usize, available_mib: u64, guest_mib: u64) -> usize {
    let by_memory = (available_mib / 4 * 3) / guest_mib.max(1);
    cores.min(usize::try_from(by_memory).unwrap_or(usize::MAX)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_alternate() {
        assert_eq!(
            interleaved(2),
            [(Side::Base, 0), (Side::Patched, 0), (Side::Base, 1), (Side::Patched, 1)]
        );
    }

    #[test]
    fn memory_limits_what_runs_side_by_side() {
        assert_eq!(side_by_side(8, 24_000, 1536), 8);
        assert_eq!(side_by_side(8, 4_000, 1536), 1);
        assert_eq!(side_by_side(2, 100, 1536), 1);
    }
}
