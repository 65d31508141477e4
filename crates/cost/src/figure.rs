//! Pictures of the model's counts as SVG. Their own white ground, black and grey: shape and shade say what is what,
//! never hue. The same values give the same bytes, on every machine.

mod canvas;
mod misses;
mod occupancy;
mod scale;

pub use misses::misses;
pub use occupancy::{Kernel, occupancy};

#[cfg(test)]
mod tests;
