//! `configs/nightly.toml`: which kernels the nightly run covers, and with which suites.
//!
//! ```toml
//! suites = ["memory"]          # of every target that names none of its own; at least one
//!
//! [[target]]                   # at least one
//! name = "stable-6.12"         # lower-case letters, digits, - and .; no other target's, and no kernel's of kernels/
//! tree = "https://git.kernel.org/pub/scm/linux/kernel/git/stable/linux.git"
//! branch = "linux-6.12.y"
//! suites = ["memory", "swap"]  # may be left out
//!
//! [[target]]
//! name = "debian-6.12"
//! kernel = "stock-6.12"        # in place of tree and branch: one of kernels/
//! ```

use std::ops::Range;

use mthp_judge::file::{self, FileError};
use serde::Deserialize;
use toml::Spanned;

use super::Source;
use crate::project::is_name;

/// What the file says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nightly {
    /// The suites of a kernel for which none are named; at least one.
    pub suites: Vec<String>,
    /// The kernels; at least one.
    pub targets: Vec<Target>,
}

/// One kernel with its suites.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// A name that is safe everywhere.
    pub name: String,
    /// Where the kernel comes from.
    pub source: Source,
    /// Its suites; at least one.
    pub suites: Vec<String>,
}

/// Names that must be there: what a file may refer to.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The kernels of `kernels/`.
    pub kernels: &'a [String],
    /// The suites of `configs/suites/`.
    pub suites: &'a [String],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    suites: Spanned<Vec<Spanned<String>>>,
    #[serde(default, rename = "target")]
    targets: Vec<Spanned<RawTarget>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTarget {
    name: Spanned<String>,
    tree: Option<Spanned<String>>,
    branch: Option<Spanned<String>>,
    kernel: Option<Spanned<String>>,
    suites: Option<Spanned<Vec<Spanned<String>>>>,
}

impl Nightly {
    /// Reads the file's text.
    ///
    /// # Errors
    /// When it is malformed, names a kernel or a suite that is not there, or a name twice. The error names the line.
    pub fn parse(text: &str, known: Known<'_>) -> Result<Self, FileError> {
        let raw: Raw = file::parse(text)?;
        let suites = suites_of(text, &raw.suites, known)?;
        if raw.targets.is_empty() {
            return Err(FileError {
                line: None,
                message: "no [[target]]: there is nothing to run".to_owned(),
            });
        }
        let mut targets: Vec<Target> = Vec::new();
        for target in &raw.targets {
            let target = target_of(text, target, &suites, &targets, known)?;
            targets.push(target);
        }
        Ok(Self { suites, targets })
    }
}

fn target_of(
    text: &str,
    raw: &Spanned<RawTarget>,
    usual: &[String],
    earlier: &[Target],
    known: Known<'_>,
) -> Result<Target, FileError> {
    let fault = |span: Range<usize>, message: String| Err(FileError::at(text, &span, message));
    let whole = raw.span();
    let raw = raw.get_ref();
    let name = raw.name.get_ref();
    if !is_name(name) {
        let message = format!("the name '{name}' is not lower-case letters, digits, - and . alone");
        return fault(raw.name.span(), message);
    }
    if earlier.iter().any(|other| other.name == *name) {
        return fault(raw.name.span(), format!("a second target named '{name}'"));
    }
    if known.kernels.contains(name) && raw.kernel.as_ref().is_none_or(|kernel| kernel.get_ref() != name) {
        return fault(raw.name.span(), format!("'{name}' is another kernel's name, of kernels/"));
    }
    let source = match (&raw.tree, &raw.branch, &raw.kernel) {
        (Some(tree), Some(branch), None) => {
            for (what, value) in [("tree", tree), ("branch", branch)] {
                if !is_plain(value.get_ref()) {
                    let message = format!(
                        "the {what} '{}' is not letters, digits and any of -._/:@+~ alone, or begins with -",
                        value.get_ref()
                    );
                    return fault(value.span(), message);
                }
            }
            Source::Tree { tree: tree.get_ref().clone(), branch: branch.get_ref().clone() }
        }
        (None, None, Some(kernel)) => Source::Kernel(known_name(text, kernel, "kernel", known.kernels)?),
        _ => {
            return fault(
                whole,
                format!("the target '{name}' has either a tree and its branch, or a kernel"),
            );
        }
    };
    let suites = match &raw.suites {
        Some(named) => suites_of(text, named, known)?,
        None => usual.to_vec(),
    };
    Ok(Target { name: name.clone(), source, suites })
}

fn suites_of(
    text: &str,
    raw: &Spanned<Vec<Spanned<String>>>,
    known: Known<'_>,
) -> Result<Vec<String>, FileError> {
    if raw.get_ref().is_empty() {
        return Err(FileError::at(text, &raw.span(), "no suite: there is nothing to run".to_owned()));
    }
    let mut suites = Vec::new();
    for suite in raw.get_ref() {
        let name = known_name(text, suite, "suite", known.suites)?;
        if suites.contains(&name) {
            return Err(FileError::at(text, &suite.span(), format!("the suite '{name}' is there twice")));
        }
        suites.push(name);
    }
    Ok(suites)
}

fn known_name(text: &str, name: &Spanned<String>, what: &str, known: &[String]) -> Result<String, FileError> {
    if known.contains(name.get_ref()) {
        return Ok(name.get_ref().clone());
    }
    let message = format!("there is no {what} named '{}'; there are: {}", name.get_ref(), known.join(", "));
    Err(FileError::at(text, &name.span(), message))
}

/// Trees and branches travel through the scripts of workflows, where a shell reads them.
fn is_plain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._/:@+~".contains(&byte);
    !text.is_empty() && !text.starts_with('-') && text.bytes().all(plain)
}

#[cfg(test)]
mod tests;
