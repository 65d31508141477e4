//! One file a command.

mod announce;
mod backtest;
mod bench;
mod bisect;
pub mod bisect_step;
pub mod ci;
mod nightly;
mod plan;
mod reproduce;
mod schema;
mod test_kernel;

use std::process::ExitCode;

use anyhow::{Context, Result};
use mthp_lab::{Lab, Stop};

use crate::cli::{Cli, Command, Common};

/// Runs the command and gives its exit code.
///
/// # Errors
/// When the command could not do its work.
pub fn run(cli: Cli) -> Result<ExitCode> {
    match cli.command {
        Command::TestKernel(options) => test_kernel::run(&options),
        Command::Backtest(options) => backtest::run(&options),
        Command::Reproduce(options) => reproduce::run(&options),
        Command::Bisect(options) => bisect::run(&options),
        Command::BisectStep(options) => Ok(bisect_step::run(&options)),
        Command::Nightly(options) => nightly::run(&options),
        Command::Ci(options) => ci::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Plan(options) => plan::run(&options),
        Command::Announce(options) => announce::run(&options),
        Command::Schema(options) => schema::run(&options),
    }
}

/// The laboratory, with Ctrl-C and SIGTERM wired to its stop.
fn lab(common: &Common) -> Result<Lab> {
    let stop = Stop::new()?;
    let for_signal = stop.clone();
    ctrlc::set_handler(move || for_signal.stop()).context("failed to listen for Ctrl-C")?;
    Lab::open(common.cache_dir.as_deref(), common.qemu.as_deref(), stop)
}
