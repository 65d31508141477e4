use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
};

use mthp_record::boot::Side;
use tempfile::TempDir;

use super::*;
use crate::{
    history::{Kind, Measured},
    regression::{Culprit, NewRegression},
    run::{Filter, Outcome, RunId, Series},
    sample,
};

/// A store in a folder that goes with it.
fn store() -> (Store, TempDir) {
    let place = tempfile::tempdir().unwrap();
    (Store::open(&place.path().join("of/history.sqlite")).unwrap(), place)
}

fn main_series() -> Series {
    sample::series("main", "one")
}

/// Stores a run of two boots with this gap.
fn add(store: &mut Store, n: u64, gap: i64, outcome: Outcome) -> RunId {
    let run = sample::run(&main_series(), n, outcome);
    store.add(&run, &sample::boots(gap, gap == 0)).unwrap()
}

fn rows(store: &Store, table: &str) -> i64 {
    store.connection.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
}

#[test]
fn a_run_comes_back_as_it_went_in() {
    let (mut store, _place) = store();
    for (n, outcome) in [
        Outcome::Good,
        sample::regressed(),
        sample::failed(),
        Outcome::Unjudged { reason: "QEMU is gone".to_owned() },
    ]
    .into_iter()
    .enumerate()
    {
        let mut run = sample::run(&main_series(), n as u64, outcome);
        (run.image_sha256, run.revision.position) = (None, None);
        let id = store.add(&run, &[]).unwrap();
        let stored = store.runs(&Filter::default(), 1).unwrap();
        assert_eq!((stored[0].id, &stored[0].run), (id, &run));
    }
}

#[test]
fn runs_come_newest_first_filtered_and_bounded() {
    let (mut store, _place) = store();
    for n in 0..6 {
        let series = sample::series(if n % 2 == 0 { "main" } else { "next" }, "one");
        store.add(&sample::run(&series, n, Outcome::Good), &[]).unwrap();
    }
    let positions = |filter: &Filter, limit| -> Vec<u64> {
        let runs = store.runs(filter, limit).unwrap();
        runs.iter().filter_map(|run| run.run.revision.position).collect()
    };
    assert_eq!(positions(&Filter::default(), 4), [5, 4, 3, 2]);
    let next = Filter { branch: Some("next".to_owned()), ..Filter::default() };
    assert_eq!(positions(&next, 2), [5, 3]);
    assert_eq!(positions(&Filter { host: Some("two".to_owned()), ..next }, 9), [0; 0]);
}

#[test]
fn the_last_good_run_comes_with_its_boots_but_without_evidence() {
    let (mut store, _place) = store();
    assert_eq!(store.last_good(&main_series()).unwrap(), None);
    let good = add(&mut store, 0, 0, Outcome::Good);
    add(&mut store, 1, 8, sample::regressed());
    add(&mut store, 2, 8, sample::failed());
    let baseline = store.last_good(&main_series()).unwrap().unwrap();
    assert_eq!(baseline.run.id, good);
    assert_eq!(baseline.boots.len(), 2);
    assert_eq!(baseline.boots[0].tests[0].metrics, sample::boot(0, 0, true).tests[0].metrics);
    assert!(baseline.boots.iter().flat_map(|boot| &boot.tests).all(|test| test.evidence.is_empty()));
    assert_eq!(store.last_good(&sample::series("main", "two")).unwrap(), None);
}

#[test]
fn boots_are_kept_of_the_last_good_runs_of_each_series_and_values_of_all() {
    let (mut store, _place) = store();
    let other = sample::series("next", "one");
    store.add(&sample::run(&other, 0, Outcome::Good), &sample::boots(0, true)).unwrap();
    for n in 0..5 {
        add(&mut store, n, 0, Outcome::Good);
        add(&mut store, n, 8, sample::regressed());
    }
    assert_eq!(rows(&store, "boots"), write::KEPT + 1);
    assert_eq!(rows(&store, "metrics"), 11);
    assert_eq!(rows(&store, "checks"), 22);
    assert!(store.last_good(&other).unwrap().is_some());
}

#[test]
fn a_track_has_every_run_from_the_first_with_a_value_on() {
    let (mut store, _place) = store();
    store.add(&sample::run(&main_series(), 0, sample::failed()), &[]).unwrap();
    add(&mut store, 1, 0, Outcome::Good);
    store.add(&sample::run(&main_series(), 2, sample::failed()), &[]).unwrap();
    add(&mut store, 3, 8, sample::regressed());
    let other = sample::series("next", "one");
    store.add(&sample::run(&other, 4, Outcome::Good), &sample::boots(3, true)).unwrap();

    let tracks = store.tracks(&Filter::of(&main_series()), sample::METRIC).unwrap();
    let [track] = tracks.as_slice() else { panic!("{tracks:?}") };
    assert_eq!(track.name.to_string(), sample::METRIC);
    let values: Vec<_> = track.points.iter().map(|point| point.measured).collect();
    let value = |value| Some(Measured::Metric { low: value, high: value, boots: 2 });
    assert_eq!(values, [value(0), None, value(8)]);
    assert_eq!(track.points[1].outcome, sample::failed());

    let both = store.tracks(&Filter::default(), sample::CHECK).unwrap();
    let branches: Vec<_> = both.iter().map(|track| track.series.branch.as_str()).collect();
    assert_eq!(branches, ["next", "main"]);
    assert_eq!(both[1].measures, Kind::Check);
    assert_eq!(both[1].points[2].measured, Some(Measured::Check { passed: 0, failed: 2 }));
    assert_eq!(store.tracks(&Filter::default(), "placement/4632KiB").unwrap(), []);
}

#[test]
fn a_name_with_colons_is_found() {
    let (mut store, _place) = store();
    let mut boots = sample::boots(1, true);
    for boot in &mut boots {
        boot.tests[0].name = "a:b".to_owned();
        boot.tests[0].metrics[0].name = "c:d".to_owned();
    }
    store.add(&sample::run(&main_series(), 0, Outcome::Good), &boots).unwrap();
    assert_eq!(store.tracks(&Filter::default(), "a:b:c:d").unwrap().len(), 1);
}

#[test]
fn names_are_those_of_the_series_with_the_present_polarity() {
    let (mut store, _place) = store();
    add(&mut store, 0, 0, Outcome::Good);
    let mut boots = sample::boots(0, true);
    for boot in &mut boots {
        boot.tests[0].metrics[0].polarity = mthp_record::result::Polarity::Neutral;
    }
    store.add(&sample::run(&sample::series("next", "one"), 1, Outcome::Good), &boots).unwrap();
    let names = store.names(&Filter::default()).unwrap();
    let told: Vec<_> = names.iter().map(|(name, _)| name.to_string()).collect();
    assert_eq!(told, ["kernel/complaints:no-complaints", sample::METRIC, sample::CHECK]);
    let neutral = mthp_record::result::Polarity::Neutral;
    assert!(matches!(names[1].1, Kind::Metric { polarity, .. } if polarity == neutral));
    assert_eq!(store.names(&Filter { host: Some("two".to_owned()), ..Filter::default() }).unwrap(), []);
}

#[test]
fn boots_of_two_kernels_are_refused() {
    let (mut store, _place) = store();
    let mut boots = sample::boots(0, true);
    boots[1].side = Side::Patched;
    let error = store.add(&sample::run(&main_series(), 0, Outcome::Good), &boots).unwrap_err();
    assert!(error.to_string().contains("two kernels"), "{error}");
    assert_eq!(rows(&store, "runs"), 0);
}

#[test]
fn a_run_that_cannot_be_stored_whole_leaves_nothing() {
    let (mut store, _place) = store();
    store.connection.execute_batch("DROP TABLE boots").unwrap();
    let run = sample::run(&main_series(), 0, Outcome::Good);
    let error = store.add(&run, &sample::boots(0, true)).unwrap_err();
    assert!(format!("{error:#}").contains("history.sqlite"), "{error:#}");
    for table in ["series", "runs", "names", "series_names", "metrics", "checks"] {
        assert_eq!(rows(&store, table), 0, "{table}");
    }
}

#[test]
fn boots_of_an_unknown_form_are_named_with_their_version() {
    let (mut store, _place) = store();
    add(&mut store, 0, 0, Outcome::Good);
    store.connection.execute_batch("UPDATE boots SET json = x'00'").unwrap();
    let error = store.last_good(&main_series()).unwrap_err();
    let said = format!("{error:#}");
    assert!(said.contains("run 1") && said.contains("version 0.1.0"), "{said}");
}

#[test]
fn a_regression_is_open_once_until_it_is_closed() {
    let (mut store, _place) = store();
    let [seen, gone] = [0, 1].map(|n| add(&mut store, n, 8, sample::regressed()));
    let culprit = Culprit::Commit { commit: "c0".to_owned(), subject: "mm: break it".to_owned() };
    let commit = NewRegression { culprit, target: sample::CHECK.to_owned(), first_seen: seen };
    let culprit = Culprit::Range { good: "a".to_owned(), bad: "b".to_owned() };
    let range = NewRegression { culprit, ..commit.clone() };
    let first = store.add_regression(&commit).unwrap();
    store.add_regression(&range).unwrap();
    assert_eq!(store.add_regression(&commit).unwrap(), first);

    let open = store.open_regressions(&main_series()).unwrap();
    let culprits: Vec<_> = open.iter().map(|open| &open.culprit).collect();
    assert_eq!(culprits, [&commit.culprit, &range.culprit]);
    assert_eq!(
        (open[0].first_seen, &open[0].target, &open[0].series),
        (seen, &commit.target, &main_series())
    );
    assert_eq!(store.open_regressions(&sample::series("next", "one")).unwrap(), []);

    store.close_regression(first, gone).unwrap();
    assert_eq!(store.open_regressions(&main_series()).unwrap().len(), 1);
    assert_ne!(store.add_regression(&commit).unwrap(), first, "it came back: a regression of its own");
}

#[test]
fn a_regression_of_no_run_is_refused() {
    let (mut store, _place) = store();
    let culprit = Culprit::Range { good: "a".to_owned(), bad: "b".to_owned() };
    let new = NewRegression { culprit, target: String::new(), first_seen: RunId(7) };
    let said = store.add_regression(&new).unwrap_err().to_string();
    assert!(said.contains("no run 7"), "{said}");
    let id = add(&mut store, 0, 0, sample::regressed());
    let open = store.add_regression(&NewRegression { first_seen: id, ..new }).unwrap();
    assert!(store.close_regression(open, RunId(7)).is_err());
}

fn refused(path: &Path, words: &str) {
    let error = Store::open(path).unwrap_err();
    assert!(error.is::<BadInput>(), "{error:?}");
    assert!(error.to_string().contains(words), "{error}");
}

#[test]
fn what_is_no_store_is_refused_and_untouched() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("file");
    let untouched = |words| {
        let before = fs::read(&path).unwrap();
        refused(&path, words);
        assert_eq!(fs::read(&path).unwrap(), before, "{words}");
        fs::remove_file(&path).unwrap();
        assert_eq!(fs::read_dir(place.path()).unwrap().count(), 0, "{words}");
    };
    for text in ["milk\n", &"remember the milk\n".repeat(999)] {
        fs::write(&path, text).unwrap();
        untouched("no SQLite database");
    }
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE bookmarks (x)").unwrap();
    untouched("another program");
    let newer = Store::open(&path).unwrap();
    newer.connection.execute_batch("PRAGMA user_version = 99; PRAGMA journal_mode = delete").unwrap();
    drop(newer);
    untouched("newer version");
    refused(place.path(), "is a folder");
}

#[test]
fn an_empty_file_becomes_a_store() {
    let place = tempfile::NamedTempFile::new().unwrap();
    let mut store = Store::open(place.path()).unwrap();
    add(&mut store, 0, 0, Outcome::Good);
    assert_eq!(rows(&Store::open(place.path()).unwrap(), "runs"), 1);
}

#[test]
fn many_that_open_and_write_at_once_lose_nothing() {
    const WRITERS: u64 = 4;
    const RUNS: u64 = 10;
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("history.sqlite");
    std::thread::scope(|scope| {
        for _ in 0..WRITERS {
            scope.spawn(|| {
                let mut store = Store::open(&path).unwrap();
                for n in 0..RUNS {
                    add(&mut store, n, 1, Outcome::Good);
                }
            });
        }
    });
    let store = Store::open(&path).unwrap();
    let runs = i64::try_from(WRITERS * RUNS).unwrap();
    assert_eq!((rows(&store, "runs"), rows(&store, "metrics")), (runs, runs));
    assert_eq!((rows(&store, "series"), rows(&store, "boots")), (1, write::KEPT));
}

#[test]
fn many_that_make_a_store_at_once_make_one() {
    const OPENERS: usize = 8;
    for _ in 0..10 {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("history.sqlite");
        let start = std::sync::Barrier::new(OPENERS);
        std::thread::scope(|scope| {
            for _ in 0..OPENERS {
                scope.spawn(|| {
                    start.wait();
                    Store::open(&path).unwrap();
                });
            }
        });
        assert_eq!(rows(&Store::open(&path).unwrap(), "series"), 0);
    }
}

/// Names the store to the process that [`a_writer_that_is_killed_leaves_whole_runs`] starts.
const VICTIM: &str = "MTHP_STORE_OF_VICTIM";

/// Not a test but what the killed process does: it stores a run, then half of one, says so, and waits.
#[test]
fn victim() {
    let Some(path) = std::env::var_os(VICTIM) else { return };
    let mut store = Store::open(Path::new(&path)).unwrap();
    add(&mut store, 0, 0, Outcome::Good);
    store
        .connection
        .execute_batch(
            "BEGIN IMMEDIATE; PRAGMA cache_spill = 1; PRAGMA cache_size = 1;
             INSERT INTO runs SELECT id + 1, series, created, revision, subject, committed, position, suite_sha256,
                 image_sha256, tool_version, outcome, reason, report, build_millis, boots_millis FROM runs;
             INSERT INTO boots VALUES (2, zeroblob(1000000));",
        )
        .unwrap();
    println!("half done");
    std::io::stdin().read_line(&mut String::new()).unwrap();
}

#[test]
fn a_writer_that_is_killed_leaves_whole_runs() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("history.sqlite");
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "store::tests::victim", "--nocapture"])
        .env(VICTIM, &path)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let said = BufReader::new(victim.stdout.take().unwrap()).lines();
    assert!(said.map_while(Result::ok).any(|line| line.contains("half done")));
    victim.kill().unwrap();
    victim.wait().unwrap();

    let mut store = Store::open(&path).unwrap();
    let sound: String = store.connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    assert_eq!((rows(&store, "runs"), rows(&store, "boots")), (1, 1));
    add(&mut store, 1, 0, Outcome::Good);
    assert_eq!(store.runs(&Filter::default(), 9).unwrap().len(), 2);
}
