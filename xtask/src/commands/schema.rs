//! `cargo xtask schema`: what report.json looks like, for programs that read it.

use std::process::ExitCode;

use anyhow::Result;

use crate::ui;

/// Prints the JSON schema.
///
/// # Errors
/// When it cannot be written as JSON.
pub fn run() -> Result<ExitCode> {
    ui::answer(&serde_json::to_string_pretty(&mthp_judge::report::json_schema())?);
    Ok(ExitCode::SUCCESS)
}
