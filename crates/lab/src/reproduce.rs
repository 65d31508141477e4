//! Claims made in public: measures what decides them.

mod boots;
mod plan;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use anyhow::Result;
use mthp_judge::report::AcceleratorRecord;
use mthp_kernel::{BadInput, files};
use mthp_ledger::claim::{
    file::Claim,
    find::{self, Boots},
    ledger::{Built, Finding, Ledger},
    measured::Verdict,
};
use mthp_record::job::selects;
use mthp_vm::accel::AccelChoice;
use mthp_workload::Spec;

use self::{
    boots::{Booted, Booter, Images},
    plan::{Key, Place, Suites},
};
use crate::{
    Events, Folder, Lab, Project,
    began::{Began, ending},
    folder::LEDGER,
    guest, host,
    kernels::record as records_of,
};

/// What a user asks for.
#[derive(Clone, Debug)]
pub struct Request {
    /// The claims: names, or prefixes ending in `*`; empty means all.
    pub only: Vec<String>,
    /// Boots of each kernel, if not as the claims say.
    pub boots: Option<u32>,
    /// Which accelerator.
    pub accel: AccelChoice,
    /// The report's folder, if the user names one.
    pub folder: Option<PathBuf>,
}

/// Finished: what was found.
#[derive(Debug)]
pub struct Finished {
    /// As it was written.
    pub ledger: Ledger,
    /// Its folder.
    pub folder: Folder,
}

/// The claims that are asked for, each with the hash of its file.
///
/// # Errors
/// When a name is not known, or a file is malformed.
pub fn claims(project: &Project, only: &[String]) -> Result<Vec<(Claim, String)>> {
    let mut claims = project.claims()?;
    if let Some(pattern) =
        only.iter().find(|pattern| !claims.iter().any(|(claim, _)| selects(pattern, &claim.id)))
    {
        let known: Vec<&str> = claims.iter().map(|(claim, _)| claim.id.as_str()).collect();
        let known = known.join(", ");
        return Err(BadInput(format!("failed to find a claim named '{pattern}'; there are: {known}")).into());
    }
    claims.retain(|(claim, _)| only.is_empty() || only.iter().any(|pattern| selects(pattern, &claim.id)));
    Ok(claims)
}

/// The workloads that these claims ask for.
///
/// # Errors
/// When a suite or a workload's file is malformed.
pub fn workloads(project: &Project, claims: &[(Claim, String)]) -> Result<Vec<Spec>> {
    let suites: BTreeSet<&str> = claims.iter().filter_map(|(claim, _)| claim.suite.as_deref()).collect();
    let mut specs = Vec::new();
    for name in suites {
        specs.extend(plan::used_workload(project, &project.suite(name)?.0, claims)?);
    }
    Ok(specs)
}

/// What is found of a claim whose kernels were never booted: nothing.
#[must_use]
pub fn unmeasured(claim: Claim) -> Finding {
    let parts = find::parts(&claim, &BTreeMap::new(), true);
    Finding {
        claim,
        claim_sha256: String::new(),
        verdict: Verdict::Undecided,
        parts,
        kernels: BTreeMap::new(),
        suite: None,
        accelerator: None,
    }
}

/// Measures what decides the claims. The ledger's file says "unfinished" until the end, and why after an error.
///
/// # Errors
/// When a file is malformed, a name is not known, or the machinery failed.
pub fn run(lab: &Lab, request: &Request, events: &Events<'_>) -> Result<Finished> {
    let began = Began::now();
    let mut claims = claims(lab.project(), &request.only)?;
    if let Some(boots) = request.boots {
        claims.iter_mut().for_each(|(claim, _)| claim.boots = boots);
    }
    let folder = Folder::make(request.folder.as_deref(), &began.stamp, "claims")?;
    let mut ledger = Ledger::unfinished(env!("CARGO_PKG_VERSION"), &began.created);
    folder.write_as(LEDGER, &ledger)?;
    let outcome = fill(lab, request, claims, &folder, &mut ledger, events);
    ledger.wall_millis = began.millis();
    (ledger.status, ledger.reason) = ending(lab, &outcome);
    let written = folder.write_as(LEDGER, &ledger);
    // Of two errors (on a full disk, say) the first is the cause.
    outcome?;
    written?;
    Ok(Finished { ledger, folder })
}

fn fill(
    lab: &Lab,
    request: &Request,
    claims: Vec<(Claim, String)>,
    folder: &Folder,
    ledger: &mut Ledger,
    events: &Events<'_>,
) -> Result<()> {
    ledger.host = Some(host::record());
    ledger.qemu = Some(host::qemu(lab.qemu()));
    let runner = guest::build(lab.project(), events)?;
    ledger.runner_sha256 = Some(files::sha256(&runner.program));
    let suites = Suites::of(lab, &claims, events)?;
    let needs = suites.needs(&claims, &runner)?;
    let booter = Booter { lab, suites: &suites, runner: &runner, folder, events };
    let images = booter.build_all(&needs)?;
    let booted = booter.boot_all(request.accel, &needs, &images)?;
    for (claim, claim_sha256) in claims {
        ledger.findings.push(finding(claim, claim_sha256, &suites, &images, &booted)?);
    }
    Ok(())
}

fn finding(
    claim: Claim,
    claim_sha256: String,
    suites: &Suites,
    images: &Images,
    booted: &Booted,
) -> Result<Finding> {
    let accelerator = claim.suite.as_ref().and_then(|suite| booted.accelerators.get(suite)).cloned();
    let emulated = accelerator.as_ref().is_some_and(AcceleratorRecord::is_emulation);
    let mut records: Boots<'_> = BTreeMap::new();
    let mut kernels = BTreeMap::new();
    for (name, kernel) in &claim.kernels {
        let place: Place = (claim.suite.clone().unwrap_or_default(), Key::from(kernel));
        match images.get(&place.1) {
            Some(Ok(image)) => {
                let its = booted.records.get(&place).map_or(&[][..], Vec::as_slice);
                records.insert(name.as_str(), Ok(its));
                let record = Box::new(records_of(&kernel.kernel, image)?);
                kernels.insert(name.clone(), Built::Yes { record });
            }
            Some(Err(why)) => {
                records.insert(name.as_str(), Err(why.clone()));
                kernels.insert(name.clone(), Built::No { why: why.clone() });
            }
            None => {}
        }
    }
    if let Some(slip) = find::slip(&claim, &records) {
        return Err(BadInput(format!("failed to use the claim {}: {slip}", claim.id)).into());
    }
    let parts = find::parts(&claim, &records, emulated);
    let verdicts: Vec<Verdict> = parts.iter().map(|part| part.verdict).collect();
    drop(records);
    let suite = match &claim.suite {
        Some(name) => Some(suites.get(name)?.record.clone()),
        None => None,
    };
    let verdict = Verdict::of_parts(&verdicts);
    Ok(Finding { verdict, claim, claim_sha256, parts, kernels, suite, accelerator })
}
