//! What the TLBs and caches of a machine do with a sequence of addresses. Pure: the same accesses give the same
//! counts, on any host.
//!
//! # The model
//! A [`Core`] is what one vCPU has for itself: two levels of TLB, the paging-structure caches, L1d and L2. All cores
//! of a machine share one L3 ([`Machine::new_l3`]). An [`Access`] is translated, then looked up:
//!
//! - A page that the first TLB does not have is looked up in the second, and if it is not there either it is walked
//!   to. The levels that missed keep it. An entry holds a virtual and a physical page, so a page that moved misses,
//!   and its old entry ages out. A walk reads the levels of the page table below the lowest one that a
//!   paging-structure cache has: 1 to 4 entries for 4 KiB, 1 to 3 for 2 MiB.
//! - A line that L1d does not have is looked up in L2, then in L3, then taken from memory; every level that missed
//!   keeps it (allocated by stores as well). What a level evicts stays in the others.
//! - An access that reaches into another line is one access to each; one that reaches into another page is two
//!   translations. The physical address of what is behind is taken to follow.
//! - Replacement is least recently used, exactly, or a tree; empty ways are filled first. With
//!   [`Prefetch::NextLine`] a miss of L1d brings the next line of the same 4 KiB into L2, counted apart; a later use
//!   of it is a hit.
//!
//! # What it leaves out
//! Time: overlap of misses, bandwidth, out-of-order execution. Instruction fetches, the kernel's own accesses, and
//! what walks read (counted, but not put through the caches). Write-backs and coherence between cores, exclusive
//! (victim) and inclusive L3s, partitions between hyperthreads, prefetchers other than next-line, undocumented
//! policies and hashes: where a CPU has them its file says what was assumed instead. Levels of page tables above the
//! fourth, pages of 1 GiB.

mod access;
mod cache;
mod core;
mod index;
mod machine;
mod occupancy;
mod sets;
#[cfg(test)]
mod testing;
mod tlb;
mod walk;

pub use self::core::Core;
pub use access::{Access, LINE};
pub use cache::Cache;
pub use index::Index;
pub use machine::{
    CacheSpec, IndexBy, Kind, LatencySpec, Machine, MachineError, Origin, PageSize, Prefetch, Replacement,
    Source, TlbSpec, WalkSpec,
};
pub use occupancy::OccupancyCounter;
