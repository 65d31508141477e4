//! The stable types that every part of the suite speaks: what the host asks a guest to do ([`job`]),
//! what the guest answers ([`message`], in [`frame`]s), and what one boot left behind ([`boot`]).
//!
//! Nothing here opens a file or starts a process.

pub mod boot;
pub mod cost;
pub mod frame;
pub mod job;
pub mod message;
pub mod result;
pub mod selftest;
pub mod workload;
