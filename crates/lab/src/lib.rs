//! The experiment: which two kernels, which boots, in which order, into which folder.
//!
//! [`backtest::run`] does that for the whole corpus of known bugs, and
//! [`reproduce::run`] measures what decides a claim, and [`bisect::run`] finds the commit that brought a difference. [`Lab`] holds what every experiment needs (the checkout, the cache, QEMU); [`experiment::run`] goes from a
//! [`Request`] to a report. Nothing here prints; progress comes as [`Event`]s.

pub mod backtest;
mod began;
pub mod bisect;
mod boots;
mod event;
pub mod experiment;
mod folder;
mod guest;
mod host;
mod kernels;
mod laboratory;
mod load;
mod model;
pub mod nightly;
mod outputs;
pub mod plan;
mod project;
pub mod reproduce;
mod request;
mod schedule;
mod selection;
pub mod selftests;
mod shard;
mod stop;
mod timing;
pub mod workload;

pub use boots::{Extra, Setting, accelerator};
pub use event::{Event, Events};
pub use folder::Folder;
pub use guest::guest_tests;
pub use laboratory::Lab;
pub use model::Model;
pub use project::Project;
pub use request::{BaseKernel, Request};
pub use shard::{MAX_SHARDS, Shard};
pub use stop::Stop;
