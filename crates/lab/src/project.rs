//! Where the project's own files are: manifests, patches, fragments and suites.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use mthp_judge::suite::Suite;
use mthp_kernel::{BadInput, manifest::KernelManifest};

use crate::selftests;

/// The checkout.
#[derive(Clone, Debug)]
pub struct Project {
    root: PathBuf,
}

impl Project {
    /// The checkout this program was built from.
    ///
    /// # Errors
    /// When it is not there any more.
    pub fn here() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let root = root.canonicalize().with_context(|| format!("failed to find {}", root.display()))?;
        Ok(Self { root })
    }

    /// Its top folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// A shipped patch, by its file's name in `kernels/patches`.
    #[must_use]
    pub fn patch(&self, name: &str) -> PathBuf {
        self.root.join("kernels/patches").join(name)
    }

    /// A kernel of `kernels/`, by name.
    ///
    /// # Errors
    /// When there is none of that name (the error lists those there are) or its file is malformed.
    pub fn kernel(&self, name: &str) -> Result<KernelManifest> {
        let path = self.named("kernels", name, "kernel")?;
        KernelManifest::load(&path)
    }

    /// A suite of `configs/suites/`, by name, with the gates of the suites that it names, and the texts of all these
    /// files.
    ///
    /// # Errors
    /// When there is none of that name (the error lists those there are) or its file is malformed.
    pub fn suite(&self, name: &str) -> Result<(Suite, String)> {
        let (mut suite, mut text) = self.suite_file(name)?;
        for other in suite.gates_of.clone() {
            let (other, more) = self.suite_file(&other).with_context(|| format!("gates_of of {name}"))?;
            suite.gates.extend(other.gates);
            text.push_str(&more);
        }
        Ok((suite, text))
    }

    fn suite_file(&self, name: &str) -> Result<(Suite, String)> {
        let path = self.named("configs/suites", name, "suite")?;
        let text = fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
        let suite = Suite::parse(&text)
            .map_err(|error| BadInput(format!("failed to read the suite {}: {error}", path.display())))?;
        Ok((suite, text))
    }

    /// A workload of `configs/workloads/`, by name: the path of its file.
    ///
    /// # Errors
    /// When there is none of that name (the error lists those there are).
    pub fn workload(&self, name: &str) -> Result<PathBuf> {
        self.named("configs/workloads", name, "workload")
    }

    /// A list of selftests of `configs/selftests/`, by name.
    ///
    /// # Errors
    /// When there is none of that name (the error lists those there are) or its file is malformed.
    pub fn selftests(&self, name: &str) -> Result<selftests::Spec> {
        let path = self.named("configs/selftests", name, "list of selftests")?;
        let text = fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
        let spec = selftests::Spec::parse(&text)
            .map_err(|error| BadInput(format!("failed to read the selftests {}: {error}", path.display())))?;
        Ok(spec)
    }

    /// The kconfig fragments of those names.
    #[must_use]
    pub fn fragments(&self, names: &[String]) -> Vec<PathBuf> {
        names.iter().map(|name| self.root.join("configs/kconfig").join(format!("{name}.config"))).collect()
    }

    fn named(&self, folder: &str, name: &str, what: &str) -> Result<PathBuf> {
        let folder = self.root.join(folder);
        let mut known: Vec<String> = fs::read_dir(&folder)
            .with_context(|| format!("failed to list {}", folder.display()))?
            .filter_map(|entry| {
                let name = entry.ok()?.file_name().into_string().ok()?;
                Some(name.strip_suffix(".toml")?.to_owned())
            })
            .collect();
        known.sort();
        if !known.iter().any(|one| one == name) {
            let known = known.join(", ");
            return Err(
                BadInput(format!("failed to find a {what} named '{name}'; there are: {known}")).into()
            );
        }
        Ok(folder.join(format!("{name}.toml")))
    }
}
