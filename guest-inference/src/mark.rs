//! How the program says where it is.

use mthp_record::workload::{MARK, Phase};
use nix::libc::{c_ulong, prctl};

/// Marks a phase for whoever watches.
pub fn mark(phase: Phase, number: u32) {
    let unused: c_ulong = 0;
    // SAFETY: no kernel knows this option, so nothing comes of it; no argument is a pointer.
    // Unwatched it is an error, as intended.
    let _ = unsafe { prctl(MARK, phase as c_ulong, c_ulong::from(number), unused, unused) };
}
