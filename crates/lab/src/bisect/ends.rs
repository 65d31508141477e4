//! Both ends first, with more boots than a step: do they work, and in what do they differ?

use std::time::Instant;

use anyhow::{Context, Result};
use mthp_bisect::{
    ends::{Ends, Refusal, look},
    finding::Finding,
    record::{EndsRecord, Outcome, Tried},
    target::{Target, judge},
};
use mthp_judge::report::AcceleratorRecord;
use mthp_kernel::{BadInput, BuiltKernel};
use mthp_record::boot::{BootRecord, Side};
use mthp_vm::accel::{Accel, AccelChoice};

use super::{
    journal::Journal,
    sight::{Eye, Image, millis},
};
use crate::{Setting, boots::accelerator, load::Load};

/// Verifies the ends, chooses what is followed, and sets the eye on it; a resumed run takes both from its journal.
/// `false` where the answer is known already.
///
/// # Errors
/// When the ends cannot be bisected, or the machinery failed.
pub(super) fn verify(
    eye: &mut Eye<'_>,
    choice: AccelChoice,
    load: &Load,
    journal: &mut Journal,
) -> Result<bool> {
    let question = journal.bisection.question.clone();
    let started = Instant::now();
    let good = end(eye, "good", &question.good.id)?;
    let built_good = started.elapsed();
    let chosen = accelerator(choice, &eye.setting, &good.vmlinux, eye.lab.stop(), eye.events)?;
    eye.setting.accel = chosen.accel;
    journal.bisection.accelerator =
        Some(AcceleratorRecord { kind: chosen.accel.to_string(), why: chosen.why });
    load.put_into(&mut eye.setting)?;
    if let Some(known) = &journal.bisection.ends {
        if known.alone {
            narrow(&mut eye.setting, &known.target);
        }
        return Ok(true);
    }
    let started = Instant::now();
    let bad = end(eye, "bad", &question.bad.id)?;
    let built_bad = started.elapsed();
    if good.same_image(&bad) {
        let what = "both give the same image".to_owned();
        return Err(BadInput(Refusal::Alike { what }.to_string()).into());
    }
    let started = Instant::now();
    let boots = question.full_boots;
    let sides =
        [(question.good.id.as_str(), &good, Side::Base), (question.bad.id.as_str(), &bad, Side::Patched)];
    let records = eye.boot(&eye.setting, &sides, boots)?.concat();
    let differs = match look(&records, eye.gates, eye.setting.accel == Accel::Tcg)? {
        Ends::Differ(targets) => targets,
        Ends::Refused(Refusal::Flaky { what }) => {
            journal.bisection.outcome = Some(Outcome::Flaky { what });
            return Ok(false);
        }
        Ends::Refused(refusal) => return Err(BadInput(refusal.to_string()).into()),
    };
    let target = choose(&differs, question.check.as_deref())?;
    let (alone, again) = shown_alone(eye, &target, &sides, boots)?;
    let boot_millis = millis(started) / 2;
    journal.bisection.ends = Some(EndsRecord { differs, target, alone, revisions: eye.history.graph.len() });
    for (end, kernel, built, finding) in
        [(&question.good, &good, built_good, Finding::Good), (&question.bad, &bad, built_bad, Finding::Bad)]
    {
        journal.bisection.tried.push(Tried {
            id: end.id.clone(),
            subject: end.subject.clone(),
            finding,
            image: Some(kernel.identity.vmlinux_sha256.clone()),
            same_as: None,
            boots: boots + again,
            build_millis: (!kernel.from_cache).then(|| u64::try_from(built.as_millis()).unwrap_or(u64::MAX)),
            boot_millis,
        });
    }
    journal.write()?;
    Ok(true)
}

fn end(eye: &mut Eye<'_>, which: &str, id: &str) -> Result<BuiltKernel> {
    let label = format!("{which} end");
    match eye.build(id, &label).with_context(|| format!("failed to build the {label}"))? {
        Image::Built(kernel) => Ok(*kernel),
        Image::None(why) => {
            let why = format!("the {which} end cannot be built: {why}");
            Err(BadInput(Refusal::Unusable { why }.to_string()).into())
        }
    }
}

/// The target that the user names by its check, or the first.
fn choose(differs: &[Target], check: Option<&str>) -> Result<Target, BadInput> {
    let chosen = match check {
        None => differs.first(),
        Some(name) => differs.iter().find(|target| target.name() == Some(name) || target.label() == name),
    };
    chosen.cloned().ok_or_else(|| {
        let names: Vec<String> = differs.iter().map(Target::label).collect();
        BadInput(format!(
            "failed to follow '{}': it does not differ between the ends; what does: {}",
            check.unwrap_or_default(),
            names.join(", ")
        ))
    })
}

/// Sees whether the target's test shows it without the others; then only this test runs on the way. Gives that, and the boots
/// of each end that it took.
fn shown_alone(
    eye: &mut Eye<'_>,
    target: &Target,
    sides: &[(&str, &BuiltKernel, Side)],
    boots: u32,
) -> Result<(bool, u32)> {
    let mut setting = eye.setting.clone();
    if !narrow(&mut setting, target) {
        return Ok((false, 0));
    }
    let records = eye.boot(&setting, sides, boots)?;
    let say = |records: Option<&Vec<BootRecord>>| judge(target, records.map_or(&[][..], Vec::as_slice));
    let alone = say(records.first())? == Finding::Good && say(records.last())? == Finding::Bad;
    if alone {
        eye.setting = setting;
    }
    Ok((alone, boots))
}

/// Leaves only the target's test; `false` where it has none.
fn narrow(setting: &mut Setting, target: &Target) -> bool {
    let Some(test) = target.test() else { return false };
    setting.tests.retain(|name| name == test);
    if let Some(workload) = &mut setting.workload {
        workload.scenarios.retain(|scenario| scenario.name == test);
    }
    if setting.workload.as_ref().is_some_and(|workload| workload.scenarios.is_empty()) {
        setting.workload = None;
    }
    if let Some(selftests) = &mut setting.selftests {
        selftests.tests.retain(|selftest| selftest.name == test);
    }
    if setting.selftests.as_ref().is_some_and(|selftests| selftests.tests.is_empty()) {
        setting.selftests = None;
    }
    true
}
