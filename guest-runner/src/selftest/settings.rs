//! Settings of the guest that a selftest wants, as run_vmtests.sh makes them.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result};

/// What was there before; put back by PID 1, since the test's own process may be killed.
#[derive(Debug, Default)]
pub struct Settings(Vec<(String, String)>);

impl Settings {
    /// Writes `wanted`, which names files and what goes into them.
    ///
    /// # Errors
    /// When one cannot be read or written; what was written is put back.
    pub fn enter(wanted: &BTreeMap<String, String>) -> Result<Self> {
        let mut before = Self::default();
        for (path, value) in wanted {
            if let Err(error) = before.set(path, value) {
                // The error at hand is the one to tell.
                let _ = before.restore();
                return Err(error);
            }
        }
        Ok(before)
    }

    fn set(&mut self, path: &str, value: &str) -> Result<()> {
        let text = fs::read_to_string(path).with_context(|| format!("failed to read {path}"))?;
        self.0.push((path.to_owned(), chosen(&text).to_owned()));
        fs::write(path, value).with_context(|| format!("failed to write {value:?} to {path}"))
    }

    /// Puts it back, the last first.
    ///
    /// # Errors
    /// When a file cannot be written.
    pub fn restore(self) -> Result<()> {
        for (path, value) in self.0.iter().rev() {
            fs::write(path, value).with_context(|| format!("failed to write {value:?} to {path}"))?;
        }
        Ok(())
    }
}

/// The value of a setting: the word in brackets, or the text itself.
fn chosen(text: &str) -> &str {
    text.split_once('[').and_then(|(_, rest)| rest.split_once(']')).map_or(text.trim(), |(word, _)| word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_there_comes_back_also_after_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        fs::write(path("a"), "always [madvise] never\n").unwrap();
        let read = || fs::read_to_string(path("a")).unwrap();
        let before = Settings::enter(&[(path("a"), "never".to_owned())].into()).unwrap();
        assert_eq!(read(), "never");
        before.restore().unwrap();
        assert_eq!(read(), "madvise");
        let wanted = [(path("a"), "never".to_owned()), (path("b"), "1".to_owned())];
        let error = Settings::enter(&wanted.into()).unwrap_err();
        assert!(format!("{error:#}").contains("failed to read"), "{error:#}");
        assert_eq!(read(), "madvise");
    }
}
