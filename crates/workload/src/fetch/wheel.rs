//! Python wheels: downloaded by pip, read as the zip archives they are.

use std::{
    fs::{self, File},
    io::Read,
    path::Path,
    process::Command,
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, anyhow};
use mthp_kernel::{Interrupted, cache::writing, files, process};
use zip::{ZipArchive, result::ZipError};

use super::name_of;
use crate::{bad_input, spec::Wheel};

/// The wheel's name in its folder of the cache.
pub(super) const FILE: &str = "wheel";

const REQUIREMENTS: &str = "requirements.txt";

/// The longest line of pip's that is shown: it lists hundreds of versions where one does not exist.
const LONGEST: usize = 400;

/// Downloads a wheel into a folder. Which index it comes from is pip's configuration.
pub(super) fn download(wheel: &Wheel, folder: &Path, stop: &AtomicBool) -> Result<()> {
    let Wheel { package, sha256 } = wheel;
    let requirements = folder.join(REQUIREMENTS);
    fs::write(&requirements, format!("{package} --hash=sha256:{sha256}\n"))
        .map_err(|error| writing(error, &requirements))?;
    let mut pip = Command::new("python3");
    // In the new folder, since `-m` looks for modules where it is started.
    pip.current_dir(folder);
    pip.args(["-m", "pip", "download", "--quiet", "--no-input", "--disable-pip-version-check"]);
    // What is asked for is for the guest, whatever Python and machine this is.
    pip.args(["--no-deps", "--only-binary", ":all:", "--python-version", "3.11"]);
    pip.args(["--platform", "manylinux_2_28_x86_64", "--require-hashes", "-r", REQUIREMENTS]);
    process::run_quiet(&mut pip, stop).map_err(|error| explained(error, wheel))?;
    let failed = || format!("failed to list {}", folder.display());
    for entry in fs::read_dir(folder).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        if name_of(&path).ends_with(".whl") {
            let file = folder.join(FILE);
            return fs::rename(&path, &file).map_err(|error| writing(error, &file));
        }
    }
    Err(bad_input(format!("failed to download {package}: pip brought no wheel")))
}

/// pip's failure: it compares hashes too, and then says what it got.
fn explained(error: anyhow::Error, wheel: &Wheel) -> anyhow::Error {
    if error.is::<Interrupted>() {
        return error;
    }
    let Wheel { package, sha256 } = wheel;
    let text = format!("{error:#}");
    let found = text.lines().find_map(|line| line.trim().strip_prefix("Got "));
    if text.contains("DO NOT MATCH THE HASHES")
        && let Some(Err(other)) = found.map(|found| files::expect_sha256(package, found.trim(), sha256))
    {
        return other;
    }
    let lines: Vec<String> = text.lines().map(|line| line.chars().take(LONGEST).collect()).collect();
    anyhow!(lines.join("\n")).context(format!("failed to download {package}"))
}

/// The bytes of a wheel's member.
pub(super) fn member(wheel: &Path, name: &str) -> Result<Vec<u8>> {
    let failed = || format!("failed to read the wheel {}", wheel.display());
    let file = File::open(wheel).with_context(failed)?;
    let mut archive = ZipArchive::new(file).with_context(failed)?;
    let mut member = match archive.by_name(name) {
        Ok(member) => member,
        Err(ZipError::FileNotFound) => return Err(bad_input(format!("the wheel has no member {name}"))),
        Err(error) => return Err(error).with_context(failed),
    };
    let mut bytes = Vec::new();
    member.read_to_end(&mut bytes).with_context(failed)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(text: &str) -> anyhow::Error {
        let wheel = Wheel { package: "a==1".into(), sha256: "1".repeat(64) };
        super::explained(anyhow!(text.to_owned()), &wheel)
    }

    #[test]
    fn another_hash_is_the_users_fault_and_told_as_ours() {
        let text = format!(
            "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES FROM THE REQUIREMENTS FILE.\n    a==1 from x:\n        \
             Expected sha256 {}\n             Got        {}\n",
            "1".repeat(64),
            "2".repeat(64)
        );
        let error = explained(&text);
        assert!(error.is::<mthp_kernel::BadInput>(), "{error}");
        assert!(error.to_string().ends_with(&format!("found  {}", "2".repeat(64))), "{error}");
    }

    #[test]
    fn what_pip_says_else_is_shown_within_bounds() {
        let versions = "0.0.1, ".repeat(1000);
        let text = format!("ERROR: none (from versions: {versions})\nERROR: No matching distribution");
        let text = format!("{:#}", explained(&text));
        assert!(text.starts_with("failed to download a==1: ERROR: none"), "{text}");
        assert!(text.ends_with("\nERROR: No matching distribution") && text.len() < 600, "{text}");
        assert!(explained("x").downcast_ref::<mthp_kernel::BadInput>().is_none());
        let wheel = Wheel { package: "a==1".into(), sha256: String::new() };
        assert!(super::explained(Interrupted.into(), &wheel).is::<Interrupted>());
    }
}
