//! The suspect against its parents, at full strength: only this names a commit.

use anyhow::Result;
use mthp_bisect::{
    ends::targets,
    finding::Finding,
    graph::Revision,
    record::{Outcome, Sight, Verification, one_in},
    target::{Target, judge},
    text,
};
use mthp_judge::compare::compare;
use mthp_kernel::BuiltKernel;
use mthp_record::boot::{BootRecord, Side};
use mthp_vm::accel::Accel;

use super::{
    journal::Journal,
    sight::{Eye, Image},
};
use crate::{Setting, load::Load};

/// Tests a suspect against its parents and writes down what came of it; any other outcome stays as it is.
///
/// # Errors
/// When the machinery failed, or the run was interrupted.
pub(super) fn at_full_strength(
    eye: &mut Eye<'_>,
    mut whole: Setting,
    load: &Load,
    outcome: Outcome,
    journal: &mut Journal,
) -> Result<()> {
    let (Outcome::Culprit { revision, .. }, Some(ends)) = (&outcome, &journal.bisection.ends) else {
        journal.bisection.outcome = Some(outcome);
        return journal.write();
    };
    // Where one thing only differs between the ends, nothing else can be the suspect's doing.
    if ends.differs.len() > 1 || !ends.alone {
        load.put_into(&mut whole)?;
    } else {
        whole = eye.setting.clone();
    }
    let boots = journal.bisection.question.full_boots;
    let trial = Trial::of(eye, revision, &whole, boots)?;
    let (verification, why) = trial.judged(eye, &ends.differs, &ends.target, boots)?;
    journal.bisection.verification = Some(verification);
    journal.bisection.outcome = Some(match why {
        None => outcome,
        Some(why) => {
            // The search named it; the proof did not.
            if let Some(log) = &mut journal.bisection.git_log {
                *log = log.replace("# first bad commit:", "# not confirmed as the first bad commit:");
            }
            Outcome::Unconfirmed { suspect: revision.clone(), why }
        }
    });
    journal.write()
}

/// The boots of a suspect and its parents.
struct Trial {
    suspect: (String, Vec<BootRecord>),
    parents: Vec<(String, Vec<BootRecord>)>,
    /// Why a parent could not be booted.
    unbuilt: Option<String>,
}

impl Trial {
    fn of(eye: &mut Eye<'_>, revision: &Revision, setting: &Setting, boots: u32) -> Result<Self> {
        let mut kernels: Vec<(&str, BuiltKernel, Side)> = Vec::new();
        let mut unbuilt = None;
        let ids = revision.parents.iter().map(|id| (id, Side::Base));
        for (id, side) in ids.chain([(&revision.id, Side::Patched)]) {
            match eye.build(id, &format!("{} for the proof", text::short(id)))? {
                Image::Built(kernel) => kernels.push((id, *kernel, side)),
                Image::None(why) => unbuilt = Some(format!("{} cannot be built: {why}", text::short(id))),
            }
        }
        let refs: Vec<(&str, &BuiltKernel, Side)> =
            kernels.iter().map(|(id, kernel, side)| (*id, kernel, *side)).collect();
        let records = eye.boot(setting, &refs, boots)?;
        let mut sights = kernels.iter().map(|(id, ..)| (*id).to_owned()).zip(records).collect::<Vec<_>>();
        let suspect = match sights.pop() {
            Some((id, records)) if id == revision.id => (id, records),
            _ => (revision.id.clone(), Vec::new()),
        };
        Ok(Self { suspect, parents: sights, unbuilt })
    }

    /// What the boots say, and why no commit can be named, if so.
    fn judged(
        &self,
        eye: &Eye<'_>,
        differs: &[Target],
        target: &Target,
        boots: u32,
    ) -> Result<(Verification, Option<String>)> {
        let sight = |(id, records): &(String, Vec<BootRecord>)| -> Result<Sight> {
            let finding = match &self.unbuilt {
                Some(why) if records.is_empty() => Finding::skipped(why.clone()),
                _ => judge(target, records)?,
            };
            Ok(Sight { id: id.clone(), boots: u32::try_from(records.len())?, finding })
        };
        let suspect = sight(&self.suspect)?;
        let parents = self.parents.iter().map(sight).collect::<Result<Vec<_>>>()?;
        let doubt = parents
            .iter()
            .find(|parent| parent.finding != Finding::Good)
            .map(|parent| format!("its parent {} is {}", text::short(&parent.id), parent.finding));
        let why = match &suspect.finding {
            Finding::Bad => self.unbuilt.clone().or(doubt),
            other => Some(format!("of {boots} boots it is {other}")),
        };
        let (explained, unexplained) = match self.parents.first() {
            Some((_, first)) => {
                let records = [first.clone(), self.suspect.1.clone()].concat();
                let emulated = eye.setting.accel == Accel::Tcg;
                let here = match target {
                    // The suspect does not come to the comparison; that it fails so, and the parent not, was judged.
                    Target::Kernel { .. } => vec![target.clone()],
                    _ => targets(&records, &compare(&records, eye.gates, emulated)),
                };
                differs.iter().cloned().partition(|one| here.iter().any(|its| its.is_same(one)))
            }
            None => (Vec::new(), differs.to_vec()),
        };
        // A cost may creep up commit by commit: each step is below what decides.
        let alone = explained.iter().any(|one| one.is_same(target));
        let why = why.or_else(|| {
            (!alone).then(|| {
                "its parent and it alone do not differ by what decides: several commits add up".to_owned()
            })
        });
        Ok((Verification { suspect, parents, one_in: one_in(boots), explained, unexplained }, why))
    }
}
