//! GitHub's command line program, which knows the repository and has the right to write issues.
//!
//! Its arguments go to it as they are; no shell reads them.

use std::{ffi::OsStr, io::Write, process::Command};

use anyhow::{Context, Result, bail};
use mthp_kernel::process;
use serde::{Deserialize, de::DeserializeOwned};
use tempfile::NamedTempFile;

/// What our issues have. Only who may write to the repository can give it, so no stranger's issue is taken for one of ours.
const LABEL: &str = "regression";
/// The most open issues that are looked through.
const MOST: usize = 1000;

/// An open issue of ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issue {
    /// Where it is.
    pub url: String,
    /// Its body, and its comments.
    pub texts: Vec<String>,
}

#[derive(Deserialize)]
struct Listed {
    url: String,
    body: String,
    comments: Vec<Comment>,
}

#[derive(Deserialize)]
struct Comment {
    body: String,
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

/// All open issues with our label. They are listed and not searched for: a search may not know yet what was opened a minute
/// ago.
///
/// # Errors
/// When gh fails, or there are too many to be sure that none is left out.
pub fn open_issues() -> Result<Vec<Issue>> {
    let most = MOST.to_string();
    let listed: Vec<Listed> = json(&[
        "issue",
        "list",
        "--state",
        "open",
        "--label",
        LABEL,
        "--limit",
        &most,
        "--json",
        "url,body,comments",
    ])
    .context("failed to list the open issues")?;
    if listed.len() >= MOST {
        bail!("failed to look through all open issues with the label {LABEL}: there are {MOST} or more");
    }
    let issue = |it: Listed| Issue {
        url: it.url,
        texts: [it.body].into_iter().chain(it.comments.into_iter().map(|comment| comment.body)).collect(),
    };
    Ok(listed.into_iter().map(issue).collect())
}

/// Opens an issue with our label and gives its URL.
///
/// # Errors
/// When gh fails.
pub fn create(title: &str, body: &str) -> Result<String> {
    ensure_label().with_context(|| format!("failed to make the label {LABEL}"))?;
    let body = file(body)?;
    let title = format!("--title={title}");
    let arguments = ["issue", "create", "--label", LABEL, &title, "--body-file"].map(OsStr::new);
    let said =
        gh(&[&arguments[..], &[body.path().as_os_str()]].concat()).context("failed to open an issue")?;
    // The URL is the last that it says.
    Ok(said.lines().last().unwrap_or_default().trim().to_owned())
}

/// Adds a comment to an issue.
///
/// # Errors
/// When gh fails.
pub fn comment(url: &str, body: &str) -> Result<()> {
    let body = file(body)?;
    let arguments = ["issue", "comment", url, "--body-file"].map(OsStr::new);
    gh(&[&arguments[..], &[body.path().as_os_str()]].concat())
        .with_context(|| format!("failed to comment on {url}"))
        .map(drop)
}

fn ensure_label() -> Result<()> {
    let labels: Vec<Label> = json(&["label", "list", "--search", LABEL, "--json", "name"])?;
    if !labels.iter().any(|label| label.name == LABEL) {
        let about = "What used to work on an older kernel";
        gh(&["label", "create", LABEL, "--description", about].map(OsStr::new))?;
    }
    Ok(())
}

fn json<T: DeserializeOwned>(arguments: &[&str]) -> Result<T> {
    let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
    let said = gh(&arguments)?;
    serde_json::from_str(&said).with_context(|| format!("failed to read what gh said to {arguments:?}"))
}

fn gh(arguments: &[&OsStr]) -> Result<String> {
    let said = process::capture(Command::new("gh").args(arguments).env("GH_PROMPT_DISABLED", "1"))?;
    String::from_utf8(said).context("failed to read what gh said")
}

/// A body is longer than an argument may be.
fn file(text: &str) -> Result<NamedTempFile> {
    let mut file = NamedTempFile::new().context("failed to make a temporary file")?;
    file.write_all(text.as_bytes()).context("failed to write a temporary file")?;
    Ok(file)
}
