//! The commands a person types: `cargo xtask …`. Each file of [`commands`] is one of them.

mod cli;
mod commands;
mod reports;
mod setup;
mod ui;
mod validator;
#[cfg(test)]
mod workflows;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let cli = match cli::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            let code = ui::usage(&error);
            let step = std::env::args_os().nth(1).is_some_and(|command| command == "bisect-step");
            // To `git bisect run` every other code is a verdict.
            return if step && error.use_stderr() { ExitCode::from(commands::bisect_step::SKIP) } else { code };
        }
    };
    commands::run(cli).unwrap_or_else(|error| ui::failure(&error))
}
