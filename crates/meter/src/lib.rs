//! Follows a guest's tasks and the regions they are in, and feeds the models: accesses in, an account out. Pure.
//!
//! QEMU's plugin tells what happens on each vCPU: the kernel switched to a task, a mark was executed, user space
//! accessed memory. Only the accesses of a task that is in a region are modelled, on the caches and TLBs of the
//! vCPU that it runs on, and booked on that task, wherever it goes. The models are empty when a region begins while
//! no other is open anywhere: what ran before does not show.
//!
//! A guest is not trusted: whatever it says, what is kept is bounded, and what was wrong or too much is a fault in the
//! account, which then does not count.

mod book;
mod faults;
mod huge;
mod lane;
mod meter;
mod name;
mod task;
mod tasks;

pub use lane::Lane;
pub use meter::{Meter, Turn};

#[cfg(test)]
mod tests;
