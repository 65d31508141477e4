//! Claims made in public, and whether what can be measured here bears them out.

pub mod condition;
pub mod file;
pub mod find;
pub mod ledger;
pub mod markdown;
pub mod measured;
pub mod plain;
