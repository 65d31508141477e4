//! One task: the regions it is in, and what was counted for it.

use mthp_cachemodel::{Access, OccupancyCounter};
use mthp_record::cost::{Counts, Mark, mark::MAX_NAME};

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
            let last = access.vaddr + u64::from(access.size.max(1)) - 1;
            self.stores += u64::from(access.store);
            self.crossings += u64::from(last >> 12 != access.vaddr >> 12);
        }
        self.loads =
            self.loads.wrapping_add(batch.len() as u64) - batch.iter().filter(|it| it.store).count() as u64;
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
    /// `None` where what was said is no name: a fault.
    pub(crate) name: Option<String>,
    /// The task's tally when it began.
    pub(crate) start: Tally,
    /// How its first accesses share the sets, a counter for each machine.
    pub(crate) occupancy: Vec<OccupancyCounter>,
}

#[derive(Debug, Default)]
pub(crate) struct Task {
    pub(crate) tally: Tally,
    /// From the outermost to the innermost.
    pub(crate) open: Vec<Open>,
    /// The mark whose answer is the task's next access.
    pub(crate) asked: Option<Mark>,
    letters: Vec<u8>,
}

impl Task {
    pub(crate) fn new(machines: usize) -> Self {
        Self { tally: Tally::new(machines), ..Self::default() }
    }

    /// A byte of a name. One too many is kept, so that the name is seen to be too long.
    pub(crate) fn letter(&mut self, byte: u8) {
        if self.letters.len() <= MAX_NAME {
            self.letters.push(byte);
        }
    }

    /// The name said so far; the next one starts anew.
    pub(crate) fn take_name(&mut self) -> String {
        String::from_utf8_lossy(&std::mem::take(&mut self.letters)).into_owned()
    }
}
