//! The seccomp filter that stops a program at the calls the census counts, and at no other.

use anyhow::{Context, Result};
use mthp_record::workload::MARK;
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
    TargetArch,
};

/// The calls that change an address space.
const CALLS: [i64; 5] =
    [libc::SYS_mmap, libc::SYS_munmap, libc::SYS_mremap, libc::SYS_brk, libc::SYS_madvise];

/// Builds the filter; done before the fork, since it allocates.
///
/// # Errors
/// When the rules make no filter.
pub fn build() -> Result<BpfProgram> {
    let mark = u64::try_from(MARK).context("the mark is negative")?;
    let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, mark)?;
    let mut rules: std::collections::BTreeMap<i64, Vec<SeccompRule>> =
        CALLS.iter().map(|call| (*call, Vec::new())).collect();
    rules.insert(libc::SYS_prctl, vec![SeccompRule::new(vec![condition])?]);
    let filter = SeccompFilter::new(rules, SeccompAction::Allow, SeccompAction::Trace(1), TargetArch::x86_64)
        .context("failed to make a seccomp filter")?;
    filter.try_into().context("failed to compile a seccomp filter")
}
