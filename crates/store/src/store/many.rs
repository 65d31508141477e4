//! Years of runs: what is asked for must not be searched for.

use std::{fs, path::Path, time::Instant};

use rusqlite::types::Value;

use super::{Store, read};
use crate::{
    run::{Filter, Outcome},
    sample,
    show::{
        Look,
        plot::{self, Picture},
        runs, track,
    },
};

/// Runs: one a night for 27 years.
const RUNS: usize = 10_000;
/// The metric that is looked at.
const NAME: &str = "group/case-3:value";

/// A store of [`RUNS`] runs, of which every tenth failed and the others have `names` metrics and as many checks.
fn years(path: &Path, names: usize) -> Store {
    let mut store = Store::open(path).unwrap();
    store.add(&sample::run(&sample::series("main", "one"), 1, Outcome::Good), &[]).unwrap();
    let numbers = |last: usize| {
        format!(
            "WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < {last})"
        )
    };
    store
        .connection
        .execute_batch(&format!(
            "BEGIN;
             {} INSERT INTO runs
                 SELECT n, series, created, printf('%040x', n), 'mm: change number ' || n, committed, n,
                     suite_sha256, image_sha256, tool_version, iif(n % 10, 'good', 'failed'),
                     iif(n % 10, NULL, 'kernel panic'), report, build_millis, boots_millis
                 FROM numbers CROSS JOIN runs;
             {} INSERT INTO names
                 SELECT 2 * n, 'group/case-' || n, 'value', 'count', 'lower' FROM numbers
                 UNION ALL SELECT 2 * n + 1, 'group/case-' || n, 'holds', '', '' FROM numbers;
             INSERT INTO series_names SELECT 1, id, 1 FROM names;
             INSERT INTO metrics
                 SELECT names.id, runs.id, runs.id / 500 * names.id, runs.id / 500 * names.id, 2
                 FROM names CROSS JOIN runs WHERE unit <> '' AND outcome = 'good';
             INSERT INTO checks
                 SELECT names.id, runs.id, 2, 0 FROM names CROSS JOIN runs WHERE unit = '' AND outcome = 'good';
             COMMIT; PRAGMA wal_checkpoint (TRUNCATE);",
            numbers(RUNS),
            numbers(names + 1),
        ))
        .unwrap();
    store
}

#[test]
fn ten_thousand_runs_are_listed_tabled_and_drawn() {
    let place = tempfile::tempdir().unwrap();
    let store = years(&place.path().join("history.sqlite"), 4);
    let newest = store.runs(&Filter::default(), 30).unwrap();
    assert_eq!(newest.len(), 30);
    assert_eq!(newest[0].run.revision.position, u64::try_from(RUNS).ok());

    let tracks = store.tracks(&Filter::default(), NAME).unwrap();
    assert_eq!(tracks[0].points.len(), RUNS);
    let text = track(&tracks[0], 30, Look::Terminal { width: 100, color: false });
    assert!(text.contains("the newest 30 of 10000 runs; 19 changes before them"), "{text}");
    let svg = plot::render(&tracks, usize::MAX, Picture::Svg).unwrap();
    assert!(svg.len() < 200_000, "{} bytes: neighbours share columns", svg.len());
}

#[test]
fn no_query_looks_through_all_rows_or_sorts_them() {
    let place = tempfile::tempdir().unwrap();
    let store = years(&place.path().join("history.sqlite"), 4);
    let ours = [read::RUNS, read::LAST_GOOD, read::METRIC, read::CHECK, read::NAMES, read::NAME];
    for query in ours {
        let mut statement = store.connection.prepare(&format!("EXPLAIN QUERY PLAN {query}")).unwrap();
        let unbound = vec![Value::Integer(1); statement.parameter_count()];
        let steps =
            statement.query_map(rusqlite::params_from_iter(unbound), |row| row.get("detail")).unwrap();
        let steps: Vec<String> = steps.map(Result::unwrap).collect();
        assert!(steps.iter().all(|step| step.starts_with("SEARCH")), "{query}: {steps:?}");
    }
}

#[test]
#[ignore = "prints how large such a store is and how long one waits for it"]
fn as_many_values_as_a_suite_has() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("history.sqlite");
    let store = years(&path, 300);
    println!("{} MB", fs::metadata(&path).unwrap().len() / 1_000_000);
    drop(store);
    let look = Look::Terminal { width: 100, color: false };
    let began = Instant::now();
    let listed = runs(&Store::open(&path).unwrap().runs(&Filter::default(), 30).unwrap(), look);
    println!("list: {:?}, {} bytes", began.elapsed(), listed.len());
    for picture in [Picture::Svg, Picture::Png] {
        let began = Instant::now();
        let tracks = Store::open(&path).unwrap().tracks(&Filter::default(), NAME).unwrap();
        let read = began.elapsed();
        let (text, plot) = (track(&tracks[0], 30, look), plot::render(&tracks, usize::MAX, picture).unwrap());
        println!(
            "{picture:?}: read {read:?}, all {:?}, {} and {} bytes",
            began.elapsed(),
            text.len(),
            plot.len()
        );
    }
}
