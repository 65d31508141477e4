//! check-jsonschema, a program in Python that ships the published schema of GitHub's workflows.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, bail};
use mthp_kernel::{Cache, cache::Kind, files, process};
use mthp_lab::Project;

/// Its packages, each at one version; in the checkout.
const PACKAGES: &str = "configs/python/check-jsonschema.txt";
/// Where GitHub looks for workflows.
const WORKFLOWS: &str = ".github/workflows";

/// The validator where it is to lie in the cache.
#[derive(Debug)]
pub struct Validator {
    packages: PathBuf,
    key: String,
    cache: Cache,
}

impl Validator {
    /// The one that this checkout asks for, under the Python that is here; it need not be there yet.
    ///
    /// # Errors
    /// When the list of its packages cannot be read.
    pub fn new(project: &Project, cache: Cache) -> Result<Self> {
        let packages = project.root().join(PACKAGES);
        let mut key =
            fs::read(&packages).with_context(|| format!("failed to read {}", packages.display()))?;
        // Compiled modules fit one version of Python. Without Python there is nothing in the cache that could be found.
        key.extend(process::capture(python().arg("--version")).unwrap_or_default());
        Ok(Self { packages, key: files::sha256(&key), cache })
    }

    /// Is it there?
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.cache.find(Kind::Tool, &self.key).is_some()
    }

    /// Brings it by pip, if it is not there. Which index it comes from is pip's configuration.
    ///
    /// # Errors
    /// When pip fails.
    pub fn install(&self, stop: &AtomicBool) -> Result<()> {
        let make = |folder: &Path| {
            let mut pip = python();
            pip.args(["-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]);
            // Into a folder and not a virtual environment: that could not be moved to its final place.
            pip.args(["--no-deps", "--only-binary", ":all:", "--target"]).arg(folder);
            pip.arg("--requirement").arg(&self.packages);
            process::run_quiet(&mut pip, stop).context("failed to install check-jsonschema").map(drop)
        };
        self.cache.produce(Kind::Tool, &self.key, "check-jsonschema", &|_| {}, stop, make).map(drop)
    }

    /// The command that checks these workflows, and prints what is wrong with them.
    ///
    /// # Errors
    /// When the validator is not there; the error says how to get it.
    pub fn command(&self, workflows: &[PathBuf]) -> Result<Command> {
        let Some(folder) = self.cache.find(Kind::Tool, &self.key) else {
            bail!("failed to find check-jsonschema, which checks {WORKFLOWS}\n  fetch it with: --setup");
        };
        let mut command = python();
        command.env("PYTHONPATH", folder);
        command.args(["-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows"]);
        command.args(workflows);
        Ok(command)
    }
}

/// All workflows, sorted, as paths in the checkout; at least one.
///
/// # Errors
/// When they cannot be listed, or there is none.
pub fn workflows(project: &Project) -> Result<Vec<PathBuf>> {
    let folder = project.root().join(WORKFLOWS);
    let failed = || format!("failed to list {}", folder.display());
    let mut workflows = Vec::new();
    for entry in fs::read_dir(&folder).with_context(failed)? {
        let path = entry.with_context(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "yml" || extension == "yaml") {
            workflows.push(Path::new(WORKFLOWS).join(path.file_name().unwrap_or_default()));
        }
    }
    if workflows.is_empty() {
        bail!("failed to find a workflow in {}", folder.display());
    }
    workflows.sort();
    Ok(workflows)
}

/// Python, blind to what the user has installed for themselves.
fn python() -> Command {
    let mut python = Command::new("python3");
    python.arg("-s");
    python
}

#[cfg(test)]
mod tests {
    use super::*;

    fn validator() -> Validator {
        Validator::new(&Project::here().unwrap(), Cache::open(None).unwrap()).unwrap()
    }

    /// What the validator says of a workflow, if it refuses it.
    fn refusal(text: &str) -> Option<String> {
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("broken.yml");
        fs::write(&file, text).unwrap();
        let output = validator().command(&[file]).unwrap().output().unwrap();
        let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        (!output.status.success()).then_some(said)
    }

    #[test]
    fn a_workflow_that_does_not_follow_the_schema_is_refused() {
        let good = "on: push\njobs:\n  a:\n    runs-on: ubuntu-24.04\n    steps:\n      - run: 'true'\n";
        assert_eq!(refusal(good), None);
        for (right, wrong, named) in [
            ("steps:", "stps:", "stps"),
            ("    runs-on: ubuntu-24.04\n", "", "runs-on"),
            ("on: push", "on: pushes", "pushes"),
            ("run: 'true'", "run: [true]", "$.jobs.a"),
            ("jobs:", "jobs: [", "broken.yml"),
        ] {
            let said = refusal(&good.replace(right, wrong)).unwrap_or_else(|| panic!("{wrong} is accepted"));
            assert!(said.contains(named), "{wrong}: {said}");
        }
    }

    #[test]
    fn where_it_is_missing_the_way_to_get_it_is_told() {
        let place = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(place.path())).unwrap();
        let validator = Validator::new(&Project::here().unwrap(), cache).unwrap();
        assert!(!validator.is_there());
        let error = validator.command(&[]).unwrap_err().to_string();
        assert!(error.contains("check-jsonschema") && error.contains("--setup"), "{error}");
    }
}
