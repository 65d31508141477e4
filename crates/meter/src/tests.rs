//! What vCPUs tell, and what the account says of it.

mod hostile;
mod models;
mod regions;

use mthp_cachemodel::{Access, Machine};
use mthp_record::cost::{Account, Mark};

use super::{Lane, Meter, Turn};

/// A machine with some vCPUs, as QEMU would drive the meter.
struct Guest {
    meter: Meter,
    lanes: Vec<Lane>,
}

impl Guest {
    fn new(cpus: usize) -> Self {
        Self::with(&[], cpus)
    }

    /// One that is played through these machines' models.
    fn with(machines: &[&Machine], cpus: usize) -> Self {
        let machines = machines.iter().map(|machine| (machine.name.clone(), (*machine).clone()));
        Self { meter: Meter::new(machines.collect(), cpus), lanes: (0..cpus).map(|_| Lane::new()).collect() }
    }

    fn switch(&mut self, cpu: usize, task: u64) {
        self.meter.switched(cpu, &mut self.lanes[cpu], task);
    }

    fn mark(&mut self, cpu: usize, mark: Mark) -> Turn {
        self.meter.marked(cpu, &mut self.lanes[cpu], mark)
    }

    /// An access of user space, as the plugin handles it.
    fn access(&mut self, cpu: usize, vaddr: u64, size: u8, store: bool) {
        let lane = &mut self.lanes[cpu];
        if lane.is_asked() {
            return self.meter.told(cpu, lane, vaddr);
        }
        if lane.records() && lane.push(Access { vaddr, paddr: vaddr, size, store, huge: false }) {
            self.meter.collect(cpu, lane);
        }
    }

    /// Loads of eight bytes each, one behind the other.
    fn loads(&mut self, cpu: usize, count: u64) {
        for at in 0..count {
            self.access(cpu, 0x1000 + 8 * at, 8, false);
        }
    }

    /// A load from each of these lines of 64 bytes.
    fn lines(&mut self, cpu: usize, lines: &[u64]) {
        for line in lines {
            self.access(cpu, line * 64, 8, false);
        }
    }

    fn say(&mut self, cpu: usize, letters: &[u8]) {
        for letter in letters {
            self.mark(cpu, Mark::Letter);
            self.access(cpu, 0x40_0000 + u64::from(*letter), 1, false);
        }
    }

    fn begin(&mut self, cpu: usize, name: &str) -> Turn {
        self.say(cpu, name.as_bytes());
        self.mark(cpu, Mark::Begin)
    }

    fn end(&mut self, cpu: usize) -> Turn {
        self.mark(cpu, Mark::End)
    }

    fn tell_huge(&mut self, cpu: usize, addresses: &[u64]) {
        self.mark(cpu, Mark::Small);
        for address in addresses {
            self.mark(cpu, Mark::Huge);
            self.access(cpu, *address, 1, false);
        }
    }

    fn account(mut self) -> Account {
        self.meter.account(1, 7)
    }

    fn faults(self) -> Vec<String> {
        self.account().faults
    }

    /// Name, times entered, loads, stores, of an account without faults.
    fn regions(self) -> Vec<(String, u64, u64, u64)> {
        let account = self.account();
        assert!(account.faults.is_empty(), "{:?}", account.faults);
        account.regions.into_iter().map(|it| (it.name, it.entered, it.loads, it.stores)).collect()
    }
}

fn region(name: &str, entered: u64, loads: u64, stores: u64) -> (String, u64, u64, u64) {
    (name.to_owned(), entered, loads, stores)
}
