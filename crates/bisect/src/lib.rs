//! Which commit brought it: the search in a history, and what counts as seen.
//!
//! The way through it: [`ends::look`] says in what the good and the bad end differ, or why they cannot be bisected;
//! [`target`] follows one of these differences and nothing else; [`graph`] is the history between the ends,
//! [`search`] says which revision is worth a look next and when it is over; [`record`] is the journal, from which a
//! killed run goes on, and the report.
//!
//! Nothing here opens a file, starts a process or prints: strings in, strings out.

pub mod ends;
pub mod finding;
pub mod graph;
mod halving;
pub mod log;
pub mod record;
#[cfg(test)]
mod sample;
pub mod search;
pub mod signature;
pub mod target;
pub mod text;
