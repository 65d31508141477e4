//! The cost model's accounts: what caches and TLBs of real machines would have done with a guest's accesses.
//!
//! A guest's program marks regions ([`mark`]); the emulator's plugin models every user-space access inside them
//! and writes one [`Account`] a boot.

pub mod account;
pub mod latencies;
pub mod mark;

pub use account::{Account, Counts, Occupancy, RegionAccount};
pub use latencies::Latencies;
pub use mark::Mark;
