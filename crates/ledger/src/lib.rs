//! What is known of kernels and what is claimed of them.
//!
//! The [`corpus`] holds known bugs, each with the patch that brings it back and the checks that must see it; a
//! backtest says whether they do, and that harmless patches are left alone. A [`claim`] is something that was said
//! of a kernel in public, with the measurement that decides it.
//!
//! Nothing here opens a file, starts a process or prints: strings in, strings out.

pub mod claim;
pub mod corpus;
#[cfg(test)]
mod sample;
mod table;
