//! What comes over the network: each thing once, and kept only if it is what was asked for.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result};

use super::short;
use crate::{
    Cache, Event, Events,
    cache::{Kind, writing},
    error::bad_input,
    files, git, process,
};

/// Downloads a tarball; one with another hash is not kept.
pub(super) fn tarball(
    cache: &Cache,
    url: &str,
    sha256: &str,
    events: &Events<'_>,
    stop: &AtomicBool,
) -> Result<PathBuf> {
    let made = cache.produce(Kind::Download, sha256, url, events, stop, |partial| {
        events(Event::Downloading(url.to_owned()));
        let mut curl = Command::new("curl");
        curl.args(["--fail", "--location", "--silent", "--show-error", "--retry", "3", "--output"]);
        curl.arg(partial).arg("--").arg(url);
        process::run_quiet(&mut curl, stop).with_context(|| format!("failed to download {url}"))?;
        check(partial, url, sha256)
    })?;
    Ok(made.path)
}

/// Is the file the one that was asked for?
pub(super) fn check(file: &Path, what: &str, wanted: &str) -> Result<()> {
    files::expect_sha256(what, &files::sha256_file(file)?, wanted)
}

/// Fetches one revision of a repository, without its history; `FETCH_HEAD` names it.
pub(super) fn repository(
    cache: &Cache,
    url: &str,
    revision: &str,
    events: &Events<'_>,
    stop: &AtomicBool,
) -> Result<PathBuf> {
    if revision.starts_with('-') || url.starts_with('-') {
        return Err(bad_input(format!("failed to use {url}@{revision}: a part begins with a dash")));
    }
    let hash = files::sha256(format!("{url}\n{revision}").as_bytes());
    let made = cache.produce(Kind::Repository, short(&hash), url, events, stop, |partial| {
        events(Event::Downloading(format!("{url}@{revision}")));
        fs::create_dir_all(partial).map_err(|error| writing(error, partial))?;
        process::run_quiet(git::command(partial).args(["init", "--quiet", "--bare"]), stop)?;
        let mut fetch = git::command(partial);
        fetch.args(["fetch", "--quiet", "--depth=1", url, revision]);
        process::run_quiet(&mut fetch, stop)
            .with_context(|| format!("failed to fetch {revision} from {url}"))?;
        Ok(())
    })?;
    Ok(made.path)
}
