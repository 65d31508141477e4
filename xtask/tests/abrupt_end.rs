//! A run killed at any moment: its record says so, no QEMU is left, and the next run succeeds.
#![expect(clippy::unwrap_used, reason = "a failed unwrap in a test is a failed test")]

use std::{
    fs,
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

const KILLS: usize = 20;
/// The host takes a second or two to free the memory of two guests.
const GONE_WITHIN: Duration = Duration::from_secs(30);

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize().unwrap()
}

fn run(patch: &Path, report: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_xtask"));
    command.args(["test-kernel", "--accel", "tcg", "--test", "placement/2MiB", "--expect", "unchanged"]);
    command.arg("--patch").arg(patch).arg("--report").arg(report).current_dir(root());
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// A patch that no cache knows, so that kills fall into builds too.
fn new_patch(folder: &Path, number: usize) -> PathBuf {
    let text = fs::read_to_string(root().join("kernels/patches/comment-only.patch")).unwrap();
    let words = "Larger anonymous mappings start at";
    assert!(text.contains(words));
    let place = folder.display();
    let path = folder.join(format!("{number}.patch"));
    fs::write(&path, text.replace(words, &format!("{number} {place}: they start at"))).unwrap();
    path
}

/// Processes whose command line names this run's folder.
fn running(folder: &Path) -> usize {
    let folder = folder.to_str().unwrap();
    let processes = fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    processes
        .filter_map(|process| fs::read(process.path().join("cmdline")).ok())
        .filter(|line| line.starts_with(b"qemu") || line.windows(5).any(|part| part == b"/qemu"))
        .filter(|line| String::from_utf8_lossy(line).contains(folder))
        .count()
}

#[test]
#[ignore = "takes minutes; cargo xtask ci --full runs it"]
fn twenty_kills_leave_nothing_and_hide_nothing() {
    let place = tempfile::tempdir().unwrap();
    // A whole run first: it builds what all share, and tells how many lines there are to be killed at.
    let whole = run(&new_patch(place.path(), 0), &place.path().join("whole")).output().unwrap();
    let said = String::from_utf8_lossy(&whole.stderr).into_owned();
    assert!(whole.status.success(), "{said}");
    let lines = said.lines().count();
    assert!(lines > 4, "{said}");

    let (mut killed, mut in_boots) = (0, 0);
    for number in 1..=KILLS {
        let report = place.path().join(format!("killed-{number}"));
        let mut child = run(&new_patch(place.path(), number), &report).spawn().unwrap();
        let mut progress = BufReader::new(child.stderr.take().unwrap()).lines();
        // Each step of the run in turn, but the last: after it there is nothing left to kill.
        for _ in 0..=(number % (lines - 1)) {
            progress.next();
        }
        in_boots += usize::from(running(&report) > 0);
        child.kill().unwrap();
        killed += usize::from(!child.wait().unwrap().success());
        let since = Instant::now();
        while running(&report) > 0 {
            assert!(since.elapsed() < GONE_WITHIN, "kill {number} left a QEMU");
            thread::yield_now();
        }
        // Killed before its first word there is no record, and so no pass either.
        if let Ok(text) = fs::read_to_string(report.join("report.json")) {
            let record: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(record["status"], "unfinished", "kill {number}");
        }
    }
    assert_eq!(killed, KILLS, "some runs ended before they were killed");
    assert!(in_boots > 0, "no kill fell into a boot");

    let after = run(&new_patch(place.path(), KILLS), &place.path().join("after")).output().unwrap();
    assert!(after.status.success(), "{}", String::from_utf8_lossy(&after.stderr));
}
