//! What comes of the cost model's accounts: values of tests, model cycles, a page, and pictures.
//!
//! [`attach`] puts what the emulator's plugin counted onto the tests of its boot, so that it is compared and judged
//! like everything else a test measured. [`table`] and [`figure`] show what came of that comparison.
//!
//! Nothing here opens a file, starts a process or prints. What the numbers mean, and what they cannot say, is in
//! METHOD.md, "The cost model".

pub mod cycles;
pub mod figure;
pub mod measure;
pub mod metrics;
mod number;
#[cfg(test)]
mod sample;
mod summary;
pub mod table;

pub use cycles::{Latencies, cycles};
pub use metrics::{Asked, Fault, attach, refuse};

/// A machine that was modelled, as a reader needs to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Machine {
    /// The name of its file, for example `zen3`.
    pub name: String,
    /// What it is, for example "AMD Zen 3".
    pub title: String,
    /// It is not built: a machine with one thing changed, to see what that thing does. Its name is the other
    /// machine's with something behind a hyphen: `zen3-hashed`.
    pub what_if: bool,
}
