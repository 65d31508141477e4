use std::collections::BTreeSet;

use proptest::prelude::*;

use super::*;

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn nightly() -> Nightly {
    let tree = Source::Tree { tree: "https://k.org/l.git".to_owned(), branch: "linux-6.12.y".to_owned() };
    Nightly {
        suites: names(&["memory"]),
        targets: vec![
            Target { name: "stable-6.12".to_owned(), source: tree, suites: names(&["memory", "swap"]) },
            Target {
                name: "debian".to_owned(),
                source: Source::Kernel("stock-6.12".to_owned()),
                suites: names(&["memory"]),
            },
        ],
    }
}

fn plan(kernels: &[&str], suites: &[&str], shards: u32) -> Result<Vec<Job>, BadInput> {
    let (known_kernels, known_suites) =
        (names(&["stock-6.1", "stock-6.12"]), names(&["alignment", "memory", "swap"]));
    let known = Known { kernels: &known_kernels, suites: &known_suites };
    jobs(&nightly(), known, &Wanted { kernels: names(kernels), suites: names(suites), shards })
}

fn short(jobs: &[Job]) -> Vec<&str> {
    jobs.iter().map(|job| job.name.as_str()).collect()
}

#[test]
fn without_a_wish_it_is_what_the_file_says() {
    let jobs = plan(&[], &[], 1).unwrap();
    assert_eq!(short(&jobs), ["stable-6.12_memory", "stable-6.12_swap", "debian_memory"]);
    assert_eq!((jobs[0].tree.as_str(), jobs[0].branch.as_str()), ("https://k.org/l.git", "linux-6.12.y"));
    assert_eq!((jobs[0].kernel.as_str(), jobs[2].kernel.as_str()), ("", "stock-6.12"));
    assert_eq!((jobs[0].shard.as_str(), jobs[0].partition.as_str()), ("1/1", "count:1/1"));
}

#[test]
fn wishes_take_the_place_of_what_the_file_says() {
    let jobs = plan(&["stock-6.1", "debian", "debian"], &["swap", "swap"], 2).unwrap();
    let expected =
        ["stock-6.1_swap_1-of-2", "stock-6.1_swap_2-of-2", "debian_swap_1-of-2", "debian_swap_2-of-2"];
    assert_eq!(short(&jobs), expected);
    assert_eq!((jobs[1].shard.as_str(), jobs[1].shards, jobs[1].partition.as_str()), ("2/2", 2, "count:2/2"));
    assert_eq!(short(&plan(&["stock-6.1"], &[], 1).unwrap()), ["stock-6.1_memory"]);
}

#[test]
fn what_is_not_known_is_refused_with_what_there_is() {
    let error = plan(&["nope"], &[], 1).unwrap_err().0;
    assert!(
        error.contains("'nope'; there are: stable-6.12, debian (configs/nightly.toml), stock-6.1"),
        "{error}"
    );
    let error = plan(&[], &["nope"], 1).unwrap_err().0;
    assert_eq!(error, "failed to find a suite named 'nope'; there are: alignment, memory, swap");
}

#[test]
fn github_takes_256_jobs_and_not_one_more() {
    let jobs = plan(&["debian"], &[], 256).unwrap();
    assert_eq!(Matrix::of(&jobs).unwrap().include.len(), 256);
    let jobs = plan(&[], &[], 86).unwrap();
    let error = Matrix::of(&jobs).unwrap_err().0;
    assert!(error.contains("258 jobs: GitHub takes 256 at most"), "{error}");
}

#[test]
fn a_matrix_is_what_a_workflow_takes() {
    let jobs = plan(&["debian"], &[], 1).unwrap();
    let json = serde_json::to_string(&Matrix::of(&jobs).unwrap()).unwrap();
    let expected = r#"{"include":[{"name":"debian_memory","tree":"","branch":"","kernel":"stock-6.12","suite":"memory","shard":"1/1","shards":1,"partition":"count:1/1"}]}"#;
    assert_eq!(json, expected);
}

#[test]
fn hyphens_in_names_make_no_two_jobs_alike() {
    let suites = names(&["c", "b-c"]);
    let target = |name: &str| Target {
        name: name.to_owned(),
        source: Source::Kernel(name.to_owned()),
        suites: suites.clone(),
    };
    let nightly = Nightly { suites: suites.clone(), targets: vec![target("a"), target("a-b")] };
    let wanted = Wanted { shards: 1, ..Wanted::default() };
    let jobs = jobs(&nightly, Known { kernels: &[], suites: &suites }, &wanted).unwrap();
    assert_eq!(short(&jobs), ["a_c", "a_b-c", "a-b_c", "a-b_b-c"]);
}

proptest! {
    #[test]
    fn names_are_unique_and_safe(
        targets in proptest::collection::btree_set("[a-c0-1][a-c0-1.-]{0,4}", 1..5),
        suites in proptest::collection::btree_set("[a-c0-1][a-c0-1.-]{0,4}", 1..5),
        shards in 1..12_u32,
    ) {
        let suites: Vec<String> = suites.into_iter().collect();
        let targets = targets.into_iter().map(|name| Target {
            source: Source::Kernel(name.clone()), name, suites: suites.clone(),
        });
        let nightly = Nightly { suites: suites.clone(), targets: targets.collect() };
        let known = Known { kernels: &[], suites: &suites };
        let wanted = Wanted { shards, ..Wanted::default() };
        let jobs = jobs(&nightly, known, &wanted).unwrap();
        let names: BTreeSet<&str> = jobs.iter().map(|job| job.name.as_str()).collect();
        prop_assert_eq!(names.len(), jobs.len());
        let safe = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
        prop_assert!(names.iter().all(|name| name.chars().all(safe)));
    }
}
