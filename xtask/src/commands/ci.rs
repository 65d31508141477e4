//! `cargo xtask ci`: what must be green, in the order in which it fails fastest.

use std::{
    ffi::OsStr,
    process::{Command, ExitCode},
    time::Instant,
};

use anyhow::{Context, Result, bail};
use mthp_kernel::{Cache, toolchain::Needs};
use mthp_lab::{Project, workload};
use mthp_workload::Spec;

use crate::{
    cli::{Ci, Common},
    setup, ui,
    validator::{self, Validator},
};

/// The kernels that the tests build.
const KERNELS: &[&str] = &["stock-6.12", "stock-6.1"];

/// The workload that the tests run.
const WORKLOAD: &str = "yolov5";

/// Each is (what it shows, its arguments).
pub(crate) type Step = (&'static str, &'static [&'static str]);

const CHECKS: &[Step] = &[
    ("format", &["fmt", "--all", "--check"]),
    ("lints", &["clippy", "--workspace", "--all-targets", "--locked", "--quiet", "--", "-D", "warnings"]),
];

const STORIES: &[Step] = &[
    ("the demonstration improves", &["xtask", "test-kernel", "--expect", "improved"]),
    (
        "the fix reverted on stock regresses",
        &[
            "xtask",
            "test-kernel",
            "--patch",
            "kernels/patches/k1-align-any-length.patch",
            "--expect",
            "regressed",
        ],
    ),
    (
        "a comment changes nothing",
        &["xtask", "test-kernel", "--patch", "kernels/patches/comment-only.patch", "--expect", "unchanged"],
    ),
    (
        "YOLOv5 sees the bus on both kernels, and its memory moves",
        &[
            "xtask",
            "test-kernel",
            "--suite",
            "yolov5",
            "--test",
            "yolov5/160",
            "--test",
            "yolov5/160-mmap-threshold",
            "--expect",
            "improved",
        ],
    ),
    (
        "modelled caches tell the old rule from the new",
        &[
            "xtask",
            "test-kernel",
            "--suite",
            "cost",
            "--patch",
            "kernels/patches/k1-align-any-length.patch",
            "--expect",
            "mixed",
        ],
    ),
    ("every known bug is caught, and nothing harmless", &["xtask", "backtest"]),
];

pub(crate) const LONG_STORIES: &[Step] = &[
    (
        "every suite at once, three boots a side",
        &["xtask", "test-kernel", "--suite", "all", "--boots", "3", "--expect", "improved"],
    ),
    (
        "every known bug three times, and the kernel twenty times against itself",
        &["xtask", "backtest", "--runs", "3", "--itself", "20"],
    ),
    (
        "the kernel's own selftests agree on both sides of a refactoring",
        &[
            "xtask",
            "test-kernel",
            "--suite",
            "kselftest-mm",
            "--patch",
            "kernels/patches/harmless/mm-extract-helper.patch",
            "--expect",
            "unchanged",
        ],
    ),
    (
        "every scenario of the workload",
        &["xtask", "test-kernel", "--suite", "yolov5", "--test", "yolov5/*", "--expect", "improved"],
    ),
    (
        "linux-source-6.1 works",
        &[
            "xtask",
            "test-kernel",
            "--kernel",
            "stock-6.1",
            "--patch",
            "kernels/patches/align-large-6.1.patch",
            "--expect",
            "mixed",
        ],
    ),
    (
        "200 boots in a row, all equal",
        &["test", "--package", "kernel-tests", "--locked", "--test", "endurance", "--", "--ignored"],
    ),
    (
        "every culprit of a kernel's history, three times; ten kills on the way; only skips around it",
        &["test", "--package", "xtask", "--locked", "--test", "bisect_run", "--", "--ignored"],
    ),
    ("20 kills", &["test", "--package", "xtask", "--locked", "--test", "abrupt_end", "--", "--ignored"]),
];

const TESTS: Step = ("tests", &["test", "--workspace", "--all-targets", "--locked", "--no-fail-fast"]);

/// Runs all of it.
///
/// # Errors
/// At the first step that is not green, and says which command it was.
pub fn run(options: &Ci) -> Result<ExitCode> {
    let project = Project::here()?;
    let mut sources = Vec::new();
    for name in KERNELS {
        sources.push(project.kernel(name)?.source());
    }
    let spec = Spec::read(&project.workload(WORKLOAD)?)?;
    let cache = Cache::open(options.common.cache_dir.as_deref())?;
    // Made anew after the setup: it depends on the Python that is here.
    let validator = || Validator::new(&project, cache.clone());
    let mut needs = Needs {
        sources,
        qemu: options.common.qemu.is_none(),
        selftests: true,
        second_model: true,
        ..setup::of_workload(Some(&spec), &options.common)?
    };
    needs.wheels |= options.common.setup && !validator()?.is_there();
    setup::ensure(&needs, options.common.setup)?;
    if options.common.setup {
        let progress = ui::Progress::new();
        let lab = super::lab(&options.common)?;
        workload::fetch_parts(&lab, &spec, &|event| progress.on(event))?;
        validator()?.install(lab.stop().builds())?;
    }
    let workflows = validator()?.command(&validator::workflows(&project)?)?;
    step(&project, "workflows follow the published schema", workflows)?;
    let long: &[Step] = if options.full { LONG_STORIES } else { &[] };
    for &(what, arguments) in CHECKS.iter().chain(STORIES).chain(long).chain([&TESTS]) {
        step(&project, what, cargo(&options.common, arguments))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn cargo(common: &Common, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.args(arguments);
    if let Some(folder) = &common.cache_dir {
        command.env("MTHP_CACHE_DIR", folder);
    }
    if let Some(qemu) = &common.qemu {
        command.env("MTHP_QEMU", qemu);
    }
    command
}

fn step(project: &Project, what: &str, mut command: Command) -> Result<()> {
    let words: Vec<_> = [command.get_program()].into_iter().chain(command.get_args()).collect();
    ui::say(&format!("ci: {what}: {}", words.join(OsStr::new(" ")).to_string_lossy()));
    let started = Instant::now();
    let failed = || format!("failed at '{what}'");
    let status = command.current_dir(project.root()).status().with_context(failed)?;
    if !status.success() {
        bail!("failed at '{what}': it ended with {status}");
    }
    ui::say(&format!("ci: {what}: passed in {} s", started.elapsed().as_secs()));
    Ok(())
}
