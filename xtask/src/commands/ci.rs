//! `cargo xtask ci`: what must be green, in the order in which it fails fastest.

use std::{process::ExitCode, time::Instant};

use anyhow::{Context, Result};
use mthp_kernel::toolchain::Needs;
use mthp_lab::{Project, workload};
use mthp_workload::Spec;
use xshell::Shell;

use crate::{
    cli::{Ci, Common},
    setup, ui,
};

/// The kernels that the tests build.
const KERNELS: &[&str] = &["stock-6.12", "stock-6.1"];

/// The workload that the tests run.
const WORKLOAD: &str = "yolov5";

/// Each is (what it shows, its arguments).
type Step = (&'static str, &'static [&'static str]);

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
    ("every known bug is caught, and nothing harmless", &["xtask", "backtest"]),
];

const LONG_STORIES: &[Step] = &[
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
    let needs = Needs {
        sources,
        qemu: options.common.qemu.is_none(),
        selftests: true,
        ..setup::of_workload(Some(&spec), &options.common)?
    };
    setup::ensure(&needs, options.common.setup)?;
    if options.common.setup {
        let progress = ui::Progress::new();
        workload::fetch_parts(&super::lab(&options.common)?, &spec, &|event| progress.on(event))?;
    }
    let long: &[Step] = if options.full { LONG_STORIES } else { &[] };
    for &step in CHECKS.iter().chain(STORIES).chain(long).chain([&TESTS]) {
        cargo(&project, &options.common, step)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn cargo(project: &Project, common: &Common, (what, arguments): Step) -> Result<()> {
    ui::say(&format!("ci: {what}: cargo {}", arguments.join(" ")));
    let started = Instant::now();
    let shell = Shell::new().context("failed to find the working directory")?;
    shell.change_dir(project.root());
    let mut command = shell.cmd("cargo").args(arguments).quiet();
    if let Some(folder) = &common.cache_dir {
        command = command.env("MTHP_CACHE_DIR", folder);
    }
    if let Some(qemu) = &common.qemu {
        command = command.env("MTHP_QEMU", qemu);
    }
    command.run().with_context(|| format!("failed at '{what}'"))?;
    ui::say(&format!("ci: {what}: passed in {} s", started.elapsed().as_secs()));
    Ok(())
}
