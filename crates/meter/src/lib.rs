//! Follows a guest's tasks and the regions they are in, and feeds the models: accesses in, an account out. Pure.
//!
//! QEMU's plugin tells what happens on each vCPU: the kernel switched to a task, a mark was executed, user space
//! accessed memory. Only the accesses of a task that is in a region are modelled, on the caches and TLBs of the
//! vCPU that it runs on, and booked on that task, wherever it goes. The models are empty when a region begins while
//! no other is open anywhere: what ran before does not show.

mod huge;
mod lane;
mod meter;
mod task;

pub use lane::Lane;
pub use meter::{Meter, Turn};

#[cfg(test)]
mod tests;
