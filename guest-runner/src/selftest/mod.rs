//! Runs one of the kernel's own selftests and tells what it said, point by point.

mod program;
mod settings;
mod told;

use std::{fs, path::Path};

use anyhow::{Context, Result};
use mthp_record::selftest::Selftest;

pub use self::{program::end_leftovers, settings::Settings};
use crate::suite::Findings;

/// Where a program works, and leaves what it leaves.
const SCRATCH: &str = "/tmp/selftest";

/// The program itself says that it cannot run here.
#[derive(Debug)]
pub struct Inapplicable(pub String);

impl std::fmt::Display for Inapplicable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "it skips all: {}", self.0)
    }
}

impl std::error::Error for Inapplicable {}

/// What of the guest is missing for it, if something is.
pub fn unmet(test: &Selftest) -> Option<String> {
    test.needs
        .iter()
        .find(|path| !Path::new(path.as_str()).exists())
        .map(|path| format!("the kernel has no {path}"))
}

/// Runs it.
///
/// # Errors
/// When it cannot be started, dies ([`Killed`](crate::workload::Killed)), skips all ([`Inapplicable`]), or says
/// something that cannot be believed.
pub fn run(test: &Selftest, findings: &mut Findings) -> Result<()> {
    let scratch = Path::new(SCRATCH);
    if scratch.exists() {
        fs::remove_dir_all(scratch).with_context(|| format!("failed to remove {SCRATCH}"))?;
    }
    fs::create_dir(scratch).with_context(|| format!("failed to make {SCRATCH}"))?;
    let ran = program::run(test, scratch)?;
    told::report(test, &ran, findings)
}
