//! The hardware's own events of a region, where the guest has a PMU; never under emulation.

use std::io;

use anyhow::{Context, Result};
use perf_event::{
    Builder, Counter,
    events::{Cache, CacheId, CacheOp, CacheResult},
};

/// The metrics, and what each counts the read misses of. The last level's TLB misses are walks.
const EVENTS: [(&str, CacheId); 3] =
    [("pmu.l1d-misses", CacheId::L1D), ("pmu.llc-misses", CacheId::LL), ("pmu.dtlb-misses", CacheId::DTLB)];

/// Counters of this thread in user space. Those that the machine does not have are left out.
#[derive(Debug)]
pub struct Pmu(Vec<(&'static str, Counter)>);

impl Pmu {
    /// Opens them, standing still.
    pub fn open() -> Self {
        let open = |(name, which)| Some((name, misses(which).ok()?));
        Self(EVENTS.into_iter().filter_map(open).collect())
    }

    /// Starts to count.
    ///
    /// # Errors
    /// The kernel's.
    pub fn begin(&mut self) -> Result<()> {
        self.0.iter_mut().try_for_each(|(name, counter)| {
            counter.enable().with_context(|| format!("failed to start the counter {name}"))
        })
    }

    /// Stops, and says what was counted, by metric.
    ///
    /// # Errors
    /// The kernel's.
    pub fn end(mut self) -> Result<Vec<(String, i64)>> {
        for (name, counter) in &mut self.0 {
            counter.disable().with_context(|| format!("failed to stop the counter {name}"))?;
        }
        self.0
            .iter_mut()
            .map(|(name, counter)| {
                let count = counter.read().with_context(|| format!("failed to read the counter {name}"))?;
                Ok(((*name).to_owned(), i64::try_from(count).unwrap_or(i64::MAX)))
            })
            .collect()
    }
}

fn misses(which: CacheId) -> io::Result<Counter> {
    let event = Cache { which, operation: CacheOp::READ, result: CacheResult::MISS };
    // Pinned: an event that does not get a counter of its own is no count, rather than a guess from a part of it.
    Builder::new(event).exclude_kernel(true).exclude_hv(true).pinned(true).build()
}
