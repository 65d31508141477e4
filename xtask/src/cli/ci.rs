//! The flags of `ci`.

use clap::Args;

use super::Common;

#[derive(Debug, Args)]
pub struct Ci {
    /// Also what takes long: many boots, kills, and the older kernel
    #[arg(long)]
    pub full: bool,
    #[command(flatten)]
    pub common: Common,
}
