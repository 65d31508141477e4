//! The corpus of known bugs, and whether the suite sees them.

pub mod backtest;
pub mod entry;
pub mod look;
pub mod markdown;
pub mod text;
