//! The regions that have ended, by name.

use std::collections::HashMap;

use mthp_cachemodel::OccupancyCounter;
use mthp_record::cost::{Counts, RegionAccount};

use crate::{
    name::Name,
    task::{Open, Tally},
};

/// The most regions that are kept: a guest may make as many as it likes.
pub(crate) const MAX_REGIONS: usize = 4096;

/// What the account will say of regions.
#[derive(Debug)]
pub(crate) struct Book {
    /// The machines' names.
    machines: Vec<String>,
    regions: Vec<RegionAccount>,
    places: HashMap<String, usize>,
}

impl Book {
    pub(crate) fn new(machines: Vec<String>) -> Self {
        Self { machines, regions: Vec::new(), places: HashMap::new() }
    }

    pub(crate) fn machines(&self) -> &[String] {
        &self.machines
    }

    /// How many regions it has.
    pub(crate) fn len(&self) -> usize {
        self.regions.len()
    }

    /// Is that the name of one of them?
    pub(crate) fn has(&self, name: &Name) -> bool {
        matches!(name, Name::Plain(name) if self.places.contains_key(name))
    }

    /// Adds what was counted inside a region that ended. One that has no name is none.
    ///
    /// # Errors
    /// When it is one too many; in words.
    pub(crate) fn add(&mut self, open: Open, inside: &Tally) -> Result<(), String> {
        let Name::Plain(name) = open.name else { return Ok(()) };
        let place = match self.places.get(&name) {
            Some(place) => *place,
            None if self.regions.len() >= MAX_REGIONS => {
                return Err(format!("more than {MAX_REGIONS} regions"));
            }
            None => self.first(name, &open.occupancy),
        };
        let Some(region) = self.regions.get_mut(place) else { return Ok(()) };
        region.entered += 1;
        region.loads += inside.loads;
        region.stores += inside.stores;
        region.crossings += inside.crossings;
        for (machine, counts) in self.machines.iter().zip(&inside.machines) {
            if let Some(sum) = region.machines.get_mut(machine) {
                *sum = *sum + *counts;
            }
        }
        Ok(())
    }

    /// All regions, in the order in which they first ended. None is left.
    pub(crate) fn take(&mut self) -> Vec<RegionAccount> {
        self.places.clear();
        std::mem::take(&mut self.regions)
    }

    /// Begins a region's account, and says where.
    fn first(&mut self, name: String, occupancy: &[OccupancyCounter]) -> usize {
        let place = self.regions.len();
        self.places.insert(name.clone(), place);
        let machines = || self.machines.iter().cloned();
        self.regions.push(RegionAccount {
            name,
            occupancy: machines().zip(occupancy.iter().map(OccupancyCounter::finish)).collect(),
            machines: machines().map(|machine| (machine, Counts::default())).collect(),
            ..RegionAccount::default()
        });
        place
    }
}
