//! What a user asks for.

use std::path::PathBuf;

use mthp_vm::accel::AccelChoice;

use crate::shard::Shard;

/// One experiment: a patch on a base kernel, judged by a suite.
#[derive(Clone, Debug)]
pub struct Request {
    /// The kernel without the patch.
    pub base: BaseKernel,
    /// The patches, in order; at least one.
    pub patches: Vec<PathBuf>,
    /// Take them out instead of putting them in.
    pub revert: bool,
    /// The suite's name.
    pub suite: String,
    /// The workload's file, in place of the suite's own.
    pub workload: Option<PathBuf>,
    /// Only these tests of it; empty means all.
    pub tests: Vec<String>,
    /// Only this part of what is left; `None` means all.
    pub shard: Option<Shard>,
    /// Boots a side, if not as the suite says.
    pub boots: Option<u32>,
    /// Which accelerator.
    pub accel: AccelChoice,
    /// The report's folder, if the user names one.
    pub folder: Option<PathBuf>,
}

/// The kernel without the patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BaseKernel {
    /// One of `kernels/`.
    Named(String),
    /// The user's own tree.
    Tree {
        /// `DIR[@REV]`.
        spec: String,
        /// Take it with uncommitted changes.
        dirty: bool,
    },
}
