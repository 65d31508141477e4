//! A pattern in a region of its own, and what is known of it without a plugin.

use std::{collections::BTreeSet, fmt::Display, hint::black_box, ops::AddAssign, time::Instant};

use anyhow::{Context, Result};
use mthp_mark::Region;
use mthp_record::{
    cost::{LOADS_ASKED, STORES_ASKED},
    result::{Polarity, Unit},
};
use serde::{Deserialize, Serialize};

use super::{
    layout::{Arranged, arrange},
    pmu::Pmu,
};
use crate::{
    mem::{
        self, Area, KIB, Kind, MIB, PAGE,
        huge::{blocks_in, huge_blocks},
        pagemap::{Pagemap, frame},
    },
    suite::{Findings, layout, layout::Layout},
};

/// What one way of a small cache of the second level spans (512 KiB in 8 ways): addresses that are equal modulo
/// this share their sets.
const SPAN: usize = 64 * KIB;

/// For the small pages that a test needs besides.
const SPARE: usize = 4 * MIB;

/// Where a test's areas lie once they are touched.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Facts {
    gap_kib: i64,
    gap_max_kib: i64,
    huge_kib: i64,
    /// How many different starts they have modulo [`SPAN`], by address.
    starts: i64,
    /// The same by physical address.
    frame_starts: i64,
    maps: String,
}

impl Facts {
    /// Looks at areas of this process.
    ///
    /// # Errors
    /// When the kernel does not say where they lie.
    pub fn of(areas: &[Area]) -> Result<Self> {
        let placed = Layout::of(areas)?;
        let (gap_kib, gap_max_kib) = placed.gap_bounds();
        let ranges: Vec<_> = areas.iter().map(Area::range).collect();
        let pagemap = Pagemap::open()?;
        let frames = areas
            .iter()
            .map(|area| {
                let frame = frame(pagemap.entry(area.start())?).context("an area's first page is absent")?;
                Ok(usize::try_from(frame)? * PAGE)
            })
            .collect::<Result<Vec<_>>>()?;
        Ok(Self {
            gap_kib,
            gap_max_kib,
            huge_kib: layout::kib(blocks_in(&huge_blocks()?, &ranges) * mem::PMD),
            starts: distinct(areas.iter().map(Area::start)),
            frame_starts: distinct(frames),
            maps: placed.maps,
        })
    }
}

/// How many of `addresses` differ modulo [`SPAN`].
fn distinct(addresses: impl IntoIterator<Item = usize>) -> i64 {
    layout::count(addresses.into_iter().map(|address| address % SPAN).collect::<BTreeSet<_>>().len())
}

/// Makes this process's own pages present, so that none of them faults inside a region; puts the physical memory for
/// `small` bytes of small pages in the order of layout `seed`; and ends the free gap `phase` bytes past a PMD boundary.
///
/// # Errors
/// The kernel's.
pub fn prepare(phase: usize, seed: u64, small: usize) -> Result<Arranged> {
    // What is used later is used once before.
    mem::minor_faults()?;
    huge_blocks()?;
    mem::settle_own_pages()?;
    let arranged = arrange(seed, small + SPARE)?;
    mem::pin_gap(phase)?;
    Ok(arranged)
}

/// Maps `count` areas, each alone, and then touches all of them.
///
/// # Errors
/// The kernel's.
pub fn map_then_touch(count: usize, len: usize) -> Result<Vec<Area>> {
    let areas = (0..count).map(|_| mem::map(Kind::Private, len)).collect::<Result<Vec<_>>>()?;
    areas.iter().for_each(Area::touch);
    Ok(areas)
}

/// Maps `count` areas and touches each of them before the next one is mapped, as a loader does.
///
/// # Errors
/// The kernel's.
pub fn map_and_touch(count: usize, len: usize) -> Result<Vec<Area>> {
    (0..count)
        .map(|_| {
            let area = mem::map(Kind::Private, len)?;
            area.touch();
            Ok(area)
        })
        .collect()
}

/// What came of a pattern.
#[derive(Debug)]
pub struct Inside<T> {
    /// What it computed.
    pub answer: T,
    /// The faults that it met.
    pub faults: i64,
    /// Hardware events, where the guest has a PMU.
    pub events: Vec<(String, i64)>,
}

impl<T: AddAssign> Inside<T> {
    /// Adds another turn of the same pattern.
    pub fn add(&mut self, turn: Self) {
        self.answer += turn.answer;
        self.faults += turn.faults;
        for (name, count) in turn.events {
            match self.events.iter_mut().find(|(known, _)| *known == name) {
                Some((_, sum)) => *sum += count,
                None => self.events.push((name, count)),
            }
        }
    }
}

impl<T> Inside<T> {
    /// The same with another answer, for a pattern that leaves its result in memory.
    pub fn answers<U>(self, answer: U) -> Inside<U> {
        Inside { answer, faults: self.faults, events: self.events }
    }
}

/// Tells the plugin which blocks are huge.
///
/// # Errors
/// When the kernel does not say which.
pub fn tell_huge() -> Result<()> {
    let huge = huge_blocks()?;
    // SAFETY: a block that a huge page maps is present, and this process maps nothing that it may not read.
    unsafe { mthp_mark::tell_huge(huge) };
    Ok(())
}

/// Runs `pattern`, and takes its time in microseconds of the guest's clock.
pub fn timed<T>(pattern: impl FnOnce() -> T) -> (T, u128) {
    let started = Instant::now();
    let answer = black_box(pattern());
    (answer, started.elapsed().as_micros())
}

/// Runs `pattern` inside the region. It makes no system call and does not allocate.
///
/// # Errors
/// When the kernel does not say which blocks are huge, or how often this process faulted.
pub fn inside<T>(region: &str, pattern: impl FnOnce() -> T) -> Result<Inside<T>> {
    tell_huge()?;
    let mut pmu = Pmu::open();
    let before = mem::minor_faults()?;
    pmu.begin()?;
    let region = Region::begin(region);
    let answer = black_box(pattern());
    drop(region);
    let events = pmu.end()?;
    let faults = mem::minor_faults()? - before;
    Ok(Inside { answer, faults, events })
}

/// How many accesses a pattern's source asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// Loads.
    pub loads: usize,
    /// Stores.
    pub stores: usize,
}

/// All that is reported of one region.
#[derive(Debug, Serialize, Deserialize)]
pub struct Measured {
    facts: Facts,
    asked: Asked,
    answer: String,
    faults: i64,
    events: Vec<(String, i64)>,
    micros: Option<String>,
}

impl Measured {
    /// Puts it together.
    pub fn new<T: Display>(facts: Facts, asked: Asked, inside: Inside<T>) -> Self {
        let Inside { answer, faults, events } = inside;
        Self { facts, asked, answer: answer.to_string(), faults, events, micros: None }
    }

    /// Adds how many microseconds the pattern took outside any region and inside: what modelling it costs.
    pub fn took(self, outside: u128, inside: u128) -> Self {
        Self { micros: Some(format!("outside {outside}\ninside {inside}\n")), ..self }
    }

    /// Reports it. `part` is empty, or the name of the part of the test with a dot; `expected` is what the pattern
    /// should have computed.
    pub fn report(self, findings: &mut Findings, part: &str, expected: impl Display) {
        let mut fact = |name: &str, value, unit| {
            findings.metric(&format!("{part}{name}"), value, unit, Polarity::Neutral);
        };
        fact("gap-kib", self.facts.gap_kib, Unit::Kib);
        fact("gap-max-kib", self.facts.gap_max_kib, Unit::Kib);
        fact("huge-kib", self.facts.huge_kib, Unit::Kib);
        fact("starts-mod-64kib", self.facts.starts, Unit::Count);
        fact("frame-starts-mod-64kib", self.facts.frame_starts, Unit::Count);
        fact(LOADS_ASKED, layout::count(self.asked.loads), Unit::Count);
        fact(STORES_ASKED, layout::count(self.asked.stores), Unit::Count);
        for (name, count) in self.events {
            fact(&name, count, Unit::Count);
        }
        findings.check(
            &format!("{part}answer-is-right"),
            "what the pattern computed is what its memory held",
            self.answer,
            expected.to_string(),
        );
        findings.check(
            &format!("{part}no-faults-inside"),
            "all that the pattern uses was present: no fault inside the region",
            self.faults,
            0,
        );
        findings.evidence(&format!("{part}maps"), self.facts.maps);
        if let Some(micros) = self.micros {
            findings.evidence(&format!("{part}micros"), micros);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn starts_are_told_apart_by_where_they_fall_in_a_way() {
        assert_eq!(distinct([0, SPAN, 3 * SPAN]), 1);
        assert_eq!(distinct([0, PAGE, SPAN + PAGE]), 2);
        assert_eq!(distinct([]), 0);
    }

    #[test]
    fn turns_add_up_with_their_events() {
        let turn = |count| Inside { answer: 2, faults: 1, events: vec![("pmu.loads".to_owned(), count)] };
        let mut total = Inside { answer: 0, faults: 0, events: Vec::new() };
        total.add(turn(3));
        total.add(turn(4));
        assert_eq!((total.answer, total.faults), (4, 2));
        assert_eq!(total.events, [("pmu.loads".to_owned(), 7)]);
    }

    #[test]
    fn a_part_is_told_by_its_name() {
        let inside = Inside { answer: 3, faults: 1, events: vec![("pmu.l1d-misses".to_owned(), 9)] };
        let measured = Measured::new(Facts::default(), Asked { loads: 7, stores: 0 }, inside);
        let mut findings = Findings::default();
        measured.report(&mut findings, "hot.", 3);
        let result = findings.into_result("cost/x");
        let value = |name: &str| result.metrics.iter().find(|metric| metric.name == name).map(|it| it.value);
        assert_eq!(value("hot.loads-asked"), Some(7));
        assert_eq!(value("hot.pmu.l1d-misses"), Some(9));
        let checks: Vec<_> = result.checks.iter().map(|it| (it.name.as_str(), it.passed)).collect();
        assert_eq!(checks, [("hot.answer-is-right", true), ("hot.no-faults-inside", false)]);
    }
}
