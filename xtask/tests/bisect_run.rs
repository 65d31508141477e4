//! Bisections and nights as users have them, on a history of a real kernel: 64 commits, of which two do not build, one does not
//! boot, one panics in another test, and one brings a known bug in.

#![expect(clippy::unwrap_used, reason = "a failed unwrap in a test is a failed test")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use kernel_tests::history::{Broken, Fault, History, Plan, history};
use serde_json::Value;

/// New images that a bisection of 64 commits may boot: the two ends, six halvings, and one that a skip costs.
const MOST_IMAGES: usize = 9;
/// A guest is gone so soon after its run was killed.
const GONE_WITHIN: Duration = Duration::from_secs(30);
const K1: &str = "kernels/patches/k1-align-any-length.patch";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn standard(patch: &str, culprit: usize) -> (History, String) {
    let history = history(&Plan::standard(root().join(patch), culprit)).unwrap();
    let id = history.at(culprit).unwrap().id.clone();
    (history, id)
}

fn xtask(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(arguments).args(["--accel", "tcg"]).env("NO_COLOR", "1").current_dir(root());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn bisect<'a>(history: &'a History, bad: &'a str, report: &'a Path, more: &[&'a str]) -> Command {
    let ends = ["--tree", history.repository.to_str().unwrap(), "--good", &history.base, "--bad", bad];
    xtask(&[&["bisect"], &ends[..], &["--report", report.to_str().unwrap()], more].concat())
}

/// What was said, for a message.
fn said(output: &Output) -> String {
    format!("{}\n{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// The bisection must name this commit, after at most [`MOST_IMAGES`] new images.
fn names(report: &Path, output: &Output, culprit: &str) -> Value {
    assert_eq!(output.status.code(), Some(0), "{}", said(output));
    let found = json(&report.join("bisect.json"));
    assert_eq!(found["outcome"]["kind"], "culprit", "{}", said(output));
    assert_eq!(found["outcome"]["revision"]["id"], culprit, "{}", said(output));
    assert_eq!(found["verification"]["suspect"]["finding"]["kind"], "bad");
    assert_eq!(found["verification"]["parents"][0]["finding"]["kind"], "good");
    let tried = found["tried"].as_array().unwrap();
    let images = tried.iter().filter(|one| one["boots"].as_u64() > Some(0)).count();
    assert!(images <= MOST_IMAGES, "{images} new images were booted:\n{}", said(output));
    found
}

/// A clone with a branch of its own; it borrows the objects.
fn clone(history: &History, branch: &str, commit: &str, place: &Path) -> PathBuf {
    let clone = place.join("linux.git");
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", said(&output));
    };
    if !clone.exists() {
        let from = history.repository.to_str().unwrap();
        git(&["clone", "--quiet", "--bare", "--shared", from, clone.to_str().unwrap()]);
    }
    let at = clone.to_str().unwrap();
    git(&["-C", at, "update-ref", &format!("refs/heads/{branch}"), commit]);
    clone
}

/// One test, so that the kernels of the history are built once and in this order.
#[test]
fn a_culprit_is_found_and_a_night_finds_the_regression() {
    let place = tempfile::tempdir().unwrap();
    let (history, culprit) = standard(K1, 33);
    let head = history.head().to_owned();
    a_culprit_is_found(&history, &head, &culprit, place.path());
    swapped_ends_are_refused(&history, &head, place.path());
    both_ends_good_are_refused(&history, &culprit, place.path());
    a_night_finds_a_regression(&history, &culprit, place.path());
    steps_answer_git(&history, &head);
}

fn a_culprit_is_found(history: &History, head: &str, culprit: &str, place: &Path) {
    let report = place.join("found");
    let which = ["--suite", "alignment", "--test", "placement/*", "--check", "neighbours-touch", "--setup"];
    let output = bisect(history, head, &report, &which).output().unwrap();
    let found = names(&report, &output, culprit);
    let log = found["git_log"].as_str().unwrap();
    assert!(log.contains(&format!("# first bad commit: [{culprit}]")), "{log}");
    assert!(fs::read_to_string(report.join("summary.md")).unwrap().contains(&culprit[..12]));
    // All that differs between the ends is one commit's doing here.
    assert_eq!(found["verification"]["unexplained"], Value::Array(Vec::new()));
}

fn swapped_ends_are_refused(history: &History, head: &str, place: &Path) {
    let tree = history.repository.to_str().unwrap();
    let report = place.join("swapped");
    let ends = ["bisect", "--tree", tree, "--good", head, "--bad", &history.base];
    let output = xtask(&[&ends[..], &["--report", report.to_str().unwrap()]].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("are --good and --bad swapped?"), "{}", said(&output));
}

fn both_ends_good_are_refused(history: &History, culprit: &str, place: &Path) {
    let report = place.join("alike");
    let output =
        bisect(history, &format!("{culprit}~1"), &report, &["--test", "placement/*"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("failed to find a difference"), "{}", said(&output));
    assert_eq!(json(&report.join("bisect.json"))["outcome"], Value::Null);
}

fn a_night_finds_a_regression(history: &History, culprit: &str, place: &Path) {
    let store = place.join("history.sqlite");
    let night = |commit: &str, report: &str, code: i32| {
        let tree = clone(history, "night", commit, place);
        let report = place.join(report);
        let flags = [
            ("--tree", tree.to_str().unwrap()),
            ("--branch", "night"),
            ("--suite", "alignment"),
            ("--store", store.to_str().unwrap()),
            ("--host", "one"),
            ("--bisect", "now"),
            ("--report", report.to_str().unwrap()),
        ];
        let flags: Vec<&str> = flags.iter().flat_map(|(flag, value)| [*flag, *value]).collect();
        let output = xtask(&[&["nightly"], &flags[..], &["--setup"]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{}", said(&output));
        json(&report.join("nightly.json"))
    };
    let first = night(&history.base, "night-1", 0);
    assert_eq!((&first["outcome"], &first["compared_with"]), (&Value::from("good"), &Value::Null));

    let second = night(history.head(), "night-2", 1);
    assert_eq!(second["outcome"], "regressed");
    assert_eq!(second["compared_with"]["commit"], history.base.as_str());
    let regressions = second["regressions"].as_array().unwrap();
    assert!(!regressions.is_empty());
    for one in regressions {
        assert_eq!(one["culprit"]["commit"], culprit, "{one}");
        assert_eq!(one["known"], false, "{one}");
    }
    assert!(place.join("night-2/bisect-1/bisect.json").is_file());
    assert!(fs::read_to_string(place.join("night-2/junit.xml")).unwrap().contains("<failure"));

    // What is known is not bisected again.
    let third = night(history.head(), "night-3", 1);
    for one in third["regressions"].as_array().unwrap() {
        assert_eq!((&one["culprit"]["commit"], &one["known"]), (&Value::from(culprit), &Value::from(true)));
    }
    assert!(!place.join("night-3/bisect-1").exists());

    let listing = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
        command.arg("history").args(arguments).arg("--store").arg(&store).current_dir(root());
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let runs = listing(&[]);
    assert_eq!(runs.matches("regressed").count(), 2, "{runs}");
    let plot = place.join("gap.svg");
    let gap = listing(&["placement/4632KiB:gap-kib", "--plot", plot.to_str().unwrap()]);
    assert!(gap.contains("1512") && gap.contains('▲'), "{gap}");
    assert!(fs::read_to_string(plot).unwrap().contains("<svg"));
}

fn steps_answer_git(history: &History, head: &str) {
    let tree = history.repository.to_str().unwrap();
    let unbootable = history.first(kernel_tests::history::Kind::Unbootable).unwrap();
    for (commit, code) in [(history.base.as_str(), 0), (head, 1), (&unbootable.id, 125)] {
        let at = format!("{tree}@{commit}");
        let test = ["--test", "placement/4632KiB", "--check", "neighbours-touch"];
        let output = xtask(&[&["bisect-step", "--tree", &at], &test[..]].concat()).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{commit}: {}", said(&output));
    }
}

/// Every position, and a bug of the corpus, three times each.
#[test]
#[ignore = "takes an hour; cargo xtask ci --full runs it"]
fn every_culprit_is_found_three_times() {
    let place = tempfile::tempdir().unwrap();
    let corpus = "kernels/corpus/a9-dontunmap-self-merge.patch";
    for (patch, position, suite) in
        [(K1, 10, "alignment"), (K1, 33, "alignment"), (K1, 60, "alignment"), (corpus, 40, "mremap")]
    {
        let (history, culprit) = standard(patch, position);
        for run in 1..=3 {
            let report = place.path().join(format!("{position}-{run}"));
            let output = bisect(&history, history.head(), &report, &["--suite", suite]).output().unwrap();
            names(&report, &output, &culprit);
        }
    }
}

/// Only skipped revisions lie around the culprit: a range that holds it, and no commit.
#[test]
#[ignore = "takes minutes; cargo xtask ci --full runs it"]
fn where_only_skips_are_left_the_range_is_told() {
    let place = tempfile::tempdir().unwrap();
    let broken = vec![
        Broken { fault: Fault::DoesNotCompile, at: 18, mended: 22 },
        Broken { fault: Fault::PanicsAtBoot, at: 24, mended: 26 },
    ];
    let plan = Plan { broken, ..Plan::standard(root().join(K1), 20) };
    let history = history(&plan).unwrap();
    let report = place.path().join("range");
    let output = bisect(&history, history.head(), &report, &[]).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let outcome = &json(&report.join("bisect.json"))["outcome"];
    assert_eq!(outcome["kind"], "range", "{}", said(&output));
    let candidates: Vec<&str> =
        outcome["candidates"].as_array().unwrap().iter().filter_map(|one| one["id"].as_str()).collect();
    assert!(candidates.contains(&history.at(20).unwrap().id.as_str()), "{candidates:?}");
    assert!(candidates.len() <= 5, "{candidates:?}");
}

/// A check that holds in every other boot: no commit, whatever the chance. (All twelve boots of the bad end would be alike once in
/// two thousand runs.)
#[test]
#[ignore = "takes minutes; cargo xtask ci --full runs it"]
fn a_flaky_check_names_no_commit() {
    let place = tempfile::tempdir().unwrap();
    let series = place.path().join("series");
    fs::create_dir(&series).unwrap();
    let patches = ["harmless/mm-rename-local", "broken/flaky-alignment", "harmless/docs-transhuge"];
    for (number, patch) in patches.iter().enumerate() {
        let from = root().join(format!("kernels/patches/{patch}.patch"));
        fs::copy(from, series.join(format!("{number}.patch"))).unwrap();
    }
    fs::write(series.join("series"), "0.patch\n1.patch\n2.patch\n").unwrap();
    let report = place.path().join("flaky");
    let flags = ["--test", "placement/4632KiB", "--full-boots", "12"];
    let which = ["bisect", "--patches", series.to_str().unwrap(), "--report", report.to_str().unwrap()];
    let output = xtask(&[&which[..], &flags].concat()).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert_eq!(json(&report.join("bisect.json"))["outcome"]["kind"], "flaky", "{}", said(&output));
    assert!(said(&output).contains("no commit can be named"), "{}", said(&output));
}

/// Killed at ten moments, one after another, the same command comes to the same culprit.
#[test]
#[ignore = "takes minutes; cargo xtask ci --full runs it"]
fn ten_kills_do_not_change_the_culprit() {
    let place = tempfile::tempdir().unwrap();
    let report = place.path().join("killed");
    let (history, culprit) = standard(K1, 60);
    let mut chance = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos();
    let mut killed = 0;
    for _ in 0..10 {
        chance = chance.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let wait = Duration::from_millis(u64::from(chance >> 16) % 25_000);
        let mut child = bisect(&history, history.head(), &report, &[]).stdout(Stdio::null()).spawn().unwrap();
        killed += usize::from(killed_after(&mut child, wait));
        let since = Instant::now();
        while is_running(&report) {
            assert!(since.elapsed() < GONE_WITHIN, "a kill left a QEMU");
            thread::yield_now();
        }
    }
    assert!(killed > 0, "each run ended before it was killed");
    let output = bisect(&history, history.head(), &report, &[]).output().unwrap();
    names(&report, &output, &culprit);
}

/// Whether it was still at work.
fn killed_after(child: &mut Child, wait: Duration) -> bool {
    let mut output = child.stderr.take().unwrap();
    let (ended, end) = mpsc::channel();
    // Its last words come with its end.
    let reader = thread::spawn(move || {
        let _ = std::io::copy(&mut output, &mut std::io::sink());
        let _ = ended.send(());
    });
    let _ = end.recv_timeout(wait);
    child.kill().unwrap();
    let killed = !child.wait().unwrap().success();
    reader.join().unwrap();
    killed
}

/// Whether a QEMU names this run's folder.
fn is_running(folder: &Path) -> bool {
    let folder = folder.to_str().unwrap();
    let mut processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes.any(|process| {
        fs::read(process.path().join("cmdline")).is_ok_and(|line| {
            let line = String::from_utf8_lossy(&line).into_owned();
            line.contains("qemu-system") && line.contains(folder)
        })
    })
}
