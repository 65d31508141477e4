//! What must be on the machine, and which package brings it, on five families of distributions.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::Result;

use crate::{SourceSpec, error::bad_input, process, source::is_url};

/// What a run is going to do. Kernels are built in any case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// The sources it takes.
    pub sources: Vec<SourceSpec>,
    /// Whether QEMU is looked for in `PATH`.
    pub qemu: bool,
    /// Whether a workload's disk is built.
    pub disk: bool,
    /// Whether Python packages are fetched.
    pub wheels: bool,
    /// Whether a kernel's selftests are built.
    pub selftests: bool,
    /// Whether the model of caches is compared with another one, valgrind's, as its own tests do.
    pub second_model: bool,
}

/// Something that is not there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// What is missing, as a person calls it.
    pub what: String,
    packages: [String; 5],
}

/// The package managers of the table, in the order of its columns, with the command that installs.
const MANAGERS: [(&str, &str); 5] = [
    ("apt-get", "apt-get install"),
    ("dnf", "dnf install"),
    ("pacman", "pacman -S"),
    ("zypper", "zypper install"),
    ("apk", "apk add"),
];

/// How to find out whether something is there.
#[derive(Clone, Copy, Debug)]
enum Probe {
    /// A program in `PATH`.
    Program(&'static str),
    /// A header in one of the usual folders.
    Header(&'static str),
    /// A library to link with, which the compiler finds.
    Library(&'static str),
    /// A module that Python runs. Debian has the interpreter without it.
    Module(&'static str),
}

struct Tool {
    what: &'static str,
    probe: Probe,
    packages: [&'static str; 5],
}

const fn tool(what: &'static str, probe: Probe, packages: [&'static str; 5]) -> Tool {
    Tool { what, probe, packages }
}

const fn program(name: &'static str, packages: [&'static str; 5]) -> Tool {
    tool(name, Probe::Program(name), packages)
}

const BUILD: &[Tool] = &[
    program("make", ["make"; 5]),
    program("gcc", ["gcc"; 5]),
    program("ld", ["binutils"; 5]),
    program("flex", ["flex"; 5]),
    program("bison", ["bison"; 5]),
    program("bc", ["bc"; 5]),
    program("perl", ["perl"; 5]),
    program("tar", ["tar"; 5]),
    program("xz", ["xz-utils", "xz", "xz", "xz", "xz"]),
    tool(
        "libelf's headers",
        Probe::Header("libelf.h"),
        ["libelf-dev", "elfutils-libelf-devel", "libelf", "libelf-devel", "elfutils-dev"],
    ),
    tool(
        "the C library's headers",
        Probe::Header("stdlib.h"),
        ["libc6-dev", "glibc-devel", "glibc", "glibc-devel", "musl-dev"],
    ),
];

const QEMU: Tool = program(
    "qemu-system-x86_64",
    ["qemu-system-x86", "qemu-system-x86-core", "qemu-system-x86", "qemu-x86", "qemu-system-x86_64"],
);
const MKSQUASHFS: Tool = program(
    "mksquashfs",
    ["squashfs-tools", "squashfs-tools", "squashfs-tools", "squashfs", "squashfs-tools"],
);
const PIP: Tool = tool(
    "python3 -m pip",
    Probe::Module("pip"),
    ["python3-pip", "python3-pip", "python-pip", "python3-pip", "py3-pip"],
);
const STATIC_LIBC: Tool = tool(
    "the C library to link statically with",
    Probe::Library("libc.a"),
    ["libc6-dev", "glibc-static", "glibc", "glibc-devel-static", "musl-dev"],
);
const VALGRIND: Tool = program("valgrind", ["valgrind"; 5]);
const CURL: Tool = program("curl", ["curl"; 5]);
const GIT: Tool = program("git", ["git"; 5]);

/// All that is missing for this.
#[must_use]
pub fn missing(needs: &Needs) -> Vec<Missing> {
    let mut tools: Vec<&Tool> = BUILD.iter().collect();
    if needs.qemu {
        tools.push(&QEMU);
    }
    if needs.disk {
        tools.push(&MKSQUASHFS);
    }
    if needs.wheels {
        tools.push(&PIP);
    }
    if needs.selftests {
        tools.push(&STATIC_LIBC);
    }
    if needs.second_model {
        tools.push(&VALGRIND);
    }
    let is = |kind: fn(&SourceSpec) -> bool| needs.sources.iter().any(kind);
    if is(|source| matches!(source, SourceSpec::Tarball { place, .. } if is_url(place))) {
        tools.push(&CURL);
    }
    if is(|source| matches!(source, SourceSpec::Git { .. } | SourceSpec::Tree { .. })) {
        tools.push(&GIT);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    let mut missing: Vec<Missing> = tools
        .into_iter()
        .filter(|tool| !match tool.probe {
            Probe::Program(name) => find(&folders, name).is_some(),
            Probe::Header(name) => has_header(name),
            Probe::Library(name) => has_library(name),
            Probe::Module(name) => runs_module(name),
        })
        .map(|tool| Missing { what: tool.what.to_owned(), packages: tool.packages.map(str::to_owned) })
        .collect();
    for source in &needs.sources {
        let SourceSpec::Debian { package } = source else { continue };
        if !Path::new("/usr/src").join(format!("{package}.tar.xz")).is_file() {
            let packages = [package.as_str(), "", "", "", ""].map(str::to_owned);
            missing.push(Missing { what: format!("the kernel source {package}"), packages });
        }
    }
    missing
}

/// The Debian packages that bring what is missing.
#[must_use]
pub fn debian_packages(missing: &[Missing]) -> Vec<String> {
    packages(missing, 0)
}

/// What is missing, and the command that installs it here (or, on an unknown distribution, on those known).
#[must_use]
pub fn advice(missing: &[Missing]) -> String {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = env::split_paths(&path).collect();
    advice_for(missing, |manager| find(&folders, manager).is_some())
}

fn advice_for(missing: &[Missing], has: impl Fn(&str) -> bool) -> String {
    let what: Vec<&str> = missing.iter().map(|one| one.what.as_str()).collect();
    let mut text = format!("failed to find {}", what.join(", "));
    let here = MANAGERS.iter().position(|(manager, _)| has(manager));
    for (column, (_, command)) in MANAGERS.iter().enumerate() {
        let packages = packages(missing, column);
        if here.is_none_or(|here| here == column) && !packages.is_empty() {
            text.push_str(&format!("\n  install with: {command} {}", packages.join(" ")));
        }
    }
    if here.is_some_and(|here| here != 0) && missing.iter().any(|one| one.packages[1].is_empty()) {
        text.push_str(
            "\n  linux-source-… is a Debian package; elsewhere, name a tarball or a git revision in a manifest of \
             kernels/, or give --tree",
        );
    }
    text
}

fn packages(missing: &[Missing], column: usize) -> Vec<String> {
    let mut packages: Vec<String> = missing
        .iter()
        .filter_map(|one| one.packages.get(column))
        .filter(|name| !name.is_empty())
        .cloned()
        .collect();
    packages.sort();
    packages.dedup();
    packages
}

/// A program in folders, as a shell finds it.
pub(crate) fn find(folders: &[PathBuf], name: impl AsRef<Path>) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    folders.iter().map(|folder| folder.join(name.as_ref())).find(|path| {
        fs::metadata(path)
            .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
    })
}

fn has_header(name: &str) -> bool {
    ["/usr/include", "/usr/local/include", "/usr/include/x86_64-linux-gnu"]
        .iter()
        .any(|folder| Path::new(folder).join(name).is_file())
}

/// The compiler answers with the bare name for what it does not find.
fn has_library(name: &str) -> bool {
    process::capture(Command::new("gcc").arg(format!("-print-file-name={name}")))
        .is_ok_and(|path| String::from_utf8_lossy(&path).trim() != name)
}

fn runs_module(name: &str) -> bool {
    process::capture(Command::new("python3").args(["-m", name, "--version"])).is_ok()
}

/// What compiles kernels here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toolchain {
    /// The compiler's and the linker's own words about their versions.
    pub version: String,
    /// Whether ccache is used.
    pub ccache: bool,
}

impl Toolchain {
    /// Looks for all that a build needs.
    ///
    /// # Errors
    /// [`BadInput`](crate::BadInput) that lists everything that is missing with the command that installs it.
    pub fn check() -> Result<Self> {
        let missing = missing(&Needs::default());
        if !missing.is_empty() {
            return Err(bad_input(advice(&missing)));
        }
        let first_line = |program: &str| -> Result<String> {
            let text = process::capture(Command::new(program).arg("--version").env("LC_ALL", "C"))?;
            Ok(String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned())
        };
        let path = env::var_os("PATH").unwrap_or_default();
        let folders: Vec<PathBuf> = env::split_paths(&path).collect();
        Ok(Self {
            version: format!("{}; {}", first_line("gcc")?, first_line("ld")?),
            ccache: find(&folders, "ccache").is_some(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn two() -> Vec<Missing> {
        let source = ["linux-source-6.12", "", "", "", ""].map(str::to_owned);
        vec![
            Missing { what: "xz".into(), packages: BUILD[8].packages.map(str::to_owned) },
            Missing { what: "the kernel source linux-source-6.12".into(), packages: source },
        ]
    }

    #[test]
    fn all_at_once_with_the_command_for_this_distribution() {
        let text = advice_for(&two(), |manager| manager == "apt-get");
        assert_eq!(
            text,
            "failed to find xz, the kernel source linux-source-6.12\n  install with: apt-get install linux-source-6.12 xz-utils"
        );
        let text = advice_for(&two(), |manager| manager == "pacman");
        assert!(text.contains("pacman -S xz") && text.contains("--tree"), "{text}");
        assert_eq!(advice_for(&two(), |_| false).lines().count(), 6);
    }

    #[test]
    fn a_module_is_there_if_python_runs_it() {
        assert!(!runs_module("no_such_module"));
    }

    #[test]
    fn a_library_is_there_if_the_compiler_finds_it() {
        assert!(has_library("libgcc.a"));
        assert!(!has_library("libno_such_library.a"));
    }

    #[test]
    fn a_workload_names_its_packages_on_every_distribution() {
        let needed = [MKSQUASHFS, PIP]
            .map(|tool| Missing { what: tool.what.to_owned(), packages: tool.packages.map(str::to_owned) });
        assert_eq!(debian_packages(&needed), ["python3-pip", "squashfs-tools"]);
        let text = advice_for(&needed, |_| false);
        assert!(text.starts_with("failed to find mksquashfs, python3 -m pip\n"), "{text}");
        assert!(text.contains("zypper install python3-pip squashfs"), "{text}");
        assert_eq!(text.lines().count(), 6);
    }

    #[test]
    fn a_package_is_named_once() {
        assert_eq!(debian_packages(&[two(), two()].concat()), ["linux-source-6.12", "xz-utils"]);
    }
}
