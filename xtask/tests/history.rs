//! `cargo xtask history` as users type it, on stores that are filled here.

#![expect(clippy::unwrap_used, reason = "a failed unwrap in a test is a failed test")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

use mthp_record::boot::BootRecord;
use mthp_store::{
    Store,
    run::{Outcome, Revision, Run, Series},
};
use tempfile::TempDir;

const NAME: &str = "placement/4632KiB:gap-kib";

/// A folder that holds the store, and is the only place where one could be found.
struct Place(TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A store with these runs: branch, gap.
    fn filled(runs: &[(&str, i64)]) -> (Self, String) {
        let place = Self::new();
        let path = place.file("history.sqlite");
        let mut store = Store::open(&path).unwrap();
        for (n, (branch, gap)) in runs.iter().enumerate() {
            store.add(&run(branch, n), &boots(*gap)).unwrap();
        }
        (place, path.to_str().unwrap().to_owned())
    }

    fn history(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_xtask"))
            .arg("history")
            .args(arguments)
            .env("NO_COLOR", "1")
            .env("XDG_DATA_HOME", self.0.path())
            .env_remove("MTHP_STORE")
            .output()
            .unwrap()
    }

    fn shows(&self, arguments: &[&str]) -> String {
        let output = self.history(arguments);
        assert!(output.status.success(), "{arguments:?}: {}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    }

    /// The command must end with 2 and say each of `words`.
    fn refuses(&self, arguments: &[&str], words: &[&str]) {
        let output = self.history(arguments);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {said}");
        assert_eq!(output.stdout, b"");
        for word in words {
            assert!(said.contains(word), "{arguments:?} does not say {word:?}: {said}");
        }
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn run(branch: &str, n: usize) -> Run {
    let text = |text: &str| text.to_owned();
    Run {
        series: Series {
            tree: text("linux"),
            branch: text(branch),
            host: text("builder"),
            accelerator: text("tcg"),
            suite: text("alignment"),
        },
        created: format!("2026-01-{:02}T03:00:00Z", n + 1),
        revision: Revision {
            commit: format!("{n:04x}").repeat(10),
            subject: format!("mm: change number {n}"),
            committed: text("2026-01-01T00:00:00Z"),
            position: None,
        },
        suite_sha256: text("ef"),
        image_sha256: None,
        tool_version: text("0.1.0"),
        outcome: Outcome::Good,
        report: text("report"),
        build_millis: None,
        boots_millis: None,
    }
}

/// A boot with one metric.
fn boots(gap: i64) -> Vec<BootRecord> {
    let boot = serde_json::json!([{
        "side": "base", "index": 0, "outcome": {"kind": "completed"}, "identity": null, "announced": [],
        "tests": [{
            "name": "placement/4632KiB", "outcome": {"kind": "completed"}, "checks": [], "agreements": [],
            "metrics": [{"name": "gap-kib", "value": gap, "unit": "kib", "polarity": "lower"}], "evidence": {},
        }],
        "before": {}, "after": {}, "tainted": 0, "console": "", "qemu_command": [], "boot_millis": null,
        "total_millis": 1,
    }]);
    serde_json::from_value(boot).unwrap()
}

#[test]
fn nothing_is_shown_where_nothing_is_stored_and_no_store_is_made() {
    let place = Place::new();
    for arguments in [&[][..], &[NAME], &["--branch", "main"]] {
        let said = place.shows(arguments);
        assert!(said.contains("no run is stored yet") && said.contains("cargo xtask nightly"), "{said}");
    }
    assert_eq!(place.shows(&["--format", "json"]), "[]\n");
    assert_eq!(fs::read_dir(place.0.path()).unwrap().count(), 0);

    let (place, store) = Place::filled(&[]);
    assert!(place.shows(&["--store", &store]).contains("no run is stored yet"));
}

#[test]
fn a_named_store_that_is_not_there_is_refused_and_not_made() {
    let place = Place::new();
    let path = place.file("gone.sqlite");
    place.refuses(&["--store", path.to_str().unwrap()], &["no store", "gone.sqlite"]);
    assert!(!path.exists());
}

#[test]
fn what_is_no_store_is_refused_and_untouched() {
    let place = Place::new();
    let path = place.file("notes.txt");
    fs::write(&path, "remember the milk\n").unwrap();
    place.refuses(&["--store", path.to_str().unwrap()], &["notes.txt", "no SQLite database"]);
    assert_eq!(fs::read_to_string(&path).unwrap(), "remember the milk\n");
    place.refuses(&["--store", place.0.path().to_str().unwrap()], &["is a folder"]);
}

#[test]
fn a_store_of_a_newer_version_is_refused_and_untouched() {
    let (place, store) = Place::filled(&[("main", 0)]);
    let mut bytes = fs::read(&store).unwrap();
    // The user version in the header: https://sqlite.org/fileformat.html, "Database Header Format".
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(&store, &bytes).unwrap();
    place.refuses(&["--store", &store], &["history.sqlite", "newer version"]);
    assert_eq!(fs::read(&store).unwrap(), bytes);
}

#[test]
fn runs_are_listed_newest_first() {
    let (place, store) = Place::filled(&[("main", 0), ("next", 0), ("main", 0)]);
    let text = place.shows(&["--store", &store]);
    let at = |word: &str| text.find(word).unwrap_or_else(|| panic!("{word}: {text}"));
    assert!(at("000200020002") < at("000100010001") && at("000100010001") < at("000000000000"));
    assert!(text.contains("mm: change number 1") && text.contains("good"), "{text}");
    let next = place.shows(&["--store", &store, "--branch", "next", "--format", "markdown"]);
    assert!(next.contains("branch next") && next.contains("| 2026-01-02 03:00 |"), "{next}");
    let newest = place.shows(&["--store", &store, "--limit", "1", "--format", "json"]);
    let newest: serde_json::Value = serde_json::from_str(&newest).unwrap();
    assert_eq!(newest.as_array().map(Vec::len), Some(1));
    assert_eq!(newest[0]["revision"]["subject"], "mm: change number 2");
}

#[test]
fn the_store_is_found_where_the_variable_says() {
    let (place, store) = Place::filled(&[("main", 0)]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    let output = command.arg("history").env("MTHP_STORE", &store).output().unwrap();
    assert!(String::from_utf8_lossy(&output.stdout).contains("branch main"), "{}", stderr(&output));
    fs::create_dir(place.file("mthp-regress")).unwrap();
    fs::copy(&store, place.file("mthp-regress/history.sqlite")).unwrap();
    assert!(place.shows(&[]).contains("branch main"));
}

#[test]
fn a_metric_is_shown_with_its_changes_a_table_for_each_series() {
    let (place, store) = Place::filled(&[("main", 0), ("next", 7), ("main", 8)]);
    let text = place.shows(&["--store", &store, NAME]);
    assert!(text.contains("▲ changed, worse"), "{text}");
    assert!(text.contains("linux main,") && text.contains("linux next,"), "{text}");
    let json = place.shows(&["--store", &store, NAME, "--branch", "main", "--format", "json"]);
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json[0]["points"][0]["change"]["kind"], "changed");
}

#[test]
fn a_misspelt_name_lists_near_ones() {
    let (place, store) = Place::filled(&[("main", 0)]);
    place.refuses(&["--store", &store, "placement/4632KiB:gap"], &["'placement/4632KiB:gap'", NAME]);
    place.refuses(&["--store", &store, "gap-kib"], &["TEST:NAME", NAME]);
}

#[test]
fn a_branch_that_no_run_has_lists_those_there_are() {
    let (place, store) = Place::filled(&[("main", 0), ("next", 0)]);
    place.refuses(&["--store", &store, "--branch", "mian"], &["branch 'mian'", "main, next"]);
    place.refuses(&["--store", &store, "--accel", "kvm"], &["accelerator 'kvm'", "tcg"]);
    place.refuses(&["--store", &store, "--limit", "0"], &["--limit", "at least 1"]);
}

#[test]
fn a_plot_is_written_as_its_ending_says() {
    let (place, store) = Place::filled(&[("main", 0), ("next", 7), ("main", 8)]);
    for (file, begins) in [("plots/a.svg", &b"<svg "[..]), ("a.PNG", b"\x89PNG\r\n")] {
        let path = place.file(file);
        let text = place.shows(&["--store", &store, NAME, "--plot", path.to_str().unwrap()]);
        assert!(text.contains("▲ changed"), "{text}");
        assert!(fs::read(&path).unwrap().starts_with(begins), "{file}");
    }
}

#[test]
fn a_plot_of_another_ending_or_of_nothing_is_refused() {
    let (place, store) = Place::filled(&[("main", 0)]);
    let path = place.file("plot.pdf");
    let path: &Path = &path;
    place
        .refuses(&["--store", &store, NAME, "--plot", path.to_str().unwrap()], &["plot.pdf", ".svg", ".png"]);
    assert!(!path.exists());
    place.refuses(&["--store", &store, "--plot", "a.svg"], &["NAME"]);
}

#[test]
fn a_plot_of_too_many_series_asks_to_narrow() {
    let branches: Vec<String> = (0..9).map(|n| format!("b{n}")).collect();
    let runs: Vec<_> = branches.iter().map(|branch| (branch.as_str(), 0)).collect();
    let (place, store) = Place::filled(&runs);
    let path = place.file("plot.svg");
    place.refuses(&["--store", &store, NAME, "--plot", path.to_str().unwrap()], &["9 series", "--branch"]);
    place.shows(&["--store", &store, NAME, "--branch", "b3", "--plot", path.to_str().unwrap()]);
    assert!(path.exists());
}
