//! Builds the guest runner: static, for the guest, in a profile of its own.

use std::{fs, path::Path, process::Command};

use anyhow::{Context, Result, bail};

use crate::{
    event::{Event, Events},
    project::Project,
};

const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The guest's program and what it can do.
#[derive(Clone, Debug)]
pub struct Runner {
    /// Its bytes: PID 1 of the guest.
    pub program: Vec<u8>,
    /// The names of its tests, in the order in which they run.
    pub tests: Vec<String>,
}

/// The guest runner, built from the checkout (cargo finds quickly that nothing changed).
///
/// # Errors
/// When cargo fails; the error carries its last words.
pub fn build(project: &Project, events: &Events<'_>) -> Result<Runner> {
    let label = "guest runner";
    events(&Event::Began { label: label.to_owned(), what: "building".to_owned() });
    let runner = compile(project);
    let what = match &runner {
        Ok(runner) => format!("{} tests", runner.tests.len()),
        Err(_) => "failed".to_owned(),
    };
    events(&Event::Ended { label: label.to_owned(), what });
    runner
}

fn compile(project: &Project) -> Result<Runner> {
    let target_dir = project.root().join("target/guest");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args([
            "build",
            "--quiet",
            "--locked",
            "--package",
            "guest-runner",
            "--profile",
            "guest",
            "--target",
            TARGET,
        ])
        .arg("--target-dir")
        .arg(&target_dir)
        .current_dir(project.root())
        .env("RUSTFLAGS", "-C target-feature=+crt-static -C relocation-model=static")
        // Under `cargo llvm-cov`, clippy or miri these would change what is built.
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    let output = cargo.output().context("failed to start cargo for the guest runner")?;
    if !output.status.success() {
        bail!(
            "failed to build the guest runner: {cargo:?}\n{}",
            String::from_utf8_lossy(&output.stderr).trim_end()
        );
    }
    let program = target_dir.join(TARGET).join("guest/guest-runner");
    Ok(Runner { tests: list(&program)?, program: read(&program)? })
}

/// Asks the runner, which is a program of the host's kind too.
fn list(program: &Path) -> Result<Vec<String>> {
    let mut command = Command::new(program);
    command.arg("--list");
    let output = command.output().with_context(|| format!("failed to run {command:?}"))?;
    if !output.status.success() {
        bail!("failed to list the guest's tests: {command:?} ended with {}", output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("failed to read {}", path.display()))
}
