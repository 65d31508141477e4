//! Claims made in public: measures what decides them.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    time::Instant,
};

use anyhow::{Context, Result, bail};
use mthp_judge::{
    report::{AcceleratorRecord, Status, SuiteRecord},
    suite::Suite,
};
use mthp_kernel::{BadInput, BuiltKernel, PatchSeries, files};
use mthp_ledger::claim::{
    file::{Claim, Kernel},
    find::{self, Boots},
    ledger::{Built, Finding, Ledger},
    measured::Verdict,
};
use mthp_record::{
    boot::{BootRecord, Side},
    job::selects,
};
use mthp_vm::accel::{Accel, AccelChoice};
use mthp_workload::Spec;

use crate::{
    BaseKernel, Events, Folder, Lab, Project, Setting,
    boots::{Boot, accelerator, boot_all},
    folder::LEDGER,
    guest::{self, Runner},
    host, kernels,
    selection::Selection,
    workload::{self, Gathered, Loaded},
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

/// The workloads that these claims need.
///
/// # Errors
/// When a suite or a workload's file is malformed.
pub fn workloads(project: &Project, claims: &[(Claim, String)]) -> Result<Vec<Spec>> {
    let suites: BTreeSet<&str> = claims.iter().filter_map(|(claim, _)| claim.suite.as_deref()).collect();
    let mut specs = Vec::new();
    for name in suites {
        specs.extend(workload::spec(project, &project.suite(name)?.0, None)?);
    }
    Ok(specs)
}

/// Measures what decides the claims. The ledger's file says "unfinished" until the end, and why after an error.
///
/// # Errors
/// When a file is malformed, a name is not known, or the machinery failed.
pub fn run(lab: &Lab, request: &Request, events: &Events<'_>) -> Result<Finished> {
    let started = Instant::now();
    let mut claims = claims(lab.project(), &request.only)?;
    if let Some(boots) = request.boots {
        claims.iter_mut().for_each(|(claim, _)| claim.boots = boots);
    }
    let now = jiff::Timestamp::now();
    let stamp = now.strftime("%Y%m%d-%H%M%S").to_string();
    let folder = Folder::make(request.folder.as_deref(), &stamp, "claims")?;
    let created = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let mut ledger = Ledger::unfinished(env!("CARGO_PKG_VERSION"), &created);
    folder.write_as(LEDGER, &ledger)?;
    let outcome = fill(lab, request, claims, &folder, &mut ledger, events);
    ledger.wall_millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
    match &outcome {
        Ok(()) => {
            ledger.status = Status::Complete;
            ledger.reason.clear();
        }
        Err(error) => {
            ledger.status = Status::from(crate::experiment::unjudged(lab, error));
            ledger.reason = format!("{error:#}");
        }
    }
    let written = folder.write_as(LEDGER, &ledger);
    // Of two errors (on a full disk, say) the first is the cause.
    outcome?;
    written?;
    Ok(Finished { ledger, folder })
}

/// One kernel in one suite's guest: claims that ask for the same share its boots.
#[derive(Default)]
struct Need {
    tests: BTreeSet<String>,
    boots: u32,
}

/// Which kernel: its manifest's name and the patches on it.
type KernelKey = (String, Vec<PathBuf>);

fn key(kernel: &Kernel) -> KernelKey {
    (kernel.kernel.clone(), kernel.patches.clone())
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

    let mut built: BTreeMap<KernelKey, Result<BuiltKernel, String>> = BTreeMap::new();
    for (suite, kernel) in needs.keys() {
        if !built.contains_key(kernel) {
            let outcome = build(lab, &suites.get(suite)?.suite, kernel, events);
            if let (Err(error), true) = (&outcome, lab.stop().is_stopped()) {
                bail!("interrupted: {error:#}");
            }
            built.insert(kernel.clone(), outcome.map_err(|error| format!("{error:#}")));
        }
    }
    let boots = boot(lab, request, &suites, &needs, &built, &runner, folder, ledger, events)?;
    let emulated = ledger.accelerator.as_ref().is_some_and(AcceleratorRecord::is_emulation);
    for (claim, claim_sha256) in claims {
        let mut records: Boots<'_> = BTreeMap::new();
        let mut kernels = BTreeMap::new();
        for (name, kernel) in &claim.kernels {
            let suite = claim.suite.clone().unwrap_or_default();
            match built.get(&key(kernel)) {
                Some(Ok(image)) => {
                    let its = boots.get(&(suite, key(kernel))).map_or(&[][..], Vec::as_slice);
                    records.insert(name.as_str(), Ok(its));
                    let record = Box::new(kernels::record(&kernel.kernel, image)?);
                    kernels.insert(name.clone(), Built::Yes { record });
                }
                Some(Err(why)) => {
                    records.insert(name.as_str(), Err(why.clone()));
                    kernels.insert(name.clone(), Built::No { why: why.clone() });
                }
                None => {}
            }
        }
        let parts = find::parts(&claim, &records, emulated);
        let verdicts: Vec<Verdict> = parts.iter().map(|part| part.verdict).collect();
        drop(records);
        let suite = match &claim.suite {
            Some(name) => Some(suites.get(name)?.record.clone()),
            None => None,
        };
        ledger.findings.push(Finding {
            verdict: Verdict::of_parts(&verdicts),
            claim,
            claim_sha256,
            parts,
            kernels,
            suite,
        });
    }
    Ok(())
}

fn build(lab: &Lab, suite: &Suite, (name, patches): &KernelKey, events: &Events<'_>) -> Result<BuiltKernel> {
    let base = lab.base(&BaseKernel::Named(name.clone()), &suite.fragments, events)?;
    let series = patches.iter().map(|path| PatchSeries::read(path, false)).collect::<Result<Vec<_>>>()?;
    lab.build(&base, &series, &label(name, patches), events)
}

fn label(name: &str, patches: &[PathBuf]) -> String {
    let patches: String =
        patches.iter().filter_map(|path| Some(format!(" + {}", path.file_stem()?.display()))).collect();
    format!("{name}{patches}")
}

/// A suite that claims use, and its workload.
struct Used {
    suite: Suite,
    record: SuiteRecord,
    workload: Option<(Spec, workload::Workload)>,
}

struct Suites(BTreeMap<String, Used>);

impl Suites {
    fn of(lab: &Lab, claims: &[(Claim, String)], events: &Events<'_>) -> Result<Self> {
        let mut all = BTreeMap::new();
        for (claim, _) in claims {
            let Some(name) = &claim.suite else { continue };
            if all.contains_key(name) {
                continue;
            }
            let (suite, text) =
                lab.project().suite(name).with_context(|| format!("the suite of the claim {}", claim.id))?;
            let workload = match workload::spec(lab.project(), &suite, None)? {
                Some(spec) => Some((spec.clone(), Gathered::of(lab, spec, events)?.assemble(lab, events)?)),
                None => None,
            };
            let record = SuiteRecord { name: suite.name.clone(), sha256: files::sha256(text.as_bytes()) };
            all.insert(name.clone(), Used { suite, record, workload });
        }
        Ok(Self(all))
    }

    fn get(&self, name: &str) -> Result<&Used> {
        self.0.get(name).with_context(|| format!("failed to find the suite {name}"))
    }

    /// The suite's tests and scenarios that are named.
    fn selection(&self, suite: &str, runner: &Runner, tests: &BTreeSet<String>) -> Result<Selection> {
        let used = self.get(suite)?;
        let cases = used.workload.as_ref().map(|(spec, _)| spec.cases.as_slice()).unwrap_or_default();
        let tests: Vec<String> = tests.iter().cloned().collect();
        Ok(Selection::of(&used.suite, &runner.tests, cases, &tests)?)
    }

    fn needs(
        &self,
        claims: &[(Claim, String)],
        runner: &Runner,
    ) -> Result<BTreeMap<(String, KernelKey), Need>> {
        let mut needs: BTreeMap<(String, KernelKey), Need> = BTreeMap::new();
        for (claim, _) in claims {
            let Some(suite) = &claim.suite else { continue };
            for value in claim.values() {
                let one = BTreeSet::from([value.test.clone()]);
                self.selection(suite, runner, &one)
                    .with_context(|| format!("failed to use the claim {}", claim.id))?;
                let Some(kernel) = claim.kernels.get(&value.kernel) else { continue };
                let need = needs.entry((suite.clone(), key(kernel))).or_default();
                need.tests.extend(one);
                need.boots = need.boots.max(claim.boots);
            }
        }
        Ok(needs)
    }
}

#[expect(clippy::too_many_arguments, reason = "all that a boot rests on, in one place")]
fn boot(
    lab: &Lab,
    request: &Request,
    suites: &Suites,
    needs: &BTreeMap<(String, KernelKey), Need>,
    built: &BTreeMap<KernelKey, Result<BuiltKernel, String>>,
    runner: &Runner,
    folder: &Folder,
    ledger: &mut Ledger,
    events: &Events<'_>,
) -> Result<BTreeMap<(String, KernelKey), Vec<BootRecord>>> {
    let mut accel: Option<Accel> = None;
    let mut settings: Vec<(&(String, KernelKey), Setting, PathBuf, u32)> = Vec::new();
    for (at, need) in needs {
        let (suite, kernel) = at;
        let Some(Ok(image)) = built.get(kernel) else { continue };
        let used = suites.get(suite)?;
        let selection = suites.selection(suite, runner, &need.tests)?;
        let subject = format!("{suite} {}", label(&kernel.0, &kernel.1));
        let place = folder.inner(&subject.replace([' ', '+'], "-"))?;
        let mut setting =
            lab.setting_of(used.suite.clone(), selection.tests.clone(), runner.program.clone(), &place);
        setting.subject = subject;
        setting.accel = match accel {
            Some(accel) => accel,
            None => {
                let chosen = accelerator(request.accel, &setting, &image.vmlinux, lab.stop(), events)?;
                ledger.accelerator =
                    Some(AcceleratorRecord { kind: chosen.accel.to_string(), why: chosen.why });
                accel = Some(chosen.accel);
                chosen.accel
            }
        };
        if let Some((_, workload)) = used.workload.as_ref().filter(|_| selection.has_scenarios()) {
            let (scenarios, _) = selection.scenarios(setting.accel == Accel::Tcg);
            setting.workload = Some(Loaded { scenarios, disk: workload.disk.path.clone() });
        }
        settings.push((at, setting, image.vmlinux.clone(), need.boots));
    }
    let plan: Vec<Boot<'_>> = settings
        .iter()
        .flat_map(|(_, setting, vmlinux, boots)| {
            (0..*boots).map(move |index| Boot { setting, vmlinux, side: Side::Base, index })
        })
        .collect();
    let mut records = boot_all(&plan, lab.stop(), events)?.into_iter();
    if lab.stop().is_stopped() {
        bail!("interrupted; the consoles so far are in {}", folder.path().display());
    }
    let mut all = BTreeMap::new();
    for (at, _, _, boots) in &settings {
        all.insert((*at).clone(), records.by_ref().take(usize::try_from(*boots)?).collect());
    }
    Ok(all)
}
