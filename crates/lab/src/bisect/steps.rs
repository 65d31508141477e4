//! The way from the ends to the suspect.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use mthp_bisect::{
    record::Outcome,
    search::{Next, Search},
    text,
};

use super::{journal::Journal, sight::Eye};
use crate::event::Event;

/// Looks at revision after revision until the search is over.
///
/// # Errors
/// When the machinery failed, or the run was interrupted.
pub(super) fn walk(eye: &mut Eye<'_>, journal: &mut Journal) -> Result<Outcome> {
    let ends = journal.bisection.ends.clone().context("the ends were not verified")?;
    let boots = journal.bisection.question.step_boots;
    let mut search = Search::new(&eye.history.graph);
    // The good end is no part of the graph, and what is known of it is known by that.
    for tried in journal.bisection.tried.iter().filter(|tried| eye.history.graph.get(&tried.id).is_some()) {
        search.record(&tried.id, tried.finding.clone())?;
    }
    let mut spent = Vec::new();
    loop {
        journal.bisection.git_log = eye.history.git_log(&search);
        let (id, left, steps) = match search.next() {
            Next::Try { revision, left, steps } => (revision, left, steps),
            Next::Culprit { revision } => {
                let author = eye.history.author(&revision);
                return Ok(Outcome::Culprit { revision: eye.history.revision(&revision)?, author });
            }
            Next::Range { candidates } => {
                let candidates =
                    candidates.iter().map(|id| eye.history.revision(id)).collect::<Result<_>>()?;
                return Ok(Outcome::Range { candidates });
            }
            Next::Contradiction { good, bad } => {
                let (good, bad) = (eye.history.revision(&good)?, eye.history.revision(&bad)?);
                return Ok(Outcome::ComesAndGoes { bad, good });
            }
        };
        let label = format!("step {}", journal.bisection.tried.len().saturating_sub(1));
        (eye.events)(&Event::Began { label: label.clone(), what: plan(left, steps, &spent) });
        let started = Instant::now();
        let subject = eye.history.subject(&id);
        let tried = eye.look(&id, &format!("{label} build"), &ends.target, boots, journal)?;
        let what = format!("{} is {} (\"{subject}\")", text::short(&id), tried.finding);
        (eye.events)(&Event::Ended { label, what });
        spent.push(started.elapsed());
        search.record(&id, tried.finding.clone())?;
        journal.add(tried)?;
    }
}

/// What is left, and how long that may take by what the steps took so far.
fn plan(left: usize, steps: usize, spent: &[Duration]) -> String {
    let count = mthp_judge::text::count(left, "revision");
    let mut plan = format!("{count} left, about {}", mthp_judge::text::count(steps, "step"));
    if let Some(count) = u32::try_from(spent.len()).ok().filter(|count| *count > 0) {
        let mean = spent.iter().sum::<Duration>() / count;
        let left = mean.as_secs().saturating_mul(u64::try_from(steps).unwrap_or(u64::MAX));
        plan.push_str(&format!(", {} min {:02} s", left / 60, left % 60));
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_told_in_steps_and_in_time() {
        assert_eq!(plan(12, 4, &[]), "12 revisions left, about 4 steps");
        let spent = [Duration::from_secs(10), Duration::from_secs(30)];
        assert_eq!(plan(12, 4, &spent), "12 revisions left, about 4 steps, 1 min 20 s");
        assert_eq!(plan(1, 1, &spent), "1 revision left, about 1 step, 0 min 20 s");
    }
}
