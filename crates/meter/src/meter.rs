//! The meter itself.

use std::collections::HashMap;

use mthp_cachemodel::{Cache, Core, Machine, OccupancyCounter};
use mthp_record::cost::{Account, Mark, RegionAccount, mark::is_name};

use crate::{
    huge::HugeBlocks,
    lane::Lane,
    task::{Open, Tally, Task},
};

/// The deepest nesting of regions; more is a fault of the program's.
const MAX_DEPTH: usize = 32;
/// The most regions and faults that are kept: a guest may say what it likes.
const MAX_REGIONS: usize = 4096;
const MAX_FAULTS: usize = 64;

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
    name: String,
    machine: Machine,
    cores: Vec<Core>,
    /// Shared by all vCPUs.
    l3: Option<Cache>,
}

/// Follows tasks, regions and huge pages, and keeps the account.
#[derive(Debug)]
pub struct Meter {
    benches: Vec<Bench>,
    tasks: HashMap<u64, Task>,
    /// The task that each vCPU runs; 0 until the first switch was seen.
    running: Vec<u64>,
    huge: HugeBlocks,
    /// Regions that are open in any task.
    open: usize,
    regions: Vec<RegionAccount>,
    places: HashMap<String, usize>,
    faults: Vec<String>,
}

impl Meter {
    /// A meter for these machines, by their names, on so many vCPUs.
    #[must_use]
    pub fn new(machines: Vec<(String, Machine)>, cpus: usize) -> Self {
        let benches = machines.into_iter().map(|(name, machine)| Bench {
            name,
            cores: (0..cpus).map(|_| Core::new(&machine)).collect(),
            l3: machine.new_l3(),
            machine,
        });
        Self {
            benches: benches.collect(),
            tasks: HashMap::new(),
            running: vec![0; cpus],
            huge: HugeBlocks::new(),
            open: 0,
            regions: Vec::new(),
            places: HashMap::new(),
            faults: Vec::new(),
        }
    }

    /// The kernel switches `cpu` to `task`: any number that is the task's own.
    pub fn switched(&mut self, cpu: usize, lane: &mut Lane, task: u64) {
        self.collect(cpu, lane);
        if let Some(running) = self.running.get_mut(cpu) {
            *running = task;
        }
        let task = self.tasks.get(&task);
        lane.recording = task.is_some_and(|task| !task.open.is_empty());
        lane.ahead = task.is_some_and(|task| task.asked.is_some());
    }

    /// The running task executed a mark.
    pub fn marked(&mut self, cpu: usize, lane: &mut Lane, mark: Mark) -> Turn {
        self.collect(cpu, lane);
        lane.ahead = mark.looks_ahead();
        self.task(cpu).asked = Some(mark).filter(|mark| mark.looks_ahead());
        let turn = match mark {
            Mark::Begin => self.begin(cpu),
            Mark::End => self.end(cpu),
            Mark::Small => {
                self.huge.clear();
                // Whoever starts to tell is in no region: what a dead task at the same place left open is not its.
                let left = self.task(cpu).open.len();
                self.task(cpu).open.clear();
                self.closed(left)
            }
            Mark::Letter | Mark::Huge => Turn::Same,
        };
        lane.recording = !self.task(cpu).open.is_empty();
        turn
    }

    /// The access that the last mark asked about went to this address.
    pub fn told(&mut self, cpu: usize, lane: &mut Lane, address: u64) {
        lane.ahead = false;
        match self.task(cpu).asked.take() {
            Some(Mark::Letter) => self.task(cpu).letter(address.to_le_bytes()[0]),
            Some(Mark::Huge) => self.huge.insert(address),
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
        let id = self.running.get(cpu).copied().unwrap_or_default();
        if let Some(task) = self.tasks.get_mut(&id) {
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

    /// The account of all regions that have ended. One that never did is not in it.
    #[must_use]
    pub fn account(&self, api: u32, nonce: u64) -> Account {
        Account {
            api,
            nonce,
            machines: self.benches.iter().map(|bench| bench.name.clone()).collect(),
            regions: self.regions.clone(),
            faults: self.faults.clone(),
        }
    }

    fn task(&mut self, cpu: usize) -> &mut Task {
        let id = self.running.get(cpu).copied().unwrap_or_default();
        let machines = self.benches.len();
        self.tasks.entry(id).or_insert_with(|| Task::new(machines))
    }

    fn begin(&mut self, cpu: usize) -> Turn {
        let said = self.task(cpu).take_name();
        let name = is_name(&said).then(|| said.clone());
        if name.is_none() {
            self.fault(format!("a region's name is none: {said:?}"));
        }
        if self.task(cpu).open.len() >= MAX_DEPTH {
            self.fault(format!("{said}: more than {MAX_DEPTH} regions, one in the other"));
            return Turn::Same;
        }
        let first = self.open == 0;
        if first {
            for bench in &mut self.benches {
                bench.cores.iter_mut().for_each(Core::clear);
                bench.l3.iter_mut().for_each(Cache::clear);
            }
        }
        let occupancy = self
            .benches
            .iter()
            .map(|bench| OccupancyCounter::new(&bench.machine, OccupancyCounter::ACCESSES))
            .collect();
        let task = self.task(cpu);
        let start = task.tally.clone();
        task.open.push(Open { name, start, occupancy });
        self.open += 1;
        if first { Turn::Begins } else { Turn::Same }
    }

    fn end(&mut self, cpu: usize) -> Turn {
        let task = self.task(cpu);
        let Some(open) = task.open.pop() else {
            self.fault("a region ended that had not begun".to_owned());
            return Turn::Same;
        };
        let inside = task.tally.since(&open.start);
        self.book(open, &inside);
        self.closed(1)
    }

    fn closed(&mut self, regions: usize) -> Turn {
        let was = self.open;
        self.open = was.saturating_sub(regions);
        if was > 0 && self.open == 0 { Turn::Ends } else { Turn::Same }
    }

    fn book(&mut self, open: Open, inside: &Tally) {
        let Some(name) = open.name else { return };
        let place = match self.places.get(&name) {
            Some(place) => *place,
            None if self.regions.len() >= MAX_REGIONS => {
                return self.fault(format!("more than {MAX_REGIONS} regions"));
            }
            None => {
                self.places.insert(name.clone(), self.regions.len());
                let names = || self.benches.iter().map(|bench| bench.name.clone());
                self.regions.push(RegionAccount {
                    name,
                    occupancy: names().zip(open.occupancy.iter().map(OccupancyCounter::finish)).collect(),
                    machines: names().map(|name| (name, Default::default())).collect(),
                    ..RegionAccount::default()
                });
                self.regions.len() - 1
            }
        };
        let Some(region) = self.regions.get_mut(place) else { return };
        region.entered += 1;
        region.loads += inside.loads;
        region.stores += inside.stores;
        region.crossings += inside.crossings;
        for (bench, counts) in self.benches.iter().zip(&inside.machines) {
            let sum = region.machines.entry(bench.name.clone()).or_default();
            *sum = *sum + *counts;
        }
    }

    fn fault(&mut self, what: String) {
        if self.faults.len() < MAX_FAULTS {
            self.faults.push(what);
        }
    }
}
