//! The report's folder: made first, with a report that says "unfinished" until a result replaces it.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use mthp_judge::report::Report;
use mthp_kernel::BadInput;
use serde::Serialize;

/// The name of an experiment's report in its folder.
pub const REPORT: &str = "report.json";
/// The name of a backtest's.
pub const BACKTEST: &str = "backtest.json";
/// The name of what was found of claims.
pub const LEDGER: &str = "ledger.json";
/// The name of a bisection's journal and report.
pub const BISECT: &str = "bisect.json";
/// The name of a nightly run's.
pub const NIGHTLY: &str = "nightly.json";

/// A folder that holds one run.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Makes the folder the user names, or a new one below `report/` of the working directory.
    ///
    /// # Errors
    /// When it cannot be made, or the named one holds something that is no earlier report.
    pub fn make(named: Option<&Path>, stamp: &str, what: &str) -> Result<Self> {
        let path = match named {
            Some(path) => {
                let earlier =
                    [REPORT, BACKTEST, LEDGER, BISECT, NIGHTLY].iter().any(|name| path.join(name).exists());
                let foreign = path.is_dir() && !earlier && fs::read_dir(path)?.next().is_some();
                if path.is_file() || foreign {
                    return Err(BadInput(format!(
                        "failed to use {} for the report: it exists and holds something else; name a new or empty folder",
                        path.display()
                    ))
                    .into());
                }
                path.to_owned()
            }
            None => unused(&Path::new("report").join(format!("{stamp}-{what}"))),
        };
        fs::create_dir_all(&path).with_context(|| format!("failed to make {}", path.display()))?;
        let path = path.canonicalize().with_context(|| format!("failed to find {}", path.display()))?;
        Ok(Self(path))
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Where the report lies.
    #[must_use]
    pub fn report(&self) -> PathBuf {
        self.0.join(REPORT)
    }

    /// Writes the report whole or not at all.
    ///
    /// # Errors
    /// When the disk does not take it; the last report stays.
    pub fn write(&self, report: &Report) -> Result<()> {
        self.write_as(REPORT, report)
    }

    /// Writes a report of any kind whole or not at all.
    ///
    /// # Errors
    /// When the disk does not take it; the last report stays.
    pub fn write_as(&self, name: &str, report: &impl Serialize) -> Result<()> {
        let text = serde_json::to_vec_pretty(report).context("failed to write the report as JSON")?;
        self.replace(name, &text)
    }

    /// Writes a file whole or not at all.
    ///
    /// # Errors
    /// When the disk does not take it; the last one of that name stays.
    pub fn replace(&self, name: &str, content: &[u8]) -> Result<()> {
        let place = self.0.join(name);
        let mut file = tempfile::NamedTempFile::new_in(&self.0)
            .with_context(|| format!("failed to make a file in {}", self.0.display()))?;
        file.write_all(content)
            .and_then(|()| file.as_file().sync_all())
            .with_context(|| format!("failed to write {}", place.display()))?;
        file.persist(&place).with_context(|| format!("failed to write {}", place.display()))?;
        Ok(())
    }

    /// A folder in it, made.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn inner(&self, name: &str) -> Result<PathBuf> {
        let path = self.0.join(name);
        fs::create_dir_all(&path).with_context(|| format!("failed to make {}", path.display()))?;
        Ok(path)
    }

    /// Copies a file into the folder under a name.
    ///
    /// # Errors
    /// When it cannot be read or written.
    pub fn keep(&self, file: &Path, name: &str) -> Result<()> {
        let to = self.0.join(name);
        fs::copy(file, &to)
            .with_context(|| format!("failed to copy {} to {}", file.display(), to.display()))?;
        Ok(())
    }

    /// Writes a file into the folder.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn put(&self, name: &str, content: &[u8]) -> Result<()> {
        let to = self.0.join(name);
        fs::write(&to, content).with_context(|| format!("failed to write {}", to.display()))
    }
}

/// The path itself, or with the first number behind it that is not taken.
fn unused(path: &Path) -> PathBuf {
    let mut candidate = path.to_owned();
    let mut number = 2;
    while candidate.exists() {
        candidate = PathBuf::from(format!("{}-{number}", path.display()));
        number += 1;
    }
    candidate
}

#[cfg(test)]
mod tests {
    use mthp_judge::report::{Report, Status, SuiteRecord};

    use super::*;

    #[test]
    fn a_killed_run_leaves_a_report_that_says_unfinished() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::make(Some(place.path()), "now", "s").unwrap();
        let suite = SuiteRecord { name: "s".to_owned(), sha256: String::new() };
        folder.write(&Report::unfinished("0", "now", suite)).unwrap();
        let text = fs::read_to_string(folder.report()).unwrap();
        let back: Report = serde_json::from_str(&text).unwrap();
        assert_eq!(back.status, Status::Unfinished);
    }

    #[test]
    fn a_folder_of_other_things_is_left_alone() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("thesis.tex"), "years of work").unwrap();
        assert!(Folder::make(Some(place.path()), "now", "s").is_err());
    }
}
