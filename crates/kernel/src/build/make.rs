//! `make` in a kernel tree, always in the same way: no variable of the caller's reaches it.

use std::{
    env, ffi::OsString, fs, os::unix::process::ExitStatusExt, path::Path, process::Command,
    sync::atomic::AtomicBool, thread,
};

use anyhow::{Context, Result, bail};

use super::log::{first_errors, is_step};
use crate::{
    BuildFailed, Cache, Event, Events,
    cache::{Lock, writing},
    config::Fragment,
    files,
    process::{self, Spent},
};

/// The output folder in a tree.
pub(crate) const OBJECTS: &str = "build";

/// What of the caller's environment reaches ccache: where objects are shared between machines, as its manual has it
/// (`CCACHE_REMOTE_STORAGE`, such as `file:/srv/ccache` or `redis://host`), whether the local cache is left out
/// (`CCACHE_REMOTE_ONLY`), and whether local results are sent there again (`CCACHE_RESHARE`). Its folder and all else
/// that could change an object is set here.
const CCACHE_VARIABLES: [&str; 3] = ["CCACHE_REMOTE_STORAGE", "CCACHE_REMOTE_ONLY", "CCACHE_RESHARE"];

/// A tree to run make in.
pub(crate) struct Make<'a> {
    pub tree: &'a Path,
    pub log: &'a Path,
    /// Whether ccache is used.
    pub ccache: bool,
    pub cache: &'a Cache,
    /// What all programs that take part hold until the last of them is gone.
    pub lock: Option<&'a Lock>,
    pub events: &'a Events<'a>,
    pub stop: &'a AtomicBool,
}

impl Make<'_> {
    /// Configures: the smallest configuration with a fragment over it, which must hold afterwards.
    pub(crate) fn configure(&self, fragment: &Fragment, scratch: &Path) -> Result<Spent> {
        (self.events)(Event::Configuring);
        let wanted = scratch.join("fragment.config");
        fs::write(&wanted, fragment.text()).map_err(|error| writing(error, &wanted))?;
        let objects = self.tree.join(OBJECTS);
        fs::create_dir_all(&objects).map_err(|error| writing(error, &objects))?;
        let mut make = self.command();
        make.env("KCONFIG_ALLCONFIG", &wanted).arg("allnoconfig");
        let spent = self.run(&mut make, |_| {})?;
        let path = objects.join(".config");
        let config =
            fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
        fragment.check(&config, self.tree)?;
        Ok(spent)
    }

    /// Builds the image from the objects that are there.
    pub(crate) fn vmlinux(&self) -> Result<Spent> {
        self.image(None).map(|(spent, _)| spent)
    }

    /// Builds the image from nothing. How many steps that takes is kept for the next time.
    pub(crate) fn vmlinux_in_full(&self) -> Result<Spent> {
        let steps = self.cache.root().join("roots").join("steps");
        let expected = fs::read_to_string(&steps).ok().and_then(|text| text.trim().parse().ok());
        let (spent, done) = self.image(expected)?;
        files::replace(&steps, done.to_string().as_bytes(), 0o644)?;
        Ok(spent)
    }

    fn image(&self, expected: Option<u64>) -> Result<(Spent, u64)> {
        (self.events)(Event::Building { done: 0, expected });
        let mut make = self.command();
        make.arg("vmlinux");
        let mut done = 0;
        let mut line = Vec::new();
        let spent = self.run(&mut make, |output| {
            let before = done;
            for &byte in output {
                if byte == b'\n' {
                    done += u64::from(is_step(&line));
                    line.clear();
                } else if line.len() < 8 {
                    // Enough to tell; a line may be long.
                    line.push(byte);
                }
            }
            if done != before {
                (self.events)(Event::Building { done, expected });
            }
        })?;
        let image = self.tree.join(OBJECTS).join("vmlinux");
        if !image.is_file() {
            bail!(
                "failed to find {} after a build that succeeded; its log: {}",
                image.display(),
                self.log.display()
            );
        }
        Ok((spent, done))
    }

    /// Makes the headers that programs see, in the build's own folder.
    pub(crate) fn headers(&self) -> Result<Spent> {
        let mut make = self.command();
        make.arg("headers");
        self.run(&mut make, |_| {})
    }

    /// What the Makefile of a folder of selftests builds.
    pub(crate) fn selftest_names(&self, group: &str, output: &Path) -> Result<Vec<String>> {
        let mut make = self.selftest_command(group, output);
        make.args(["--silent", "mthp-names"])
            .arg("--eval=mthp-names: ; @echo $(notdir $(TEST_GEN_PROGS) $(TEST_GEN_PROGS_EXTENDED) $(TEST_GEN_FILES))");
        let text = process::capture(&mut make)?;
        let mut names: Vec<String> = String::from_utf8_lossy(&text)
            .lines()
            .last()
            .unwrap_or_default()
            .split_whitespace()
            .map(str::to_owned)
            .collect();
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Builds a folder of selftests as far as it goes: a program that does not build stops no other.
    pub(crate) fn selftests(&self, group: &str, output: &Path) -> Result<()> {
        let mut make = self.selftest_command(group, output);
        make.args(["--keep-going", "all"]);
        process::run_logged(&mut make, self.log, self.stop, |_| {}).map(drop)
    }

    fn selftest_command(&self, group: &str, output: &Path) -> Command {
        let mut make = self.bare();
        make.arg("-C").arg(self.tree.join("tools/testing/selftests").join(group));
        let headers = self.tree.join("build/usr/include");
        let set = |name: &str, value: &Path| {
            let mut text = OsString::from(format!("{name}="));
            text.push(value);
            text
        };
        let mut include = OsString::from("KHDR_INCLUDES=-isystem ");
        include.push(&headers);
        make.arg(set("OUTPUT", output)).arg(include);
        // Not by LDFLAGS: some rules leave them out. Without symbols a program is a fifth.
        make.args(["ARCH=x86_64", "USERCFLAGS=-static -s"]);
        make
    }

    fn bare(&self) -> Command {
        let mut make = Command::new("make");
        make.current_dir(self.tree).env_clear();
        for name in ["PATH", "HOME", "TMPDIR"] {
            if let Some(value) = env::var_os(name) {
                make.env(name, value);
            }
        }
        make.env("LC_ALL", "C")
            // The image is the same whenever, wherever and by whomever it is built.
            .env("KBUILD_BUILD_TIMESTAMP", "Thu Jan  1 00:00:00 UTC 1970")
            .env("KBUILD_BUILD_USER", "mthp")
            .env("KBUILD_BUILD_HOST", "regress")
            .env("KBUILD_BUILD_VERSION", "1")
            // Or setlocalversion would take a repository around the cache for the kernel's.
            .env("GIT_CEILING_DIRECTORIES", self.cache.root());
        make.arg(format!("-j{}", thread::available_parallelism().map_or(1, std::num::NonZero::get)))
            // A compiler's words stay together in the log.
            .arg("--output-sync=target");
        make
    }

    fn command(&self) -> Command {
        let mut make = self.bare();
        make.args(["O=build", "ARCH=x86_64", "LOCALVERSION="]);
        if self.ccache {
            for name in CCACHE_VARIABLES {
                if let Some(value) = env::var_os(name) {
                    make.env(name, value);
                }
            }
            make.env("CCACHE_DIR", self.cache.root().join("ccache"))
                .env("CCACHE_BASEDIR", self.cache.root())
                // Objects hold no path; those of another tree are as good.
                .env("CCACHE_NOHASHDIR", "1")
                // The compiler lists the headers anyway: no second run of the preprocessor on a miss.
                .env("CCACHE_DEPEND", "1")
                .args(["CC=ccache gcc", "HOSTCC=ccache gcc"]);
        }
        make
    }

    fn run(&self, make: &mut Command, output: impl FnMut(&[u8])) -> Result<Spent> {
        if let Some(lock) = self.lock {
            process::share(make, lock);
        }
        let (status, spent) = process::run_logged(make, self.log, self.stop, output)?;
        if status.success() {
            return Ok(spent);
        }
        if let Some(signal) = status.signal() {
            // Someone killed it, or memory ran out; that says nothing of the kernel.
            bail!("make was ended by signal {signal}; its log: {}", self.log.display());
        }
        let log = fs::read(self.log).with_context(|| format!("failed to read {}", self.log.display()))?;
        let first_errors = first_errors(&String::from_utf8_lossy(&log));
        Err(BuildFailed { first_errors, log: self.log.to_owned() }.into())
    }
}

/// Clones a tree by hard links: its files must then be replaced and never written to.
pub(crate) fn link_tree(from: &Path, to: &Path, stop: &AtomicBool) -> Result<Spent> {
    copy(&["-a", "-l"], from, to, stop)
}

/// Copies objects with their times, by reference where the filesystem can.
pub(crate) fn copy_objects(from: &Path, to: &Path, stop: &AtomicBool) -> Result<Spent> {
    copy(&["-a", "--reflink=auto"], from, to, stop)
}

fn copy(options: &[&str], from: &Path, to: &Path, stop: &AtomicBool) -> Result<Spent> {
    let mut cp = Command::new("cp");
    cp.args(options).arg("--").arg(from).arg(to);
    process::run_quiet(&mut cp, stop).with_context(|| format!("failed to clone {}", from.display()))
}
