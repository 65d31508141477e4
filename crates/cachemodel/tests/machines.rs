//! The machines that are shipped.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a helper of tests may be as blunt as they are")]

use std::{collections::BTreeMap, path::Path};

use mthp_cachemodel::{Access, CacheSpec, Core, Kind, LINE, Machine};
use mthp_record::cost::Counts;

fn machines() -> BTreeMap<String, Machine> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/machines");
    let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path());
    let parse = |path: std::path::PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        let machine = Machine::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path.file_stem().unwrap().to_str().unwrap().to_owned(), machine)
    };
    files.map(parse).collect()
}

#[test]
fn a_machine_is_called_as_its_file() {
    let machines = machines();
    assert!(machines.len() >= 9, "{:?}", machines.keys());
    for (file, machine) in &machines {
        assert_eq!(&machine.name, file);
        assert!(!machine.title.is_empty() && machine.title != machine.name);
    }
}

#[test]
fn what_is_nearer_is_faster_and_smaller() {
    for machine in machines().values() {
        let latency = &machine.latency;
        let times = [Some(latency.l1), Some(latency.l2), latency.l3, Some(latency.memory)];
        assert!(times.iter().flatten().is_sorted_by(|a, b| a < b), "{}", machine.name);
        let caches = [Some(&machine.l1d), Some(&machine.l2), machine.l3.as_ref()];
        let sizes = caches.into_iter().flatten().map(|cache| cache.size_kib);
        assert!(sizes.is_sorted_by(|a, b| a < b), "{}", machine.name);
    }
}

#[test]
fn a_cpu_says_where_each_figure_is_from_and_a_what_if_that_it_is_none() {
    for machine in machines().values() {
        match machine.kind {
            Kind::WhatIf => assert!(machine.note.starts_with("No CPU"), "{}", machine.name),
            Kind::Cpu => {
                assert!(machine.origins().all(|origin| !origin.source.is_empty()), "{}", machine.name);
                assert!(machine.sources.iter().all(|source| source.url.is_some()), "{}", machine.name);
            }
        }
        let cited = |id: &str| machine.origins().any(|origin| origin.source.contains(id));
        assert!(
            machine.sources.iter().all(|source| cited(&source.id)),
            "{}: a source is not used",
            machine.name
        );
    }
}

#[test]
fn a_variant_of_zen3_differs_in_what_it_asks() {
    let machines = machines();
    let zen3 = &machines["zen3"];
    for name in ["zen3-hashed", "zen3-l2-32way"] {
        let mut variant = machines[name].clone();
        assert_ne!(variant.l2, zen3.l2);
        variant.l2 = zen3.l2.clone();
        variant.name.clone_from(&zen3.name);
        variant.title.clone_from(&zen3.title);
        variant.note.clone_from(&zen3.note);
        variant.kind = zen3.kind;
        assert_eq!(&variant, zen3, "{name}");
    }
    let same_size = |cache: &CacheSpec| cache.size_kib == zen3.l2.size_kib;
    assert!(same_size(&machines["zen3-hashed"].l2) && same_size(&machines["zen3-l2-32way"].l2));
}

/// Sixteen arrays on boundaries of 2 MiB, the same eight lines of each, twice: with eight ways each line is gone when
/// it comes again, with a hash or with more ways it is still there.
#[test]
fn a_hash_or_more_ways_undo_aliasing() {
    let access = |at: u64| Access { vaddr: at, paddr: at, size: 8, store: false, huge: false };
    let batch: Vec<Access> = (0..2 * 8)
        .flat_map(|step| (0..16).map(move |array| (array << 21) + (step % 8) * LINE))
        .map(access)
        .collect();
    let l2_misses = |name: &str| {
        let mut counts = Counts::default();
        let machine = &machines()[name];
        Core::new(machine).run(machine.new_l3().as_mut(), &batch, &mut counts);
        counts.l2_misses
    };
    let first_time = 8 * 16;
    assert_eq!(l2_misses("trial"), 2 * first_time);
    assert_eq!(l2_misses("zen3"), 2 * first_time);
    assert_eq!(l2_misses("zen3-hashed"), first_time);
    assert_eq!(l2_misses("zen3-l2-32way"), first_time);
}
