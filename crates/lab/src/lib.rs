//! The experiment: which two kernels, which boots, in which order, into which folder.
//!
//! [`Lab`] holds what every experiment needs (the checkout, the cache, QEMU); [`experiment::run`] goes from a
//! [`Request`] to a report. Nothing here prints; progress comes as [`Event`]s.

mod boots;
mod event;
pub mod experiment;
mod folder;
mod guest;
mod host;
mod laboratory;
mod project;
mod request;
mod schedule;
mod selection;
pub mod selftests;
mod stop;
mod timing;
pub mod workload;

pub use boots::{Extra, Setting, accelerator};
pub use event::{Event, Events};
pub use folder::Folder;
pub use laboratory::Lab;
pub use project::Project;
pub use request::{BaseKernel, Request};
pub use stop::Stop;
