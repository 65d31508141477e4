//! The flags of `bench`.

use clap::Args;

use super::Common;

#[derive(Debug, Args)]
pub struct Bench {
    /// Measure a cold build too, in a cache of its own (minutes)
    #[arg(long)]
    pub cold: bool,
    /// Measure the YOLOv5 workload too (minutes without KVM); its parts must have been fetched
    #[arg(long)]
    pub workload: bool,
    /// Measure the cost model too: what its plugin costs a guest, and the suite `cost` (minutes); a workload's parts must
    /// have been fetched
    #[arg(long)]
    pub model: bool,
    #[command(flatten)]
    pub common: Common,
}
