//! From the raw values of both kernels' boots to a verdict, and from a verdict to something a reviewer reads.
//!
//! The way through it: a [`suite::Suite`] says what may decide; [`compare::compare`] sets the boots of both
//! sides against each other, test by test; [`verdict::judge`] draws one [`verdict::Verdict`] from that;
//! [`answers`] says in words what it means for a workload; [`report::Report`] keeps all of it, and
//! [`terminal`] and [`markdown`] show it to people, [`junit`] and [`ktap`] to other CI systems. [`exit`] documents the exit codes.
//!
//! Nothing here opens a file, starts a process or prints: strings in, strings out.
//!
//! The rules in short:
//!
//! - The boot is the unit. Two repeats in one boot are not independent, two boots are.
//! - A value that is the same in every boot of a side is exact, and exact values are compared exactly.
//! - A value that varies within a side is *sampled*. It decides only where the suite declares it and only
//!   with at least [`compare::MIN_BOOTS_SAMPLED`] boots a side; below that the answer is "cannot tell".
//! - Checks (contracts) decide. Metrics decide only where the suite's file declares them a cost.
//! - An agreement breaks where the base's boots agree on a value and some patched boot has another.
//! - A check named `valid-…` guards the numbers of its test: where it fails, none of them count.
//! - Harm that is proven stays proven, whatever else could not be told; improvement is only claimed when
//!   everything could be told.

pub mod answers;
mod cases;
pub mod compare;
pub mod exit;
pub mod file;
pub mod junit;
pub mod ktap;
pub mod markdown;
pub mod report;
#[cfg(test)]
mod sample;
pub mod stats;
pub mod suite;
pub mod terminal;
pub mod text;
pub mod verdict;
