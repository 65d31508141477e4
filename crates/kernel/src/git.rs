//! The `git` program, used so that it reads only.

pub(crate) mod objects;

use std::{
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, bail};

use crate::error::bad_input;
use crate::process;

/// `git` on a repository. It takes no locks there (`git status` would refresh the index), runs no hook or
/// monitor of it, and does not mind whose it is: it is only read.
pub(crate) fn command(directory: &Path) -> Command {
    let mut safe = OsString::from("safe.directory=");
    safe.push(directory);
    let mut git = Command::new("git");
    // What a calling git (a hook, `git bisect run`) exports would point us at its own repository.
    for name in [
        "GIT_DIR",
        "GIT_COMMON_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_PREFIX",
        "GIT_CONFIG",
    ] {
        git.env_remove(name);
    }
    git.env("GIT_OPTIONAL_LOCKS", "0")
        // A partial clone would fetch, into itself, what a reader finds missing.
        .env("GIT_NO_LAZY_FETCH", "1")
        .env("GIT_TERMINAL_PROMPT", "0")
        .env("LC_ALL", "C")
        .arg("-c")
        .arg(safe)
        .args(["-c", "core.fsmonitor=false", "-C"])
        .arg(directory);
    git
}

/// What `git` prints, without the line's end.
pub(crate) fn line(directory: &Path, arguments: &[&str]) -> Result<String> {
    let output = process::capture(command(directory).args(arguments))?;
    // Blanks may be a part of it: a log's last field may be empty.
    Ok(String::from_utf8_lossy(&output).trim_end_matches(['\n', '\r']).to_owned())
}

/// Whether a folder is the top of a work tree.
pub(crate) fn is_top(directory: &Path) -> bool {
    let Ok(top) = line(directory, &["rev-parse", "--show-toplevel"]) else { return false };
    let same = |a: &Path, b: &Path| matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b);
    same(Path::new(&top), directory)
}

/// The commit that a revision names.
pub(crate) fn commit(directory: &Path, revision: &str) -> Result<String> {
    if revision.starts_with('-') {
        return Err(bad_input(format!("failed to use the revision '{revision}': it begins with a dash")));
    }
    line(directory, &["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")]).map_err(|_| {
        bad_input(format!(
            "failed to find the revision '{revision}' in {}: git knows no such commit",
            directory.display()
        ))
    })
}

/// Files that are changed or not known to git, as `git status` words it; empty if the tree is clean.
pub(crate) fn changes(directory: &Path) -> Result<Vec<String>> {
    let status =
        line(directory, &["status", "--porcelain", "--untracked-files=normal", "--ignore-submodules"])?;
    Ok(status.lines().map(str::to_owned).collect())
}

/// All files that are tracked, or neither tracked nor ignored.
pub(crate) fn files(directory: &Path) -> Result<Vec<PathBuf>> {
    use std::os::unix::ffi::OsStrExt;
    let list = process::capture(command(directory).args(["ls-files", "-z", "-co", "--exclude-standard"]))?;
    let mut files: Vec<PathBuf> = list
        .split(|&byte| byte == 0)
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(OsStr::from_bytes(name)))
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// Unpacks a commit into a folder that exists.
pub(crate) fn unpack(directory: &Path, commit: &str, into: &Path, stop: &AtomicBool) -> Result<()> {
    let mut archive = command(directory)
        .args(["archive", "--format=tar", commit])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("failed to start git archive")?;
    let output = archive.stdout.take().context("failed to read from git archive")?;
    let mut tar = Command::new("tar");
    // Times of now: a commit's own may lie in the future, and make would never be done with such a file.
    tar.args(["-x", "--no-same-owner", "--touch", "-C"]).arg(into);
    let unpacked = process::run_piped(&mut tar, output, stop);
    let status = archive.wait().context("failed to wait for git archive")?;
    unpacked?;
    if !status.success() {
        bail!("git archive of {commit} in {} ended with {status}", directory.display());
    }
    Ok(())
}
