//! `cargo xtask reproduce`: does a claim hold?

use std::{fmt::Write as _, fs, process::ExitCode};

use anyhow::{Context, Result};
use mthp_judge::{exit, text::clean};
use mthp_kernel::toolchain::Needs;
use mthp_lab::{Project, reproduce, workload};
use mthp_ledger::claim::{
    file::{Claim, Decision},
    ledger::Ledger,
    markdown,
    plain::{self, MAIL},
};

use crate::{
    cli::{ClaimFormat, Reproduce},
    setup,
    ui::{self, Progress},
};

/// Builds, boots, measures, and prints what became of the claims.
///
/// # Errors
/// When a file is malformed, a name is not known, or the machinery failed.
pub fn run(options: &Reproduce) -> Result<ExitCode> {
    let project = Project::here()?;
    let claims = reproduce::claims(&project, &options.only)?;
    if options.list {
        ui::answer(&list(&claims));
        return Ok(ExitCode::SUCCESS);
    }
    let specs = reproduce::workloads(&project, &claims)?;
    let mut needs = Needs { qemu: options.common.qemu.is_none(), ..Needs::default() };
    for kernel in claims.iter().flat_map(|(claim, _)| claim.kernels.values()) {
        needs.sources.push(project.kernel(&kernel.kernel)?.source());
    }
    for spec in &specs {
        let its = setup::of_workload(Some(spec), &options.common)?;
        needs.disk |= its.disk;
        needs.wheels |= its.wheels;
    }
    setup::ensure(&needs, options.common.setup)?;
    let lab = super::lab(&options.common)?;
    let progress = Progress::new();
    for spec in specs.iter().filter(|_| options.common.setup) {
        workload::fetch_parts(&lab, spec, &|event| progress.on(event))?;
    }
    let request = reproduce::Request {
        only: options.only.clone(),
        boots: options.boots,
        accel: options.accel,
        folder: options.report.clone(),
    };
    let finished = reproduce::run(&lab, &request, &|event| progress.on(event))?;
    let ledger = &finished.ledger;
    for finding in &ledger.findings {
        let mail = plain::render(ledger, finding, MAIL);
        finished.folder.put(&format!("{}.txt", finding.claim.id), mail.as_bytes())?;
    }
    if options.record {
        let place = project.ledger();
        fs::write(&place, markdown::page(ledger))
            .with_context(|| format!("failed to write {}", place.display()))?;
    }
    ui::answer(&answer(ledger, options.format)?);
    if options.format == ClaimFormat::Text {
        ui::answer(&format!("report: {}", finished.folder.path().display()));
    }
    Ok(ExitCode::from(if ledger.is_decided() { exit::OK } else { exit::INCONCLUSIVE }))
}

fn answer(ledger: &Ledger, format: ClaimFormat) -> Result<String> {
    let each = |render: &dyn Fn(&mthp_ledger::claim::ledger::Finding) -> String, between: &str| {
        ledger.findings.iter().map(render).collect::<Vec<_>>().join(between)
    };
    Ok(match format {
        ClaimFormat::Json => serde_json::to_string_pretty(ledger)?,
        ClaimFormat::Markdown => each(&|finding| markdown::render(ledger, finding), "\n"),
        ClaimFormat::Lkml => each(&|finding| plain::render(ledger, finding, MAIL), "\n\n"),
        ClaimFormat::Text if ledger.findings.len() == 1 => {
            each(&|finding| plain::render(ledger, finding, ui::width()), "")
        }
        ClaimFormat::Text => plain::summary(ledger, ui::width()),
    })
}

/// Every claim: its name, what it says, who said it, and what can be done with it here.
fn list(claims: &[(Claim, String)]) -> String {
    let mut out = String::new();
    for (claim, _) in claims {
        let measured =
            claim.parts.iter().filter(|part| matches!(part.decision, Decision::Measured { .. })).count();
        let _ = writeln!(out, "{}\n    {}", clean(&claim.id), clean(&claim.title));
        let _ = writeln!(out, "    {}, {}", clean(&claim.source.who), clean(&claim.source.place));
        let _ = writeln!(out, "    {measured} of {} parts can be measured", claim.parts.len());
    }
    out
}
