//! A piece of work as a region of the cost model.

use std::{collections::BTreeMap, fs};

use anyhow::{Context, Result};
use mthp_mark::{Region, huge, tell_huge};
use mthp_record::workload::Modelled;
use nix::unistd::gettid;

/// Does `work` in the region of that name, having told which pages are huge.
///
/// # Errors
/// When it cannot be found out which pages are huge or which threads ran, or `work` fails.
pub fn inside(region: &str, work: impl FnOnce() -> Result<()>) -> Result<Modelled> {
    let context = || format!("failed to make the region {region}");
    let blocks = huge::blocks().context("failed to find the huge pages").with_context(context)?;
    let before = others().with_context(context)?;
    // SAFETY: the blocks lie in readable mappings; the program's other threads, which could unmap them, sleep between
    // inferences.
    unsafe { tell_huge(blocks.iter().copied()) };
    let guard = Region::begin(region);
    let done = work();
    drop(guard);
    done?;
    let after = others().with_context(context)?;
    Ok(Modelled { huge_blocks: u64::try_from(blocks.len())?, others: u64::try_from(ran(&before, &after))? })
}

/// How many threads came, went, or ran between the two looks.
fn ran(before: &Switches, after: &Switches) -> usize {
    let gone = before.keys().filter(|thread| !after.contains_key(*thread)).count();
    gone + after.iter().filter(|(thread, switches)| before.get(*thread) != Some(switches)).count()
}

/// How often each thread was taken off a CPU, by its number: a thread that ran was.
type Switches = BTreeMap<String, u64>;

/// All threads of this process but the one that asks.
fn others() -> Result<Switches> {
    const TASKS: &str = "/proc/self/task";
    let own = gettid().to_string();
    let mut all = Switches::new();
    for entry in fs::read_dir(TASKS).with_context(|| format!("failed to list {TASKS}"))? {
        let entry = entry.with_context(|| format!("failed to list {TASKS}"))?;
        let thread = entry.file_name().to_string_lossy().into_owned();
        if thread == own {
            continue;
        }
        // A thread may end between the two.
        if let Ok(status) = fs::read_to_string(entry.path().join("status")) {
            let switches = switches(&status).with_context(|| format!("failed to read of thread {thread}"))?;
            all.insert(thread, switches);
        }
    }
    Ok(all)
}

/// The switches that /proc/PID/status tells of, of both kinds.
fn switches(status: &str) -> Result<u64> {
    let field = |name: &str| {
        let value =
            status.lines().find_map(|line| line.strip_prefix(name)).and_then(|it| it.strip_prefix(':'));
        value.and_then(|value| value.trim().parse::<u64>().ok()).with_context(|| format!("it has no {name}"))
    };
    Ok(field("voluntary_ctxt_switches")?.saturating_add(field("nonvoluntary_ctxt_switches")?))
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use anyhow::bail;

    use super::*;

    #[test]
    fn both_kinds_of_switches_count() {
        let status = "Name:\ta\nvoluntary_ctxt_switches:\t17\nnonvoluntary_ctxt_switches:\t25\n";
        assert_eq!(switches(status).unwrap(), 42);
        let error = switches("voluntary_ctxt_switches:\t17\n").unwrap_err().to_string();
        assert_eq!(error, "it has no nonvoluntary_ctxt_switches");
    }

    #[test]
    fn a_thread_that_ran_came_or_went_is_counted() {
        let of = |all: &[(&str, u64)]| all.iter().map(|(name, it)| ((*name).to_owned(), *it)).collect();
        let before: Switches = of(&[("7", 1), ("8", 2), ("9", 3)]);
        assert_eq!(ran(&before, &before), 0);
        assert_eq!(ran(&before, &of(&[("7", 1), ("8", 4), ("10", 0)])), 3);
    }

    #[test]
    fn work_of_another_thread_is_seen() {
        let (ask, asked) = mpsc::channel::<mpsc::Sender<()>>();
        let worker = thread::spawn(move || asked.iter().all(|answer| answer.send(()).is_ok()));
        let modelled = inside("a/b", || {
            let (answer, answered) = mpsc::channel();
            ask.send(answer)?;
            answered.recv().context("no answer")?;
            // Only when it waits again was it certainly switched.
            let (answer, answered) = mpsc::channel();
            ask.send(answer)?;
            answered.recv().context("no answer")
        });
        assert!(modelled.unwrap().others >= 1);
        drop(ask);
        assert!(worker.join().unwrap());
        let error = inside("a/b", || bail!("broken")).unwrap_err();
        assert_eq!(error.to_string(), "broken");
    }
}
