//! The exact values of each kernel. Where they come from is written beside them.

/// What one test finds on one kernel.
#[derive(Clone, Copy, Debug)]
pub struct Expected {
    /// The kernel's name in `kernels/`.
    pub kernel: &'static str,
    /// The test's name.
    pub test: &'static str,
    /// Metrics and their exact values; others are not looked at.
    pub metrics: &'static [(&'static str, i64)],
    /// The checks that fail, in the order of the test; all others hold.
    pub failing: &'static [&'static str],
    /// The kernel may lack what the test needs.
    pub may_not_apply: bool,
}

/// All of them.
pub const ALL: &[Expected] = &[];
