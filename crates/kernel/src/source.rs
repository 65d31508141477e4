//! Kernel sources: fetched once into pristine trees that nothing builds in.

mod download;
mod spec;

use std::{
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use spec::SourceSpec;
pub(crate) use spec::is_url;

use crate::{
    Cache, Event, Events,
    cache::{Kind, writing},
    error::bad_input,
    files, git, process,
};

/// Where a source came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A Debian source package.
    Debian,
    /// A tarball.
    Tarball,
    /// A git repository at a revision.
    Git,
    /// A user's tree, as its files were.
    Tree,
}

/// Exactly which source it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct SourceIdentity {
    /// Where it came from.
    pub kind: SourceKind,
    /// Its name: package, path, URL or folder, with the revision asked for.
    pub what: String,
    /// The version in its Makefile.
    pub version: String,
    /// The package's exact version, for Debian's.
    pub package_version: Option<String>,
    /// A tarball's SHA-256, a commit, or a hash of all files.
    pub hash: String,
}

/// An unpacked source in the cache. Its files are never written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PristineTree {
    /// The tree.
    pub path: PathBuf,
    /// What it is.
    pub identity: SourceIdentity,
    pub(crate) id: String,
}

/// Fetches a source: finds it in the cache, or unpacks, downloads or copies it there.
///
/// # Errors
/// [`BadInput`](crate::BadInput) for what is not there, is no kernel tree, has another hash than it should, or is a
/// user's tree with uncommitted changes that were not asked for; [`Interrupted`](crate::Interrupted); and what
/// tools and the disk fail with.
pub fn fetch(
    cache: &Cache,
    spec: &SourceSpec,
    events: &Events<'_>,
    stop: &AtomicBool,
) -> Result<PristineTree> {
    let fetcher = Fetcher { cache, events, stop };
    match spec {
        SourceSpec::Debian { package } => fetcher.debian(package, Path::new("/usr/src")),
        SourceSpec::Tarball { place, sha256 } => fetcher.tarball(place, sha256),
        SourceSpec::Git { place, revision } if is_url(place) => {
            let repository = download::repository(cache, place, revision, events, stop)?;
            fetcher.commit(&repository, "FETCH_HEAD", SourceKind::Git, format!("{place}@{revision}"))
        }
        SourceSpec::Git { place, revision } => {
            fetcher.commit(Path::new(place), revision, SourceKind::Git, format!("{place}@{revision}"))
        }
        SourceSpec::Tree { dir, revision: Some(revision), .. } => {
            fetcher.commit(dir, revision, SourceKind::Tree, format!("{}@{revision}", dir.display()))
        }
        SourceSpec::Tree { dir, revision: None, dirty } => fetcher.tree(dir, *dirty),
    }
}

struct Fetcher<'a> {
    cache: &'a Cache,
    events: &'a Events<'a>,
    stop: &'a AtomicBool,
}

impl Fetcher<'_> {
    fn debian(&self, package: &str, folder: &Path) -> Result<PristineTree> {
        if package.is_empty()
            || !package.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.+".contains(&byte))
        {
            return Err(bad_input(format!("failed to use '{package}' as a Debian package's name")));
        }
        let tarball = folder.join(format!("{package}.tar.xz"));
        if !tarball.is_file() {
            return Err(bad_input(format!(
                "failed to find {}: install it with: apt-get install {package}",
                tarball.display()
            )));
        }
        let hash = self.known_hash(&tarball, package)?;
        let version = process::capture(Command::new("dpkg-query").args(["-W", "-f", "${Version}", package]))
            .map(|version| String::from_utf8_lossy(&version).into_owned())
            .ok();
        let mut tree = self.unpack(
            &format!("{package}-{}", short(&hash)),
            &tarball,
            SourceKind::Debian,
            package,
            &hash,
        )?;
        tree.identity.package_version = version;
        Ok(tree)
    }

    /// A file's hash, remembered by size and time of change: hashing 150 MB at each start would cost half a second.
    fn known_hash(&self, file: &Path, name: &str) -> Result<String> {
        let metadata = file.metadata().with_context(|| format!("failed to read {}", file.display()))?;
        let stamp = format!("{} {}.{}", metadata.size(), metadata.mtime(), metadata.mtime_nsec());
        let note = self.cache.root().join("downloads").join(format!("{name}.sha256"));
        if let Ok(text) = fs::read_to_string(&note)
            && let Some((known, hash)) = text.trim_end().split_once('\t')
            && known == stamp
            && hash.len() == 64
        {
            return Ok(hash.to_owned());
        }
        (self.events)(Event::Hashing(file.display().to_string()));
        let hash = files::sha256_file(file)?;
        files::replace(&note, format!("{stamp}\t{hash}\n").as_bytes(), 0o644)?;
        Ok(hash)
    }

    fn tarball(&self, place: &str, sha256: &str) -> Result<PristineTree> {
        let wanted = sha256.to_ascii_lowercase();
        if wanted.len() != 64 || !wanted.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(bad_input(format!(
                "failed to use '{sha256}' as a SHA-256: it is not 64 hexadecimal digits"
            )));
        }
        let key = format!("tarball-{}", short(&wanted));
        if let Some(entry) = self.cache.find(Kind::Tree, &key) {
            return finish(&entry, key, SourceKind::Tarball, place.to_owned(), wanted);
        }
        let file = if is_url(place) {
            download::tarball(self.cache, place, &wanted, self.events, self.stop)?
        } else {
            let path = PathBuf::from(place);
            if !path.is_file() {
                return Err(bad_input(format!("failed to find the tarball {place}")));
            }
            (self.events)(Event::Hashing(place.to_owned()));
            download::check(&path, place, &wanted)?;
            path
        };
        self.unpack(&key, &file, SourceKind::Tarball, place, &wanted)
    }

    fn unpack(
        &self,
        key: &str,
        tarball: &Path,
        kind: SourceKind,
        what: &str,
        hash: &str,
    ) -> Result<PristineTree> {
        let made = self.cache.produce(Kind::Tree, key, what, self.events, self.stop, |partial| {
            (self.events)(Event::Unpacking(what.to_owned()));
            let tree = fresh_tree(partial)?;
            let mut tar = Command::new("tar");
            tar.args(["-x", "--no-same-owner", "--strip-components=1", "-f"])
                .arg(tarball)
                .arg("-C")
                .arg(&tree);
            process::run_quiet(&mut tar, self.stop)
                .with_context(|| format!("failed to unpack {}", tarball.display()))?;
            version(&tree, what).map(drop)
        })?;
        finish(&made.path, key.to_owned(), kind, what.to_owned(), hash.to_owned())
    }

    fn commit(
        &self,
        repository: &Path,
        revision: &str,
        kind: SourceKind,
        what: String,
    ) -> Result<PristineTree> {
        if !repository.is_dir() {
            return Err(bad_input(format!("failed to find the repository {}", repository.display())));
        }
        let commit = git::commit(repository, revision).map_err(|error| bad_input(format!("{error:#}")))?;
        let key = format!("git-{commit}");
        let made = self.cache.produce(Kind::Tree, &key, &what, self.events, self.stop, |partial| {
            (self.events)(Event::Unpacking(what.clone()));
            let tree = fresh_tree(partial)?;
            git::unpack(repository, &commit, &tree, self.stop)?;
            version(&tree, &what).map(drop)
        })?;
        finish(&made.path, key, kind, what, commit)
    }

    fn tree(&self, dir: &Path, dirty: bool) -> Result<PristineTree> {
        let what = dir.display().to_string();
        if !dir.is_dir() {
            return Err(bad_input(format!("failed to find the tree {what}")));
        }
        version(dir, &what)?;
        if !git::is_top(dir) {
            if dir.join(".config").exists() || dir.join("include/config").exists() {
                return Err(bad_input(format!(
                    "failed to take {what}: it is not under git and holds a build (.config), which would be taken \
                     as source; run make mrproper in a copy of it"
                )));
            }
            return self.copy(dir, &files::walk(dir)?, what);
        }
        let changes = git::changes(dir)?;
        if changes.is_empty() {
            return self.commit(dir, "HEAD", SourceKind::Tree, what);
        }
        if !dirty {
            let shown: Vec<&str> = changes.iter().take(5).map(String::as_str).collect();
            let more = if changes.len() > shown.len() {
                format!("\n  … and {} more", changes.len() - shown.len())
            } else {
                String::new()
            };
            return Err(bad_input(format!(
                "failed to take {what}: it has changes that are not committed; commit them, name a revision \
                 ({what}@HEAD), or give --dirty to take the files as they are:\n  {}{more}",
                shown.join("\n  ")
            )));
        }
        self.copy(dir, &git::files(dir)?, what)
    }

    /// Copies a user's files; only then is their hash, and so their name in the cache, known.
    fn copy(&self, dir: &Path, names: &[PathBuf], what: String) -> Result<PristineTree> {
        (self.events)(Event::Unpacking(what.clone()));
        let incoming = format!("incoming-{}", std::process::id());
        let _lock = self.cache.lock(Kind::Tree, &incoming, &what, self.events, self.stop)?;
        let staging = self.cache.entry(Kind::Tree, &format!(".partial-{incoming}"));
        self.cache.discard(&staging)?;
        let hash = fresh_tree(&staging).and_then(|tree| files::copy_hashed(dir, &tree, names, self.stop));
        let made = hash.and_then(|hash| {
            let key = format!("tree-{}", short(&hash));
            self.cache
                .produce(Kind::Tree, &key, &what, self.events, self.stop, |partial| {
                    fs::rename(&staging, partial).map_err(|error| writing(error, partial))
                })
                .map(|made| (made, key, hash))
        });
        self.cache.discard(&staging)?;
        let (made, key, hash) = made?;
        finish(&made.path, key, SourceKind::Tree, what, hash)
    }
}

/// Enough of a hash to name a thing, short enough for a path.
pub(crate) fn short(hash: &str) -> &str {
    hash.get(..32).unwrap_or(hash)
}

fn fresh_tree(entry: &Path) -> Result<PathBuf> {
    let tree = entry.join("tree");
    fs::create_dir_all(&tree).map_err(|error| writing(error, &tree))?;
    Ok(tree)
}

fn finish(entry: &Path, id: String, kind: SourceKind, what: String, hash: String) -> Result<PristineTree> {
    let path = entry.join("tree");
    let version = version(&path, &what)?;
    Ok(PristineTree {
        path,
        identity: SourceIdentity { kind, what, version, package_version: None, hash },
        id,
    })
}

/// A kernel tree's own version; what has none is no kernel tree.
fn version(tree: &Path, what: &str) -> Result<String> {
    let not = |why: &str| bad_input(format!("failed to take {what}: it is no kernel tree ({why})"));
    let makefile = fs::read(tree.join("Makefile")).map_err(|_| not("it has no Makefile"))?;
    let version = makefile_version(&String::from_utf8_lossy(&makefile))
        .ok_or_else(|| not("its Makefile has no VERSION and PATCHLEVEL"))?;
    if !tree.join("Kconfig").is_file() {
        return Err(not("it has no Kconfig"));
    }
    Ok(version)
}

pub(crate) fn makefile_version(text: &str) -> Option<String> {
    let value = |name: &str| {
        text.lines().take(20).find_map(|line| {
            let (left, right) = line.split_once('=')?;
            (left.trim() == name).then(|| right.trim().to_owned())
        })
    };
    let (major, minor) = (value("VERSION")?, value("PATCHLEVEL")?);
    let point = value("SUBLEVEL")
        .filter(|point| !point.is_empty())
        .map(|point| format!(".{point}"))
        .unwrap_or_default();
    let extra = value("EXTRAVERSION").unwrap_or_default();
    Some(format!("{major}.{minor}{point}{extra}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_makefile_tells_the_version() {
        let text = "# SPDX\nVERSION = 6\nPATCHLEVEL = 12\nSUBLEVEL = 117\nEXTRAVERSION = -rc1\nNAME = x\n";
        assert_eq!(makefile_version(text).as_deref(), Some("6.12.117-rc1"));
        assert_eq!(makefile_version("VERSION = 7\nPATCHLEVEL = 0\nSUBLEVEL =\n").as_deref(), Some("7.0"));
        assert_eq!(makefile_version("all:\n\ttrue\n"), None);
    }

    #[test]
    fn a_missing_package_names_the_command() {
        let folder = tempfile::tempdir().unwrap();
        let cache = Cache::open(Some(folder.path())).unwrap();
        let stop = AtomicBool::new(false);
        let fetcher = Fetcher { cache: &cache, events: &|_| {}, stop: &stop };
        let error = fetcher.debian("linux-source-6.12", folder.path()).unwrap_err();
        assert!(error.to_string().ends_with("apt-get install linux-source-6.12"), "{error}");
        assert!(fetcher.debian("../x", folder.path()).is_err());
    }
}
