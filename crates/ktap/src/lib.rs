//! What a kernel selftest prints: KTAP (Documentation/dev-tools/ktap.rst) and the TAP 13 of kselftest.h. Pure.
//!
//! Whatever a program prints is read without a panic and within bounds. Lines that are not of the format are
//! allowed and decide nothing, as the document says.

mod line;
mod transcript;

pub use transcript::{MAX_POINTS, Point, State, Transcript, parse};

#[cfg(test)]
mod tests;
