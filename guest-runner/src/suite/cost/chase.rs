//! Chasing pointers through the shards of a model: each shard mapped alone and filled before the next one.
//!
//! Every line of a shard holds the index of the next one, in one random cycle, so a load waits for the one before
//! it. A shard's cycle is gone through once, then comes the next shard. The test's own region takes whole shards,
//! the part `hot` only the first pages of each, which together fit a cache of the second level if they do not fall
//! into the same sets.

use anyhow::Result;

use super::{
    access::{load, slice},
    cost_test, layout,
    measure::{Asked, Facts, Measured, inside, map_and_touch, prepare},
};
use crate::{
    isolate::isolated,
    mem::{KIB, MIB},
    random::Random,
    suite::{Findings, Test},
};

const SHARDS: usize = 16;
/// Bytes, and numbers, in a cache line.
const LINE: usize = 64;
const WORDS: usize = LINE / size_of::<usize>();
/// Twice: the second round shows what the caches kept.
const WHOLE_ROUNDS: usize = 2;
/// 16 KiB of each shard are 256 KiB in all: half of a cache of the second level.
const HOT: usize = 16 * KIB;
const HOT_ROUNDS: usize = 64;

/// Shards of 0.5 to 1.8 MiB: no kernel aligns them.
pub const TESTS: &[Test] = &[
    cost_test!("cost/chase-512KiB", run, 512 * KIB),
    cost_test!("cost/chase-1MiB", run, MIB),
    cost_test!("cost/chase-1844KiB", run, 1844 * KIB),
];

/// The hot part with other layouts of the physical memory; a region for each of them.
pub const LAYOUTS: &[Test] = &[cost_test!("cost/layouts-chase-512KiB", layouts, 512 * KIB)];

fn run(findings: &mut Findings, name: &str, len: usize) -> Result<()> {
    let whole = isolated(|| measure(name, 0, len, len, WHOLE_ROUNDS))?;
    whole.report(findings, "", expected(len, WHOLE_ROUNDS));
    let hot = isolated(|| measure(&format!("{name}/hot"), 0, len, HOT, HOT_ROUNDS))?;
    hot.report(findings, "hot.", expected(HOT, HOT_ROUNDS));
    Ok(())
}

fn layouts(findings: &mut Findings, name: &str, len: usize) -> Result<()> {
    for seed in layout::SEEDS {
        let region = format!("{name}/layout-{seed}");
        let measured = isolated(|| measure(&region, seed, len, HOT, HOT_ROUNDS))?;
        measured.report(findings, &format!("layout-{seed}."), expected(HOT, HOT_ROUNDS));
    }
    Ok(())
}

/// Goes through the first `part` bytes of shards of `len` bytes.
fn measure(region: &str, seed: u64, len: usize, part: usize, rounds: usize) -> Result<Measured> {
    let lines = part / LINE;
    let mut random = Random::seeded(1);
    let _arranged = prepare(0, seed, SHARDS * len)?;
    let mut areas = map_and_touch(SHARDS, len)?;
    let facts = Facts::of(&areas)?;
    let mut shards: Vec<&[usize]> = Vec::with_capacity(SHARDS);
    for area in &mut areas {
        let shard = slice(area);
        link(shard, &random.cycle(lines));
        shards.push(shard);
    }
    let asked = Asked { loads: rounds * SHARDS * lines, stores: 0 };
    Ok(Measured::new(facts, asked, inside(region, || chase(&shards, lines, rounds))?))
}

/// Writes the cycle: the first word of each line is the index of the next line's.
fn link(shard: &mut [usize], cycle: &[usize]) {
    shard.iter_mut().step_by(WORDS).zip(cycle).for_each(|(place, next)| *place = next * WORDS);
}

/// The sum of all indices that were met.
fn chase(shards: &[&[usize]], lines: usize, rounds: usize) -> usize {
    let mut sum = 0;
    for _ in 0..rounds {
        for shard in shards {
            let mut at = 0;
            for _ in 0..lines {
                at = load(&shard[at]);
                sum += at;
            }
        }
    }
    sum
}

/// A cycle meets each line once.
fn expected(part: usize, rounds: usize) -> usize {
    let lines = part / LINE;
    rounds * SHARDS * WORDS * (lines * (lines - 1) / 2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chase_meets_every_line_of_every_shard() {
        let mut random = Random::seeded(2);
        let shards: Vec<Vec<usize>> = (0..SHARDS)
            .map(|_| {
                let mut shard = vec![0; 1024 / size_of::<usize>()];
                link(&mut shard, &random.cycle(1024 / LINE));
                shard
            })
            .collect();
        let shards: Vec<&[usize]> = shards.iter().map(Vec::as_slice).collect();
        assert_eq!(chase(&shards, 1024 / LINE, 3), expected(1024, 3));
    }
}
