//! `kernels/NAME.toml`: which source, and which patches on it.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::{PatchSeries, SourceSpec, error::bad_input};

/// A kernel, as its manifest names it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KernelManifest {
    /// Its name; the same as the file's.
    pub name: String,
    /// What it is, in a sentence.
    pub description: String,
    /// Where its source comes from.
    pub source: ManifestSource,
    /// Patches, relative to the manifest, in the order they are applied.
    #[serde(default)]
    pub patches: Vec<PathBuf>,
}

/// The source of a manifest.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(
    untagged,
    deny_unknown_fields,
    expecting = "a source is { debian = \"linux-source-…\" }, \
    { tarball = \"path or URL\", sha256 = \"…\" } or { git = \"URL or path\", revision = \"…\" }"
)]
pub enum ManifestSource {
    /// A Debian source package; its point release is whatever is installed.
    Debian {
        /// The package, such as `linux-source-6.12`.
        debian: String,
    },
    /// A tarball with a known hash.
    Tarball {
        /// A path (relative to the manifest) or a URL.
        tarball: String,
        /// Its SHA-256, in hexadecimal.
        sha256: String,
    },
    /// A git repository at a revision.
    Git {
        /// A path (relative to the manifest) or a URL.
        git: String,
        /// A commit, tag or branch.
        revision: String,
    },
}

impl KernelManifest {
    /// Reads a manifest; paths in it become absolute or relative to where the caller is.
    ///
    /// # Errors
    /// When it cannot be read, is malformed (the error shows the line), or its name is not its file's
    /// ([`BadInput`](crate::BadInput)).
    pub fn load(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
        let mut manifest = Self::parse(&text)
            .map_err(|error| bad_input(format!("failed to read the manifest {}: {error}", path.display())))?;
        if path.file_stem().is_none_or(|stem| stem != manifest.name.as_str()) {
            return Err(bad_input(format!(
                "failed to read the manifest {}: it says name = \"{}\", which is not the file's",
                path.display(),
                manifest.name
            )));
        }
        let folder = path.parent().unwrap_or(Path::new("."));
        for patch in &mut manifest.patches {
            *patch = folder.join(&*patch);
        }
        match &mut manifest.source {
            ManifestSource::Tarball { tarball: place, .. } | ManifestSource::Git { git: place, .. }
                if !crate::source::is_url(place) =>
            {
                *place = folder.join(&*place).to_string_lossy().into_owned();
            }
            _ => {}
        }
        Ok(manifest)
    }

    /// Parses a manifest's text; paths stay as written.
    ///
    /// # Errors
    /// When it is malformed.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// Its source.
    #[must_use]
    pub fn source(&self) -> SourceSpec {
        match self.source.clone() {
            ManifestSource::Debian { debian } => SourceSpec::Debian { package: debian },
            ManifestSource::Tarball { tarball, sha256 } => SourceSpec::Tarball { place: tarball, sha256 },
            ManifestSource::Git { git, revision } => SourceSpec::Git { place: git, revision },
        }
    }

    /// Its patches, read.
    ///
    /// # Errors
    /// When one cannot be read or is no patch.
    pub fn series(&self) -> Result<Vec<PatchSeries>> {
        self.patches.iter().map(|path| PatchSeries::read(path, false)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_source() {
        for source in [
            r#"{ debian = "linux-source-6.12" }"#,
            r#"{ tarball = "x.tar.xz", sha256 = "00" }"#,
            r#"{ git = "https://example.org/linux", revision = "v6.12" }"#,
        ] {
            let text = format!("name = \"a\"\ndescription = \"b\"\nsource = {source}\n");
            KernelManifest::parse(&text).unwrap();
        }
    }

    #[test]
    fn what_is_not_known_is_an_error_with_its_line() {
        let text = "name = \"a\"\ndescription = \"b\"\nsource = { debian = \"x\" }\npatch = \"p\"\n";
        let error = KernelManifest::parse(text).unwrap_err().to_string();
        assert!(error.contains("line 4") && error.contains("patch"), "{error}");
        let text = "name = \"a\"\ndescription = \"b\"\nsource = { tarball = \"x\" }\n";
        let error = KernelManifest::parse(text).unwrap_err().to_string();
        assert!(error.contains("line 3") && error.contains("sha256"), "{error}");
    }

    #[test]
    fn every_shipped_manifest_is_well_formed() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernels");
        let mut seen = 0;
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "toml") {
                KernelManifest::load(&path).unwrap();
                seen += 1;
            }
        }
        assert!(seen >= 11, "{seen}");
    }
}
