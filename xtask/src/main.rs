//! The commands a person types: `cargo xtask …`. Each file of [`commands`] is one of them.

mod cli;
mod commands;
mod setup;
mod ui;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return ui::usage(&error),
    };
    commands::run(cli).unwrap_or_else(|error| ui::failure(&error))
}
