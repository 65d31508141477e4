//! The same trace through the model and through a second one, valgrind's cachegrind: every miss of every level agrees.
//!
//! `lackey` writes down each access of a small program that is alike in each run, `cachegrind` counts the misses of
//! the same program. Cachegrind takes virtual addresses for physical ones, replaces the least recently used line, and
//! sends the misses of L1i and L1d to one last level: so the instruction fetches of the trace go through an L1i of the
//! model, and no number is only close.
//!
//! Needs the packages `valgrind` and `gcc`; without them the trials are skipped with the reason.

mod trace;
mod valgrind;

use std::sync::LazyLock;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use mthp_cachemodel::{Access, Cache, Core, LINE};
use mthp_record::cost::Counts;
use trace::{Event, Kind};
use valgrind::{Geometry, Skip, Workshop};

/// L1 and the last level, of different sizes and ways; in the last one the levels are the same size.
const GEOMETRIES: [Geometry; 5] = [
    Geometry { l1_kib: 32, l1_ways: 8, last_kib: 512, last_ways: 8 },
    Geometry { l1_kib: 48, l1_ways: 12, last_kib: 2048, last_ways: 16 },
    Geometry { l1_kib: 64, l1_ways: 4, last_kib: 256, last_ways: 32 },
    Geometry { l1_kib: 4, l1_ways: 1, last_kib: 1024, last_ways: 2 },
    Geometry { l1_kib: 16, l1_ways: 2, last_kib: 16, last_ways: 4 },
];

fn main() {
    let arguments = Arguments::from_args();
    let trials = GEOMETRIES.iter().flat_map(|geometry| {
        let name = |what| format!("cachegrind::{what}::{geometry}");
        [
            Trial::ignorable_test(name("every-miss-agrees"), || {
                judge(|shop| every_miss_agrees(geometry, shop))
            }),
            Trial::ignorable_test(name("a-core-is-its-caches"), || {
                judge(|shop| a_core_is_its_caches(geometry, shop))
            }),
        ]
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn judge(test: impl FnOnce(&Workshop) -> Result<(), String>) -> Result<Completion, Failed> {
    static WORKSHOP: LazyLock<Result<Workshop, Skip>> = LazyLock::new(Workshop::open);
    match &*WORKSHOP {
        Ok(shop) => test(shop).map(|()| Completion::Completed).map_err(Failed::from),
        Err(Skip::Missing(reason)) => Ok(Completion::ignored_with(reason)),
        Err(Skip::Broken(reason)) => Err(Failed::from(reason)),
    }
}

/// Instructions and data through two caches and a last level, with cachegrind's own rule for an access to two lines:
/// it is one miss, and all of it goes on to the last level.
fn every_miss_agrees(geometry: &Geometry, shop: &Workshop) -> Result<(), String> {
    let machine = geometry.machine()?;
    let mut l1i = Cache::new(&machine.l1d);
    let mut l1d = Cache::new(&machine.l1d);
    let mut last = Cache::new(&machine.l2);
    let mut seen = valgrind::Misses::default();
    for event in &shop.trace {
        let (l1, l1_misses, last_misses) = match event.kind {
            Kind::Instruction => (&mut l1i, &mut seen.l1i, &mut seen.last_instructions),
            Kind::Data => (&mut l1d, &mut seen.l1d, &mut seen.last_data),
        };
        if !has(l1, event) {
            *l1_misses += 1;
            *last_misses += u64::from(!has(&mut last, event));
        }
    }
    let expected = shop.cachegrind(geometry)?;
    if seen != expected {
        return Err(format!("cachegrind {expected:?}, the model {seen:?}"));
    }
    let telling = expected.last_data > 10_000 && shop.trace.iter().any(|event| event.lines() > 1);
    if telling { Ok(()) } else { Err(format!("a trace that asks little: {expected:?}")) }
}

fn has(cache: &mut Cache, event: &Event) -> bool {
    let lines = event.address / LINE..=(event.address + u64::from(event.size) - 1) / LINE;
    // Each line is used, also behind one that was not there.
    lines.map(|line| cache.access(line * LINE, line * LINE)).fold(true, |all, one| all & one)
}

/// Data alone, through a core as the plugin uses it, without the accesses to two lines, which the two count
/// differently. The last level sees no instructions here, and so cannot be compared.
fn a_core_is_its_caches(geometry: &Geometry, shop: &Workshop) -> Result<(), String> {
    let machine = geometry.machine()?;
    let mut l1d = Cache::new(&machine.l1d);
    let mut last = Cache::new(&machine.l2);
    let mut expected = Counts::default();
    let mut batch = Vec::new();
    let data = shop.trace.iter().filter(|event| event.kind == Kind::Data && event.lines() == 1);
    for event in data {
        expected.l1_accesses += 1;
        if !has(&mut l1d, event) {
            expected.l1_misses += 1;
            expected.l2_misses += u64::from(!has(&mut last, event));
        }
        batch.push(Access {
            vaddr: event.address,
            paddr: event.address,
            size: event.size,
            store: false,
            huge: false,
        });
    }
    let mut core = Core::new(&machine);
    let mut seen = Counts::default();
    batch.chunks(1000).for_each(|part| core.run(None, part, &mut seen));
    let seen = (seen.l1_accesses, seen.l1_misses, seen.l2_misses);
    let expected = (expected.l1_accesses, expected.l1_misses, expected.l2_misses);
    if seen == expected { Ok(()) } else { Err(format!("caches one by one {expected:?}, a core {seen:?}")) }
}
