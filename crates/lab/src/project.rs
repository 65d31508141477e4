//! Where the project's own files are: manifests, patches, fragments and suites.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use mthp_judge::{file::FileError, suite::Suite};
use mthp_kernel::{BadInput, files, manifest::KernelManifest};
use mthp_ledger::{claim::file::Claim, corpus::entry::Entry};

use crate::{
    plan::file::{Known, Nightly},
    selftests,
};

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

    /// Every known bug of `kernels/corpus/`, in the order of their names, with the path of its patch made whole.
    ///
    /// # Errors
    /// When a file is malformed (the error names its line).
    pub fn corpus(&self) -> Result<Vec<Entry>> {
        self.each("kernels/corpus", "toml", |path, name| {
            let text = text_of(path)?;
            let mut entry =
                Entry::parse(name, &text).map_err(|error| malformed("corpus entry", path, &error))?;
            entry.patch = path.with_file_name("").join(&entry.patch);
            exists("corpus entry", path, &entry.patch)?;
            Ok(entry)
        })
    }

    /// The patches of `kernels/patches/harmless/`, in the order of their names.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn harmless(&self) -> Result<Vec<(String, PathBuf)>> {
        self.each("kernels/patches/harmless", "patch", |path, name| Ok((name.to_owned(), path.to_owned())))
    }

    /// Every claim of `configs/claims/`, in the order of their names, with the paths of its patches made whole and the
    /// hash of its file.
    ///
    /// # Errors
    /// When a file is malformed (the error names its line).
    pub fn claims(&self) -> Result<Vec<(Claim, String)>> {
        self.each("configs/claims", "toml", |path, name| {
            let text = text_of(path)?;
            let mut claim = Claim::parse(name, &text).map_err(|error| malformed("claim", path, &error))?;
            for patch in claim.kernels.values_mut().flat_map(|kernel| &mut kernel.patches) {
                *patch = path.with_file_name("").join(&*patch);
                exists("claim", path, patch)?;
            }
            Ok((claim, files::sha256(text.as_bytes())))
        })
    }

    /// The page of all claims, as last recorded.
    #[must_use]
    pub fn ledger(&self) -> PathBuf {
        self.root.join("configs/claims/LEDGER.md")
    }

    /// The page of the last recorded backtest.
    #[must_use]
    pub fn matrix(&self) -> PathBuf {
        self.root.join("kernels/corpus/MATRIX.md")
    }

    /// A kernel of `kernels/`, by name.
    ///
    /// # Errors
    /// When there is none of that name (the error lists those there are) or its file is malformed.
    pub fn kernel(&self, name: &str) -> Result<KernelManifest> {
        let path = self.named("kernels", name, "kernel")?;
        KernelManifest::load(&path)
    }

    /// The names of all kernels.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn kernels(&self) -> Result<Vec<String>> {
        self.each("kernels", "toml", |_, name| Ok(name.to_owned()))
    }

    /// What the nightly run covers: `configs/nightly.toml`.
    ///
    /// # Errors
    /// When the file is malformed (the error names its line).
    pub fn nightly(&self, known: Known<'_>) -> Result<Nightly> {
        let path = self.root.join("configs/nightly.toml");
        let nightly = Nightly::parse(&text_of(&path)?, known);
        nightly.map_err(|error| malformed("nightly run", &path, &error).into())
    }

    /// The names of all suites.
    ///
    /// # Errors
    /// When the folder cannot be listed.
    pub fn suites(&self) -> Result<Vec<String>> {
        self.each("configs/suites", "toml", |_, name| Ok(name.to_owned()))
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
        let suite = Suite::parse(&text).map_err(|error| malformed("suite", &path, &error))?;
        Ok((suite, text))
    }

    /// A workload of `configs/workloads/`, by name: the path of its file.
    ///
    /// # Errors
    /// When there is none of that name (the error lists those there are).
    pub fn workload(&self, name: &str) -> Result<PathBuf> {
        self.named("configs/workloads", name, "workload")
    }

    /// A machine of `configs/machines/`, by name: the path of its file.
    ///
    /// # Errors
    /// When there is none of that name (the error lists those there are).
    pub fn machine(&self, name: &str) -> Result<PathBuf> {
        self.named("configs/machines", name, "machine")
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

    /// What `read` makes of each file of `folder` with that extension, in the order of their names; it gets the path
    /// and the name without the extension.
    fn each<T>(
        &self,
        folder: &str,
        extension: &str,
        mut read: impl FnMut(&Path, &str) -> Result<T>,
    ) -> Result<Vec<T>> {
        let folder = self.root.join(folder);
        let mut paths: Vec<PathBuf> = fs::read_dir(&folder)
            .with_context(|| format!("failed to list {}", folder.display()))?
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.extension().is_some_and(|its| its == extension))
            .collect();
        paths.sort();
        let mut all = Vec::new();
        for path in paths {
            let name = path.file_stem().and_then(|name| name.to_str()).filter(|name| is_name(name));
            let Some(name) = name else {
                return Err(BadInput(format!(
                    "failed to use {}: its name is lower-case letters, digits, - and . at most",
                    path.display()
                ))
                .into());
            };
            all.push(read(&path, name)?);
        }
        Ok(all)
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

fn malformed(what: &str, path: &Path, error: &FileError) -> BadInput {
    BadInput(format!("failed to read the {what} {}: {error}", path.display()))
}

/// Names become folders and keys.
pub(crate) fn is_name(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_lowercase() || first.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-' || byte == b'.')
}

fn text_of(path: &Path) -> Result<String, BadInput> {
    fs::read_to_string(path).map_err(|error| BadInput(format!("failed to read {}: {error}", path.display())))
}

fn exists(what: &str, path: &Path, patch: &Path) -> Result<(), BadInput> {
    if patch.is_file() {
        return Ok(());
    }
    Err(BadInput(format!(
        "failed to read the {what} {}: there is no patch {}",
        path.display(),
        patch.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_nowhere_else() {
        for (name, good) in
            [("k1-align-6.8", true), ("..", false), ("", false), ("a b", false), ("A", false), ("-a", false)]
        {
            assert_eq!(is_name(name), good, "{name:?}");
        }
    }
}
