//! The meter itself.

use mthp_cachemodel::{Cache, Core, Machine, OccupancyCounter};
use mthp_record::cost::{Account, Mark};

use crate::{
    book::Book,
    faults::Faults,
    huge::HugeBlocks,
    lane::Lane,
    name::Name,
    task::{Open, Task},
    tasks::{MAX_TASKS, Tasks},
};

/// The deepest nesting of regions; more is a fault of the program's.
const MAX_DEPTH: usize = 32;
/// The most regions whose occupancy is kept, the first ones: it is a picture, and by far the largest part of an account.
const MAX_OCCUPANCIES: usize = 128;

/// What a mark means for whoever translates the guest's code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Nothing.
    Same,
    /// The first region opened: user-space accesses are wanted from now on.
    Begins,
    /// The last region closed: they are not wanted any more.
    Ends,
}

/// One machine's models.
#[derive(Debug)]
struct Bench {
    machine: Machine,
    cores: Vec<Core>,
    /// Shared by all vCPUs.
    l3: Option<Cache>,
}

/// Follows tasks, regions and huge pages, and keeps the account.
#[derive(Debug)]
pub struct Meter {
    benches: Vec<Bench>,
    tasks: Tasks,
    huge: HugeBlocks,
    /// Regions that are open in any task.
    open: usize,
    book: Book,
    faults: Faults,
}

impl Meter {
    /// A meter for these machines, by their names, on so many vCPUs.
    #[must_use]
    pub fn new(machines: Vec<(String, Machine)>, cpus: usize) -> Self {
        let (names, machines): (Vec<_>, Vec<_>) = machines.into_iter().unzip();
        let bench = |machine: Machine| Bench {
            cores: (0..cpus).map(|_| Core::new(&machine)).collect(),
            l3: machine.new_l3(),
            machine,
        };
        Self {
            tasks: Tasks::new(machines.len(), cpus),
            benches: machines.into_iter().map(bench).collect(),
            huge: HugeBlocks::new(),
            open: 0,
            book: Book::new(names),
            faults: Faults::default(),
        }
    }

    /// The kernel switches `cpu` to `task`: any number that is the task's own.
    pub fn switched(&mut self, cpu: usize, lane: &mut Lane, task: u64) {
        self.collect(cpu, lane);
        self.tasks.switch(cpu, task);
        let task = self.tasks.running(cpu);
        lane.recording = task.as_ref().is_some_and(|task| task.is_in_region());
        lane.ahead = task.is_some_and(|task| task.asked.is_some());
    }

    /// The running task executed a mark.
    pub fn marked(&mut self, cpu: usize, lane: &mut Lane, mark: Mark) -> Turn {
        self.collect(cpu, lane);
        let Some(task) = self.tasks.enter(cpu) else {
            self.faults.tell(format!("more than {MAX_TASKS} tasks in regions at a time"));
            return Turn::Same;
        };
        task.asked = Some(mark).filter(|mark| mark.looks_ahead());
        lane.ahead = mark.looks_ahead();
        let turn = match mark {
            Mark::Begin => self.begin(cpu),
            Mark::End => self.end(cpu),
            Mark::Small => self.anew(cpu),
            Mark::Letter | Mark::Huge => Turn::Same,
        };
        lane.recording = self.tasks.running(cpu).is_some_and(|task| task.is_in_region());
        turn
    }

    /// The access that the last mark asked about went to this address.
    pub fn told(&mut self, cpu: usize, lane: &mut Lane, address: u64) {
        lane.ahead = false;
        let Some(task) = self.tasks.running(cpu) else { return };
        match task.asked.take() {
            Some(Mark::Letter) => task.letters.push(address.to_le_bytes()[0]),
            Some(Mark::Huge) if !self.huge.insert(address) => {
                self.faults.tell(format!("a huge page at {address:#x}, where none can be told"));
            }
            _ => {}
        }
    }

    /// Models what has been gathered in a lane and empties it.
    pub fn collect(&mut self, cpu: usize, lane: &mut Lane) {
        if lane.batch.is_empty() {
            return;
        }
        for access in &mut lane.batch {
            access.huge = self.huge.contains(access.vaddr);
        }
        if let Some(task) = self.tasks.running(cpu) {
            task.tally.note(&lane.batch);
            for (bench, counts) in self.benches.iter_mut().zip(&mut task.tally.machines) {
                if let Some(core) = bench.cores.get_mut(cpu) {
                    core.run(bench.l3.as_mut(), &lane.batch, counts);
                }
            }
            for counter in task.open.iter_mut().flat_map(|open| &mut open.occupancy) {
                counter.run(&lane.batch);
            }
        }
        lane.batch.clear();
    }

    /// What else was wrong, so that the account does not count; in words, always the same for the same.
    pub fn fault(&mut self, what: &str) {
        self.faults.tell(what.to_owned());
    }

    /// The account, once and at the end: it takes the regions with it. One that has not ended is a fault.
    #[must_use]
    pub fn account(&mut self, api: u32, nonce: u64) -> Account {
        let mut left: Vec<Open> = self.tasks.take_open().collect();
        left.sort_by(|one, other| one.name.cmp(&other.name));
        self.leave(&left);
        Account {
            api,
            nonce,
            machines: self.book.machines().to_vec(),
            regions: self.book.take(),
            faults: self.faults.told(),
        }
    }

    fn begin(&mut self, cpu: usize) -> Turn {
        let Some(task) = self.tasks.running(cpu) else { return Turn::Same };
        let name = task.letters.take();
        if let Name::Odd(said) = &name {
            self.faults.tell(format!("a region's name is none: {said}"));
        }
        if task.open.len() >= MAX_DEPTH {
            self.faults.tell(format!("{name}: more than {MAX_DEPTH} regions, one in the other"));
            return Turn::Same;
        }
        let first = self.open == 0;
        if first {
            for bench in &mut self.benches {
                bench.cores.iter_mut().for_each(Core::clear);
                bench.l3.iter_mut().for_each(Cache::clear);
            }
        }
        // Open ones count, too: they may become regions of the account.
        let pictured = !self.book.has(&name) && self.book.len() + self.open < MAX_OCCUPANCIES;
        let counter = |bench: &Bench| OccupancyCounter::new(&bench.machine, OccupancyCounter::ACCESSES);
        let occupancy = self.benches.iter().filter(|_| pictured).map(counter).collect();
        let start = task.tally.clone();
        task.open.push(Open { name, start, occupancy });
        self.open += 1;
        if first { Turn::Begins } else { Turn::Same }
    }

    fn end(&mut self, cpu: usize) -> Turn {
        let Some(task) = self.tasks.running(cpu) else { return Turn::Same };
        let Some(open) = task.open.pop() else {
            self.fault("a region ended that had not begun");
            return Turn::Same;
        };
        let inside = task.tally.since(&open.start);
        if let Err(why) = self.book.add(open, &inside) {
            self.faults.tell(why);
        }
        self.closed(1)
    }

    /// Whoever starts to tell is in no region: what a dead task at the same place left is not its.
    fn anew(&mut self, cpu: usize) -> Turn {
        self.huge.clear();
        let left = self.tasks.running(cpu).map(Task::forget).unwrap_or_default();
        self.leave(&left)
    }

    /// Regions are closed that nobody ended.
    fn leave(&mut self, left: &[Open]) -> Turn {
        for open in left {
            self.faults.tell(format!("the region {} never ended", open.name));
        }
        self.closed(left.len())
    }

    fn closed(&mut self, regions: usize) -> Turn {
        let was = self.open;
        self.open = was.saturating_sub(regions);
        if was > 0 && self.open == 0 { Turn::Ends } else { Turn::Same }
    }
}
