//! What comes of the cost model's accounts. Pure.

mod cycles;
mod metrics;

pub use cycles::cycles;
pub use metrics::attach;
