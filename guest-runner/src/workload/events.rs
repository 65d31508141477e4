//! Hardware events of the watched program, where the guest has a PMU.

use std::io::ErrorKind;

use anyhow::{Context, Result};
use nix::unistd::Pid;
use perf_event::{
    Builder, Counter,
    events::{Cache, CacheId, CacheOp, CacheResult, Event, Hardware, Software},
};

/// The counters that could be opened, and why the others could not.
#[derive(Debug, Default)]
pub struct Events {
    counters: Vec<(&'static str, Counter)>,
    missing: Vec<String>,
}

impl Events {
    /// Opens the counters for a program that has not begun; threads it starts are counted too.
    pub fn open(program: Pid) -> Self {
        let cache = |result| Cache { which: CacheId::DTLB, operation: CacheOp::READ, result };
        let mut events = Self::default();
        // Counted by the kernel itself: shows that the counting works where the hardware's events are missing.
        events.add("page-faults", program, Software::PAGE_FAULTS);
        events.add("cycles", program, Hardware::CPU_CYCLES);
        events.add("instructions", program, Hardware::INSTRUCTIONS);
        events.add("dtlb-loads", program, cache(CacheResult::ACCESS));
        // A miss of the last level starts a page walk, so this counts walks (perf's dTLB-load-misses).
        events.add("dtlb-load-misses", program, cache(CacheResult::MISS));
        events
    }

    fn add(&mut self, name: &'static str, program: Pid, event: impl Event) {
        let counter = Builder::new(event)
            .observe_pid(program.as_raw())
            .any_cpu()
            .inherit(true)
            .enabled(true)
            .exclude_kernel(false)
            .build();
        match counter {
            Ok(counter) => self.counters.push((name, counter)),
            // ENOENT is the kernel's word for an event that no PMU of this machine counts.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.missing.push(format!("{name}: unavailable: the guest has no PMU that counts it"));
            }
            Err(error) => self.missing.push(format!("{name}: unavailable: {error}")),
        }
    }

    /// The counts so far, by name.
    ///
    /// # Errors
    /// When a counter cannot be read.
    pub fn read(&mut self) -> Result<Vec<(&'static str, i64)>> {
        self.counters
            .iter_mut()
            .map(|(name, counter)| {
                let count = counter.read().with_context(|| format!("failed to read the counter {name}"))?;
                Ok((*name, i64::try_from(count).unwrap_or(i64::MAX)))
            })
            .collect()
    }

    /// The events that cannot be counted here, each with the reason.
    pub fn missing(&self) -> &[String] {
        &self.missing
    }
}
