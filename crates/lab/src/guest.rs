//! Builds the guest's programs, in a profile of their own.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

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
    pub program: Arc<[u8]>,
    /// The names of its tests, in the order in which they run.
    pub tests: Vec<String>,
    /// Which promise each of them checks, in the same order.
    pub contracts: Vec<String>,
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

/// The names of the guest's tests, in the order in which they run.
///
/// # Errors
/// When cargo fails; the error carries its last words.
pub fn guest_tests(project: &Project) -> Result<Vec<String>> {
    Ok(compile(project)?.tests)
}

fn compile(project: &Project) -> Result<Runner> {
    let program = cargo_build(project, "guest-runner", Linkage::Static)?;
    let (tests, contracts) = list(&program)?;
    Ok(Runner { tests, contracts, program: read(&program)?.into() })
}

/// The workload's program, built from the checkout: linked as users link theirs, so that the C library's allocator
/// is the one that is looked at.
///
/// # Errors
/// When cargo fails; the error carries its last words.
pub fn build_inference(project: &Project, events: &Events<'_>) -> Result<PathBuf> {
    let label = "workload program";
    events(&Event::Began { label: label.to_owned(), what: "building".to_owned() });
    let program = cargo_build(project, "guest-inference", Linkage::Dynamic);
    let what = if program.is_ok() { "built" } else { "failed" };
    events(&Event::Ended { label: label.to_owned(), what: what.to_owned() });
    program
}

/// How a program finds the C library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Linkage {
    /// It carries it: PID 1 of a guest that has no other file.
    Static,
    /// It loads it.
    Dynamic,
}

fn cargo_build(project: &Project, package: &str, linkage: Linkage) -> Result<PathBuf> {
    let (folder, flags) = match linkage {
        Linkage::Static => ("target/guest", "-C target-feature=+crt-static -C relocation-model=static"),
        Linkage::Dynamic => ("target/guest-dynamic", ""),
    };
    let target_dir = project.root().join(folder);
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args([
            "build",
            "--quiet",
            "--locked",
            "--package",
            package,
            "--profile",
            "guest",
            "--target",
            TARGET,
        ])
        .arg("--target-dir")
        .arg(&target_dir)
        .current_dir(project.root())
        .env("RUSTFLAGS", flags)
        // Under `cargo llvm-cov`, clippy or miri these would change what is built.
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    let output = cargo.output().with_context(|| format!("failed to start cargo for {package}"))?;
    if !output.status.success() {
        bail!("failed to build {package}: {cargo:?}\n{}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(target_dir.join(TARGET).join("guest").join(package))
}

/// Asks the runner, which is a program of the host's kind too.
fn list(program: &Path) -> Result<(Vec<String>, Vec<String>)> {
    let mut command = Command::new(program);
    command.arg("--list");
    let output = command.output().with_context(|| format!("failed to run {command:?}"))?;
    if !output.status.success() {
        bail!("failed to list the guest's tests: {command:?} ended with {}", output.status);
    }
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|line| match line.split_once('\t') {
            Some((name, contract)) => Ok((name.to_owned(), contract.to_owned())),
            None => bail!("failed to list the guest's tests: {line:?} tells no contract"),
        })
        .collect()
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("failed to read {}", path.display()))
}
