//! The selftests of a tree: `tools/testing/selftests/GROUP`, linked statically, for a guest without a C library.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};

use super::{
    log::why_not_built,
    make::{Make, link_tree},
    truncate,
};
use crate::{
    BuildFailed, Cache, Event, Events, PatchSeries, PristineTree,
    build::first_errors,
    cache::{Kind, writing},
    error::bad_input,
    files,
    patch::{self, Changes},
    process,
    source::short,
    toolchain::Toolchain,
};

/// Part of every key: counts up when the way of building changes.
const RECIPE_VERSION: &str = "1";
/// Where selftests lie in a tree.
const SELFTESTS: &str = "tools/testing/selftests";
/// Libraries that some programs want; whichever is here goes into the key.
const LIBRARIES: [&str; 4] = ["libc.a", "libcap.a", "libnuma.a", "liburing.a"];
const LIST: &str = "selftests.json";
const PROGRAMS: &str = "programs";
const LOG: &str = "build.log";

/// The programs of a folder of selftests, in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selftests {
    /// The entry's key: the hash over all that went in.
    pub key: String,
    /// Where the programs lie.
    pub folder: PathBuf,
    /// The log of their build.
    pub log: PathBuf,
    /// What was built, sorted by name.
    pub built: Vec<Program>,
    /// What the tree's Makefile names and could not be built here.
    pub failed: Vec<Unbuilt>,
}

/// A program that was built.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// Its file's name.
    pub name: String,
    /// Its size.
    pub bytes: u64,
    /// Its SHA-256.
    pub sha256: String,
}

/// A program that was not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Unbuilt {
    /// Its file's name.
    pub name: String,
    /// The compiler's first words about it.
    pub why: String,
}

/// What is kept beside the programs.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    built: Vec<Program>,
    failed: Vec<Unbuilt>,
}

/// Builds the selftests of the first of `groups` that the tree has, or finds them built. The tree is cloned: what
/// is written by a build never reaches it.
///
/// # Errors
/// [`BadInput`](crate::BadInput) for missing tools and a tree without such a folder;
/// [`PatchError`](crate::PatchError); [`BuildFailed`](crate::BuildFailed) where not one program could be built;
/// [`Interrupted`](crate::Interrupted); and what the disk fails with.
pub fn selftests(
    cache: &Cache,
    source: &PristineTree,
    patches: &[PatchSeries],
    groups: &[String],
    events: &Events<'_>,
    stop: &AtomicBool,
) -> Result<Selftests> {
    let toolchain = Toolchain::check()?;
    let changes = patch::apply(&source.path, patches)?;
    let Some(group) = groups.iter().find(|group| source.path.join(SELFTESTS).join(group).is_dir()) else {
        return Err(bad_input(format!(
            "failed to find {SELFTESTS}/{} in {}",
            groups.join(" or "),
            source.identity.what
        )));
    };
    let key = key(source, &changes, group, &toolchain)?;
    let what = format!("the selftests {group} of {}", source.identity.what);
    let made = cache.produce(Kind::Selftests, &key, &what, events, stop, |partial| {
        // Beside the entry and under the same lock: the path is the same for everyone, as with kernels.
        let work = cache.entry(Kind::Work, &format!("selftests-{key}"));
        let _lock = cache.lock(Kind::Work, &format!("selftests-{key}"), &what, events, stop)?;
        cache.discard(&work)?;
        fs::create_dir(&work).map_err(|error| writing(error, &work))?;
        let log = cache.logs().join(format!("selftests-{key}.log"));
        truncate(&log)?;
        let tree = work.join("tree");
        events(Event::Cloning);
        link_tree(&source.path, &tree, stop)?;
        changes.write(&tree)?;
        let make = Make { tree: &tree, log: &log, ccache: false, cache, lock: None, events, stop };
        let list = make_all(&make, group, partial)?;
        write_list(&list, partial)?;
        files::move_file(&log, &partial.join(LOG))?;
        cache.discard(&work)
    })?;
    open(&made.path, key)
}

/// What matters of a patch: a change of a function in `mm/` builds no other program.
fn matters(path: &str) -> bool {
    const FOLDERS: [&str; 5] = ["tools/", "usr/", "scripts/", "include/uapi/", "arch/x86/entry/syscalls/"];
    path == "Makefile"
        || path.ends_with(".h")
        || path.ends_with("/Kbuild")
        || FOLDERS.iter().any(|folder| path.starts_with(folder))
}

fn key(source: &PristineTree, changes: &Changes, group: &str, toolchain: &Toolchain) -> Result<String> {
    let mut parts =
        vec![RECIPE_VERSION.to_owned(), source.id.clone(), toolchain.version.clone(), group.to_owned()];
    for library in LIBRARIES {
        let path = process::capture(Command::new("gcc").arg(format!("-print-file-name={library}")))?;
        let path = String::from_utf8_lossy(&path).trim().to_owned();
        // The bare name is the answer for a library that is not here.
        let hash =
            if Path::new(&path).is_file() { files::sha256_file(Path::new(&path))? } else { String::new() };
        parts.push(format!("{library} {hash}"));
    }
    for path in changes.paths().filter(|path| matters(path)) {
        parts.push(format!("{path} {}", changes.sha256(path).unwrap_or_default()));
    }
    Ok(short(&files::sha256(parts.join("\0").as_bytes())).to_owned())
}

fn make_all(make: &Make<'_>, group: &str, partial: &Path) -> Result<List> {
    let programs = partial.join(PROGRAMS);
    fs::create_dir_all(&programs).map_err(|error| writing(error, &programs))?;
    (make.events)(Event::Building { done: 0, expected: None });
    make.headers()?;
    let names = make.selftest_names(group, &programs)?;
    make.selftests(group, &programs)?;
    let log = fs::read(make.log).with_context(|| format!("failed to read {}", make.log.display()))?;
    let log = String::from_utf8_lossy(&log);
    let mut list = List { built: Vec::new(), failed: Vec::new() };
    for name in names {
        let path = programs.join(&name);
        if !path.is_file() {
            list.failed.push(Unbuilt { why: why_not_built(&log, &name), name });
            continue;
        }
        let bytes = path.metadata().with_context(|| format!("failed to read {}", path.display()))?.len();
        list.built.push(Program { bytes, sha256: files::sha256_file(&path)?, name });
    }
    if list.built.is_empty() {
        return Err(BuildFailed { first_errors: first_errors(&log), log: make.log.to_owned() }.into());
    }
    Ok(list)
}

fn write_list(list: &List, partial: &Path) -> Result<()> {
    let path = partial.join(LIST);
    let text = serde_json::to_vec_pretty(list).context("failed to write down what was built")?;
    fs::write(&path, text).map_err(|error| writing(error, &path))
}

fn open(entry: &Path, key: String) -> Result<Selftests> {
    let path = entry.join(LIST);
    let failed = || format!("failed to read {}", path.display());
    let List { built, failed: unbuilt } =
        serde_json::from_slice(&fs::read(&path).with_context(failed)?).with_context(failed)?;
    Ok(Selftests { key, folder: entry.join(PROGRAMS), log: entry.join(LOG), built, failed: unbuilt })
}

impl Selftests {
    /// A program's bytes, if it was built.
    ///
    /// # Errors
    /// When it cannot be read, or was altered after it was built.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let Some(program) = self.built.iter().find(|program| program.name == name) else { return Ok(None) };
        let path = self.folder.join(name);
        let bytes = fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?;
        if files::sha256(&bytes) != program.sha256 {
            bail!("failed to use {}: it was altered after it was built; delete its folder", path.display());
        }
        Ok(Some(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_programs_are_made_of_matters() {
        for path in [
            "tools/testing/selftests/mm/mremap_test.c",
            "include/uapi/linux/mman.h",
            "mm/gup_test.h",
            "Makefile",
            "scripts/headers_install.sh",
        ] {
            assert!(matters(path), "{path}");
        }
        for path in ["mm/mmap.c", "mm/Makefile", "Documentation/mm/ksm.rst", "fs/userfaultfd.c"] {
            assert!(!matters(path), "{path}");
        }
    }
}
