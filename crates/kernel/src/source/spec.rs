//! What a source may be, and how a user writes one.

use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::error::bad_input;

/// Which source is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SourceSpec {
    /// A Debian source package, whichever point release is installed.
    Debian {
        /// The package, such as `linux-source-6.12`.
        package: String,
    },
    /// A tarball with a known hash.
    Tarball {
        /// A path or a URL.
        place: String,
        /// Its SHA-256, in hexadecimal.
        sha256: String,
    },
    /// A git repository at a revision.
    Git {
        /// A path or a URL. From a URL a revision is fetched once and then kept.
        place: String,
        /// A commit, tag or branch.
        revision: String,
    },
    /// The user's own tree: read, never written.
    Tree {
        /// Its folder.
        dir: PathBuf,
        /// A commit, tag or branch of it, in place of the files as they are.
        revision: Option<String>,
        /// Whether files that differ from the commit are wanted as they are.
        dirty: bool,
    },
}

impl SourceSpec {
    /// A user's tree written as `DIR` or `DIR@REV`. A folder whose own name has an `@` is taken as a folder.
    ///
    /// # Errors
    /// [`BadInput`](crate::BadInput) when a part is empty, or both a revision and `dirty` are given.
    pub fn parse_tree(text: &str, dirty: bool) -> Result<Self> {
        let (dir, revision) = match text.rsplit_once('@') {
            Some((dir, revision)) if !Path::new(text).is_dir() => (dir, Some(revision)),
            _ => (text, None),
        };
        if dir.is_empty() || revision == Some("") {
            return Err(bad_input(format!("failed to use '{text}' as a tree: DIR or DIR@REV is expected")));
        }
        if dirty && revision.is_some() {
            return Err(bad_input(format!(
                "failed to use '{text}' with --dirty: a revision has no uncommitted changes; leave one out"
            )));
        }
        Ok(Self::Tree { dir: PathBuf::from(dir), revision: revision.map(str::to_owned), dirty })
    }
}

/// Whether a place is a URL and not a path.
pub(crate) fn is_url(place: &str) -> bool {
    place.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(dir: &str, revision: Option<&str>) -> SourceSpec {
        SourceSpec::Tree { dir: dir.into(), revision: revision.map(str::to_owned), dirty: false }
    }

    #[test]
    fn a_revision_follows_the_last_at() {
        assert_eq!(SourceSpec::parse_tree("/no/linux", false).unwrap(), tree("/no/linux", None));
        assert_eq!(
            SourceSpec::parse_tree("/no/linux@v6.12", false).unwrap(),
            tree("/no/linux", Some("v6.12"))
        );
        assert_eq!(SourceSpec::parse_tree("/no/a@b@v1", false).unwrap(), tree("/no/a@b", Some("v1")));
        assert!(SourceSpec::parse_tree("@v1", false).is_err());
        assert!(SourceSpec::parse_tree("/no/linux@", false).is_err());
        assert!(SourceSpec::parse_tree("/no/linux@v1", true).is_err());
    }

    #[test]
    fn a_folder_with_an_at_in_its_name_is_a_folder() {
        let folder = tempfile::Builder::new().prefix("a@b").tempdir().unwrap();
        let name = folder.path().to_str().unwrap();
        assert_eq!(SourceSpec::parse_tree(name, false).unwrap(), tree(name, None));
    }
}
