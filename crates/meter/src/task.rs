//! One task: the regions it is in, and what was counted for it.

use mthp_cachemodel::{Access, OccupancyCounter};
use mthp_record::cost::{Counts, Mark};

use crate::name::{Letters, Name};

/// The size of a small page in bytes.
const PAGE: u64 = 1 << 12;

/// What was counted for a task since it was first seen in a region.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tally {
    pub(crate) loads: u64,
    pub(crate) stores: u64,
    pub(crate) crossings: u64,
    /// One for each machine.
    pub(crate) machines: Vec<Counts>,
}

impl Tally {
    pub(crate) fn new(machines: usize) -> Self {
        Self { machines: vec![Counts::default(); machines], ..Self::default() }
    }

    pub(crate) fn note(&mut self, batch: &[Access]) {
        for access in batch {
            self.loads += u64::from(!access.store);
            self.stores += u64::from(access.store);
            self.crossings += u64::from(access.vaddr % PAGE + u64::from(access.size) > PAGE);
        }
    }

    /// What was counted since `start`.
    pub(crate) fn since(&self, start: &Self) -> Self {
        Self {
            loads: self.loads - start.loads,
            stores: self.stores - start.stores,
            crossings: self.crossings - start.crossings,
            machines: self.machines.iter().zip(&start.machines).map(|(now, then)| *now - *then).collect(),
        }
    }
}

/// A region that a task is in.
#[derive(Debug)]
pub(crate) struct Open {
    pub(crate) name: Name,
    /// The task's tally when it began.
    pub(crate) start: Tally,
    /// How its first accesses share the sets, a counter for each machine; none where that is not asked.
    pub(crate) occupancy: Vec<OccupancyCounter>,
}

#[derive(Debug, Default)]
pub(crate) struct Task {
    pub(crate) tally: Tally,
    /// From the outermost to the innermost.
    pub(crate) open: Vec<Open>,
    /// The mark whose answer is the task's next access.
    pub(crate) asked: Option<Mark>,
    pub(crate) letters: Letters,
}

impl Task {
    pub(crate) fn new(machines: usize) -> Self {
        Self { tally: Tally::new(machines), ..Self::default() }
    }

    pub(crate) fn is_in_region(&self) -> bool {
        !self.open.is_empty()
    }

    /// Forgets the regions that it is in, and the letters. Gives back the regions.
    pub(crate) fn forget(&mut self) -> Vec<Open> {
        self.letters = Letters::default();
        std::mem::take(&mut self.open)
    }

    /// Is nothing lost if it is forgotten?
    pub(crate) fn is_idle(&self) -> bool {
        self.open.is_empty() && self.asked.is_none() && self.letters.is_empty()
    }
}
