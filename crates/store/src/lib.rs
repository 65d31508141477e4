//! The store of nightly runs, and how it is shown.
//!
//! A [`run::Run`] is one test of one revision; the runs of one branch on one machine with one suite are a
//! [`run::Series`], and only runs of a series are set against each other. [`summary`] makes the values of a run
//! from its boots; [`Store`] keeps runs, values for ever, and the boots of the last good runs; [`show`] turns what
//! is kept into tables and plots.
//!
//! The store is an SQLite file. Every change of it is one transaction: what is killed in the middle leaves nothing,
//! and two that write at once wait for each other.

pub mod history;
pub mod nightly;
pub mod place;
pub mod regression;
pub mod run;
#[cfg(test)]
mod sample;
pub mod show;
mod store;
pub mod summary;

pub use store::Store;
