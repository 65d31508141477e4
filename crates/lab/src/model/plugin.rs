//! Builds the plugin for the QEMU at hand.

use std::{
    path::PathBuf,
    process::Command,
    sync::{Mutex, PoisonError},
};

use anyhow::{Context, Result, bail};
use mthp_record::cost::READY;
use mthp_vm::qemu::Qemu;

use crate::{
    event::{Event, Events},
    project::Project,
};

const PACKAGE: &str = "mthp-qemu-plugin";
const FILE: &str = "libmthp_qemu_plugin.so";

/// The plugin, built and tried at most once.
#[derive(Debug, Default)]
pub(crate) struct Plugins(Mutex<Option<Result<PathBuf, String>>>);

impl Plugins {
    /// The plugin's file; or why this QEMU takes none.
    ///
    /// # Errors
    /// When cargo fails; the error carries its last words.
    pub(crate) fn file(
        &self,
        project: &Project,
        qemu: &Qemu,
        events: &Events<'_>,
    ) -> Result<Result<PathBuf, String>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known {
            return Ok(known.clone());
        }
        let label = "plugin";
        events(&Event::Began { label: label.to_owned(), what: "building".to_owned() });
        let found = build(project, version(qemu)).map(|file| {
            let taken = qemu.takes_plugin(&file, READY);
            taken.map(|()| file).map_err(|why| format!("QEMU {} takes no plugin: {why}", qemu.version))
        });
        let what = match &found {
            Ok(Ok(_)) => "built",
            Ok(Err(why)) => why,
            Err(_) => "failed",
        };
        events(&Event::Ended { label: label.to_owned(), what: what.to_owned() });
        let found = found?;
        *known = Some(found.clone());
        Ok(found)
    }
}

/// The newest version of the interface that both this QEMU and the plugin know. (QEMU's `qemu-plugin.h`: 1 since 6.0,
/// 2 in 9.0, 3 in 9.1, 4 in 9.2. A later QEMU says itself whether it still takes 4.)
fn version(qemu: &Qemu) -> u32 {
    match (qemu.major, qemu.minor) {
        (..=8, _) => 1,
        (9, 0) => 2,
        (9, 1) => 3,
        _ => 4,
    }
}

fn build(project: &Project, api: u32) -> Result<PathBuf> {
    let target_dir = project.root().join(format!("target/plugin-{api}"));
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["build", "--quiet", "--locked", "--release", "--no-default-features"])
        .args(["--package", PACKAGE, "--features", &format!("api-{api}")])
        .arg("--target-dir")
        .arg(&target_dir)
        .current_dir(project.root())
        .env_remove("RUSTFLAGS")
        // Under `cargo llvm-cov`, clippy or miri these would change what is built.
        .env_remove("RUSTC_WRAPPER")
        .env_remove("RUSTC_WORKSPACE_WRAPPER")
        .env_remove("CARGO_ENCODED_RUSTFLAGS");
    let output = cargo.output().with_context(|| format!("failed to start cargo for {PACKAGE}"))?;
    if !output.status.success() {
        bail!("failed to build {PACKAGE}: {cargo:?}\n{}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(target_dir.join("release").join(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_qemu_gets_the_interface_it_speaks() {
        for (major, minor, api) in
            [(7, 2, 1), (8, 2, 1), (9, 0, 2), (9, 1, 3), (9, 2, 4), (10, 0, 4), (11, 1, 4)]
        {
            let qemu =
                Qemu { binary: PathBuf::new(), version: String::new(), major, minor, machines: Vec::new() };
            assert_eq!(version(&qemu), api, "{major}.{minor}");
        }
    }
}
