//! From a kernel's source and patches to a built `vmlinux`.
//!
//! A [`manifest`] or a user's tree names a [`source`]; the source is unpacked once into the [`cache`] and never
//! built in. A *root build* is a hardlinked clone of it with one full build inside. Every other kernel is a clone
//! of a root build with [`patch`]es applied: only what a patch touches is compiled again. That works since the
//! output folder lies inside the source (`O=build`), so that kbuild records relative paths only. Many revisions of
//! a [`repository`] are built one after another in a [`workspace`], each from the objects of the one before.
//!
//! Nothing here prints; progress comes as [`Event`]s.

pub mod build;
pub mod cache;
pub mod config;
mod error;
mod event;
pub mod files;
mod git;
pub mod manifest;
pub mod patch;
pub mod process;
pub mod repository;
pub mod source;
pub mod toolchain;
pub mod workspace;

pub use build::{BuiltKernel, Cost, KernelIdentity, PatchIdentity, Recipe, build};
pub use cache::Cache;
pub use error::{BadInput, BuildFailed, Interrupted, is_bad_input};
pub use event::{Event, Events};
pub use patch::{PatchError, PatchSeries};
pub use repository::Repository;
pub use source::{PristineTree, SourceIdentity, SourceSpec, fetch};
pub use workspace::{Origin, Point, Workspace};
