//! The tasks that have something to do with regions, and which one each vCPU runs.

use std::collections::HashMap;

use crate::task::{Open, Task};

/// The most tasks that are in regions, or about to be, at a time: a guest may make as many as it likes.
pub(crate) const MAX_TASKS: usize = 256;

#[derive(Debug)]
pub(crate) struct Tasks {
    /// How many machines each is counted for.
    machines: usize,
    /// One that is not there is in no region and has said nothing.
    known: HashMap<u64, Task>,
    /// What each vCPU runs; 0 until the first switch was seen.
    running: Vec<u64>,
}

impl Tasks {
    pub(crate) fn new(machines: usize, cpus: usize) -> Self {
        Self { machines, known: HashMap::new(), running: vec![0; cpus] }
    }

    pub(crate) fn switch(&mut self, cpu: usize, task: u64) {
        if let Some(running) = self.running.get_mut(cpu) {
            *running = task;
        }
    }

    /// What the vCPU runs, if it is known.
    pub(crate) fn running(&mut self, cpu: usize) -> Option<&mut Task> {
        let id = self.id(cpu);
        self.known.get_mut(&id)
    }

    /// What the vCPU runs; from now on it is known. `None` where it is one too many.
    pub(crate) fn enter(&mut self, cpu: usize) -> Option<&mut Task> {
        let id = self.id(cpu);
        if self.known.len() >= MAX_TASKS && !self.known.contains_key(&id) {
            self.known.retain(|_, task| !task.is_idle());
            if self.known.len() >= MAX_TASKS {
                return None;
            }
        }
        let machines = self.machines;
        Some(self.known.entry(id).or_insert_with(|| Task::new(machines)))
    }

    /// Forgets all of them. Gives back the regions that they are in, in no order.
    pub(crate) fn take_open(&mut self) -> impl Iterator<Item = Open> {
        self.known.drain().flat_map(|(_, task)| task.open)
    }

    fn id(&self, cpu: usize) -> u64 {
        self.running.get(cpu).copied().unwrap_or_default()
    }
}
