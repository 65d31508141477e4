//! The cost model's accounts: what caches and TLBs of real machines would have done with a guest's accesses.
//!
//! A guest's program marks regions ([`mark`]); the emulator's plugin models every user-space access inside them
//! and writes one [`Account`] a boot.

pub mod account;
pub mod mark;

pub use account::{Account, Counts, Occupancy, RegionAccount};
pub use mark::Mark;

/// What the plugin says on QEMU's standard error when it is only asked whether it can be used.
pub const READY: &str = "the plugin can be used";

/// The group of the tests that are made for the model.
pub const GROUP: &str = "cost/";
/// How the name of a workload's scenario ends that is run for the model.
pub const SCENARIO: &str = "-modelled";

/// The metric by which a test says how many loads its source asks for in a region; with the part's name and a dot before
/// it, of that part.
pub const LOADS_ASKED: &str = "loads-asked";
/// The same of stores.
pub const STORES_ASKED: &str = "stores-asked";

/// Is the test of that name one whose regions are modelled?
#[must_use]
pub fn is_modelled(test: &str) -> bool {
    test.starts_with(GROUP) || test.ends_with(SCENARIO)
}
