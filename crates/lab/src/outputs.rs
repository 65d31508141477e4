//! The report in every form in which its folder has it.

use std::fs;

use anyhow::{Context, Result};
use mthp_judge::{junit, ktap, report::Report};

use crate::folder::{Folder, REPORT};

/// Writes `report.json`, and the same as JUnit and KTAP for other CI systems. A CI that collects these must find an
/// error in them and not an earlier run's result, or none: they are written whenever the report is.
///
/// # Errors
/// When the disk does not take one of them; the last one of that name stays.
pub(crate) fn write(folder: &Folder, report: &Report) -> Result<()> {
    folder.write(report)?;
    let junit = junit::render(report).context("failed to write the report as JUnit")?;
    folder.replace(junit::FILE, junit.as_bytes())?;
    folder.replace(ktap::FILE, ktap::render(report).as_bytes())
}

/// Takes them away: a run that ended well and has nothing to report.
///
/// # Errors
/// When one cannot be removed.
pub(crate) fn remove(folder: &Folder) -> Result<()> {
    for name in [REPORT, junit::FILE, ktap::FILE] {
        let path = folder.path().join(name);
        fs::remove_file(&path).with_context(|| format!("failed to remove {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use mthp_judge::report::{SuiteRecord, Unjudged};

    use super::*;

    #[test]
    fn every_form_says_unfinished_until_a_result_replaces_it() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::make(Some(place.path()), "now", "s").unwrap();
        let suite = SuiteRecord { name: "s".to_owned(), sha256: String::new() };
        let mut report = Report::unfinished("0", "now", suite);
        let says = |what: &str| {
            for name in ["report.json", "junit.xml", "results.ktap"] {
                let text = fs::read_to_string(place.path().join(name)).unwrap();
                assert!(text.contains(what), "{name}: {text}");
            }
        };
        write(&folder, &report).unwrap();
        says("the run did not finish");
        report.give_up(Unjudged::Failed, "failed to build the base kernel");
        write(&folder, &report).unwrap();
        says("failed to build the base kernel");
    }
}
