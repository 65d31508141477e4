//! Builds one kernel of a manifest, with patches on top, and says what it took.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "an example is a program")]

use std::{env, path::PathBuf, sync::atomic::AtomicBool, time::Instant};

use anyhow::{Context, Result};
use mthp_kernel::{Cache, PatchSeries, Recipe, build, fetch, manifest::KernelManifest};

fn main() -> Result<()> {
    let mut arguments = env::args_os().skip(1).map(PathBuf::from);
    let manifest = arguments.next().context("usage: build_one MANIFEST FRAGMENT [PATCH…]")?;
    let fragment = arguments.next().context("usage: build_one MANIFEST FRAGMENT [PATCH…]")?;
    let started = Instant::now();
    let cache = Cache::open(None)?;
    let manifest = KernelManifest::load(&manifest)?;
    let stop = AtomicBool::new(false);
    let events = |event| eprintln!("{event:?}");
    let source = fetch(&cache, &manifest.source(), &events, &stop)?;
    let mut patches = manifest.series()?;
    for path in arguments {
        patches.push(PatchSeries::read(&path, false)?);
    }
    let recipe = Recipe { source: &source, patches, fragments: vec![fragment] };
    let kernel = build(&cache, &recipe, &events, &stop)?;
    println!("{kernel:#?}\n{:?}", started.elapsed());
    Ok(())
}
