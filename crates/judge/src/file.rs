//! What all files that a person writes share: an error that names the line.

use std::ops::Range;

use serde::de::DeserializeOwned;

/// Why a file's text is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileError {
    /// The line, from 1, where the parser could tell.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for FileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for FileError {}

impl FileError {
    /// Something wrong at this place of `text`.
    #[must_use]
    pub fn at(text: &str, span: &Range<usize>, message: String) -> Self {
        let line = text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1;
        Self { line: Some(line), message }
    }
}

/// Reads a file's text as TOML of that form.
///
/// # Errors
/// When it is no TOML, or has a field too many or too few.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, FileError> {
    toml::from_str(text).map_err(|error| match error.span() {
        Some(span) => FileError::at(text, &span, error.message().to_owned()),
        None => FileError { line: None, message: error.message().to_owned() },
    })
}
