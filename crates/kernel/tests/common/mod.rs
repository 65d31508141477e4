//! A miniature kernel tree: its Makefile knows `allnoconfig` and `vmlinux`, and builds in a second.
#![allow(dead_code, reason = "each test file uses a part of it")]
#![allow(clippy::unwrap_used, reason = "a failed unwrap is a failed test")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Mutex, atomic::AtomicBool},
};

use anyhow::Result;
use mthp_kernel::{
    BuiltKernel, Cache, Event, PatchSeries, PristineTree, Recipe, SourceSpec, build, config::Fragment, fetch,
};
use tempfile::TempDir;

const MAKEFILE: &str = r#"VERSION = 6
PATCHLEVEL = 12
SUBLEVEL = 1
EXTRAVERSION =

# What a test wants to happen at each object; in the world's folder, seen from a tree to build in.
HOOK := ../../../../hook

# As kbuild does: known symbols of the fragment are taken, others are dropped.
allnoconfig:
	@mkdir -p build
	@grep -E '^CONFIG_(A|B)=' "$(KCONFIG_ALLCONFIG)" > build/.config || true

vmlinux: build/a.o build/b.o
	@echo '  LD      vmlinux'
	@cat build/a.o build/b.o > build/vmlinux

build/a.o: $(wildcard mm/a.h)

build/%.o: mm/%.c
	@echo '  CC      $<'
	@if [ -n "$(SLOW)$(shell cat slow 2>/dev/null)" ]; then touch build/slow; sleep 30; fi
	@if [ -f $(HOOK) ]; then target=$@; . $(HOOK); fi
	@if grep -Hn BROKEN $<; then echo '../$<:1:1: error: BROKEN undeclared'; exit 1; fi
	@grep -v '^//' $< > $@

.PHONY: allnoconfig vmlinux
"#;

const KCONFIG: &str = "config A\n\tbool \"a\"\nconfig B\n\tbool \"b\"\n\tdepends on Z\nconfig C\n\tbool \"c\"\n\tdepends on Z\nconfig Z\n\tbool \"z\"\n";

/// A folder with a tree, a cache and fragments.
pub struct World {
    pub folder: TempDir,
    pub tree: PathBuf,
    pub fragment: PathBuf,
    pub stop: AtomicBool,
    pub events: Mutex<Vec<Event>>,
}

impl World {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let tree = folder.path().join("linux");
        fs::create_dir_all(tree.join("mm")).unwrap();
        fs::write(tree.join("Makefile"), MAKEFILE).unwrap();
        fs::write(tree.join("Kconfig"), KCONFIG).unwrap();
        fs::write(tree.join("mm/a.c"), "one\ntwo\nthree\n").unwrap();
        fs::write(tree.join("mm/b.c"), "b\n").unwrap();
        let fragment = folder.path().join("base.config");
        fs::write(&fragment, "CONFIG_A=y\n").unwrap();
        Self { tree, fragment, folder, stop: AtomicBool::new(false), events: Mutex::new(Vec::new()) }
    }

    pub fn cache(&self) -> Cache {
        Cache::open(Some(&self.folder.path().join("cache"))).unwrap()
    }

    pub fn spec(&self) -> SourceSpec {
        SourceSpec::Tree { dir: self.tree.clone(), revision: None, dirty: false }
    }

    pub fn fetch(&self, spec: &SourceSpec) -> Result<PristineTree> {
        fetch(&self.cache(), spec, &|event| self.events.lock().unwrap().push(event), &self.stop)
    }

    pub fn build(&self, patches: &[&str]) -> Result<BuiltKernel> {
        let source = self.fetch(&self.spec())?;
        let patches =
            patches.iter().map(|text| PatchSeries::parse("x.patch", text.as_bytes(), false).unwrap());
        self.build_recipe(&Recipe {
            source: &source,
            patches: patches.collect(),
            fragment: Fragment::read(std::slice::from_ref(&self.fragment))?,
        })
    }

    pub fn build_recipe(&self, recipe: &Recipe<'_>) -> Result<BuiltKernel> {
        build(&self.cache(), recipe, &|event| self.events.lock().unwrap().push(event), &self.stop)
    }

    pub fn saw(&self, test: impl Fn(&Event) -> bool) -> bool {
        self.events.lock().unwrap().iter().any(test)
    }

    /// Puts the tree under git and commits it.
    pub fn commit(&self) {
        git(&self.tree, &["init", "--quiet"]);
        git(&self.tree, &["add", "-A"]);
        git(&self.tree, &["-c", "user.name=x", "-c", "user.email=x@x", "commit", "--quiet", "-m", "x"]);
    }

    /// Writes files of the tree and commits them (none: a deleted one); gives the commit.
    pub fn commit_files(&self, files: &[(&str, Option<&str>)]) -> String {
        for (name, contents) in files {
            let path = self.tree.join(name);
            match contents {
                Some(contents) => fs::write(path, contents).unwrap(),
                None => fs::remove_file(path).unwrap(),
            }
        }
        self.commit();
        self.head()
    }

    /// The commit that is checked out.
    pub fn head(&self) -> String {
        let output =
            Command::new("git").arg("-C").arg(&self.tree).args(["rev-parse", "HEAD"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    pub fn fragment(&self) -> Fragment {
        Fragment::read(std::slice::from_ref(&self.fragment)).unwrap()
    }
}

pub fn git(folder: &Path, arguments: &[&str]) {
    let status = Command::new("git").arg("-C").arg(folder).args(arguments).status().unwrap();
    assert!(status.success(), "git {arguments:?}");
}

/// Names, contents and times of all files under a folder, git's own included.
pub fn snapshot(folder: &Path) -> Vec<(PathBuf, Vec<u8>, std::time::SystemTime)> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let modified = path.symlink_metadata().unwrap().modified().unwrap();
            if path.is_dir() {
                folders.push(path.clone());
                found.push((path, Vec::new(), modified));
            } else {
                let contents = fs::read(&path).unwrap();
                found.push((path, contents, modified));
            }
        }
    }
    found.sort();
    found
}

pub const CHANGE_A: &str = "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";
pub const COMMENT_A: &str = "--- a/mm/a.c\n+++ b/mm/a.c\n@@ -1,3 +1,4 @@\n one\n+// why\n two\n three\n";
pub const BREAK_B: &str = "--- a/mm/b.c\n+++ b/mm/b.c\n@@ -1 +1 @@\n-b\n+BROKEN\n";
pub const SLOW: &str =
    "--- /dev/null\n+++ b/slow\n@@ -0,0 +1 @@\n+yes\n--- a/mm/b.c\n+++ b/mm/b.c\n@@ -1 +1 @@\n-b\n+slow\n";
