//! Errors that a caller tells apart by their type; all others are plain chained messages.

use std::{error::Error, fmt, path::PathBuf};

use crate::patch::PatchError;

/// What the user gave (a path, a manifest, a fragment, a tree) cannot be used; the text says why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadInput(pub String);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for BadInput {}

/// The kernel does not compile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildFailed {
    /// The compiler's (or linker's, or make's) own first words about it.
    pub first_errors: Vec<String>,
    /// The whole log.
    pub log: PathBuf,
}

impl fmt::Display for BuildFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "failed to build the kernel: {}", self.first_errors.join("\n  "))?;
        write!(f, "\n  the whole log: {}", self.log.display())
    }
}

impl Error for BuildFailed {}

/// The stop flag was raised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interrupted;

impl fmt::Display for Interrupted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("interrupted")
    }
}

impl Error for Interrupted {}

/// Whether this link of an error's chain says that the user's input is at fault, not the machinery.
#[must_use]
pub fn is_bad_input(error: &(dyn Error + 'static)) -> bool {
    error.is::<BadInput>() || error.is::<PatchError>()
}

/// A [`BadInput`] as an [`anyhow::Error`].
pub(crate) fn bad_input(text: impl Into<String>) -> anyhow::Error {
    BadInput(text.into()).into()
}
