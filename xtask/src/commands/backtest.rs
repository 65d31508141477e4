//! `cargo xtask backtest`: what the suite catches, and what it leaves alone.

use std::{fs, process::ExitCode};

use anyhow::{Context, Result, bail};
use mthp_judge::exit;
use mthp_kernel::toolchain::Needs;
use mthp_lab::{Project, backtest};
use mthp_ledger::corpus::{markdown, text};

use crate::{
    cli::{Backtest, Format},
    setup,
    ui::{self, Progress},
};

/// The page in the report's folder.
const MATRIX: &str = "matrix.md";

/// Builds, boots, compares, and prints the matrix.
///
/// # Errors
/// When a file is malformed, a name is not known, or the machinery failed.
pub fn run(options: &Backtest) -> Result<ExitCode> {
    let project = Project::here()?;
    let mut sources = vec![project.kernel(backtest::KERNEL)?.source()];
    for bug in project.corpus()? {
        sources.push(project.kernel(&bug.kernel)?.source());
    }
    sources.dedup();
    let needs = Needs { sources, qemu: options.common.qemu.is_none(), ..Needs::default() };
    setup::ensure(&needs, options.common.setup)?;
    let lab = super::lab(&options.common)?;
    let progress = Progress::new();
    let request = backtest::Request {
        only: options.only.clone(),
        runs: options.runs,
        itself: options.itself,
        accel: options.accel,
        folder: options.report.clone(),
    };
    let finished = backtest::run(&lab, &request, &|event| progress.on(event))?;
    let found = &finished.backtest;
    let page = markdown::render(found);
    finished.folder.put(MATRIX, page.as_bytes())?;
    if options.record {
        if !found.is_right() {
            bail!(
                "failed to record the matrix: not all is as it should be; see {}",
                finished.folder.path().display()
            );
        }
        let place = project.matrix();
        fs::write(&place, &page).with_context(|| format!("failed to write {}", place.display()))?;
    }
    match options.format {
        Format::Text => ui::answer(&text::render(found, &finished.folder.path().display().to_string())),
        Format::Markdown => ui::answer(&page),
        Format::Json => ui::answer(&serde_json::to_string_pretty(found)?),
    }
    let code = match found.untried().next() {
        Some(_) => exit::MACHINERY,
        None if found.is_broken() => exit::MACHINERY,
        None if found.is_right() => exit::OK,
        None => exit::REGRESSED,
    };
    Ok(ExitCode::from(code))
}
