//! Boots against scripts in QEMU's place: what no guest does on demand.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests may be as blunt as tests")]

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, Instant},
};

use mthp_record::{
    boot::{BootOutcome, BootRecord, KernelFailure, Phase, Side},
    frame,
    message::{GuestIdentity, Message, Snapshot},
    result::{Outcome, TestResult},
};
use mthp_vm::{
    accel::Accel,
    boot::{Event, FLOODED, boot},
    plan::{BootPlan, Deadlines, MachineKind},
    qemu::Qemu,
    stop::StopFlag,
};

struct Fake {
    folder: tempfile::TempDir,
    deadlines: Deadlines,
    stop: StopFlag,
    events: Mutex<Vec<Event>>,
}

impl Fake {
    fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            deadlines: Deadlines { boot_secs: 20, test_secs: 20, run_secs: 20 },
            stop: StopFlag::new().unwrap(),
            events: Mutex::default(),
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Boots the script; standard input is the result port, standard output the console.
    fn boot(&self, script: &str) -> BootRecord {
        let binary = self.path("qemu");
        let text = format!("#!/bin/bash\ncd '{}'\n{script}\n", self.folder.path().display());
        // Written by a child: a file that another thread's fork still holds open for writing cannot be run.
        let staged = self.path("staged");
        fs::write(&staged, text).unwrap();
        fs::set_permissions(&staged, fs::Permissions::from_mode(0o755)).unwrap();
        assert!(std::process::Command::new("cp").arg(&staged).arg(&binary).status().unwrap().success());
        let qemu = Qemu {
            binary,
            version: "7.2".to_owned(),
            major: 7,
            minor: 2,
            machines: vec![MachineKind::Microvm],
        };
        let plan = BootPlan {
            side: Side::Patched,
            index: 1,
            vmlinux: PathBuf::from("vmlinux"),
            initramfs: PathBuf::from("initramfs"),
            disk: None,
            memory_mib: 256,
            cpus: 1,
            fake_nodes: 0,
            accel: Accel::Tcg,
            machine: MachineKind::Microvm,
            deadlines: self.deadlines,
            folder: self.folder.path().to_owned(),
            nonce: 7,
            extra_cmdline: String::new(),
            plugin: None,
        };
        let record =
            boot(&qemu, &plan, &self.stop, &|event| self.events.lock().unwrap().push(event)).unwrap();
        let events = self.events.lock().unwrap();
        assert_eq!(events.first(), Some(&Event::Started));
        assert_eq!(events.last(), Some(&Event::Ended(record.outcome.clone())));
        drop(events);
        if let Ok(pid) = fs::read_to_string(self.path("pid")) {
            assert!(!Path::new("/proc").join(pid.trim()).exists(), "a QEMU was left");
        }
        record
    }

    /// Writes the frames of these messages to a file that the script can send.
    fn frames(&self, name: &str, messages: &[Message]) {
        let mut bytes = Vec::new();
        for message in messages {
            frame::write(&mut bytes, &serde_json::to_vec(message).unwrap()).unwrap();
        }
        fs::write(self.path(name), bytes).unwrap();
    }
}

fn hello() -> Message {
    Message::Hello {
        nonce: 7,
        tests: vec!["a".to_owned()],
        identity: GuestIdentity::default(),
        before: Snapshot::default(),
    }
}

fn test() -> Message {
    Message::Test {
        result: TestResult {
            name: "a".to_owned(),
            outcome: Outcome::Completed,
            checks: Vec::new(),
            metrics: Vec::new(),
            agreements: Vec::new(),
            evidence: Default::default(),
        },
    }
}

fn bye(tainted: u64) -> Message {
    Message::Bye { tests: 1, tainted, after: Snapshot::default() }
}

fn qemu_failed(record: &BootRecord) -> &str {
    match &record.outcome {
        BootOutcome::QemuFailed { message } => message,
        other => panic!("{other:?}"),
    }
}

fn bad_stream(record: &BootRecord) -> &str {
    match &record.outcome {
        BootOutcome::BadStream { problem } => problem,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_honest_guest_completes() {
    let fake = Fake::new();
    fake.frames("all", &[hello(), Message::Started { name: "a".to_owned() }, test(), bye(1 << 9)]);
    let record = fake.boot("echo $$ >pid; echo hello; cat all >&0");
    assert_eq!(record.outcome, BootOutcome::Completed);
    assert_eq!(record.tests.len(), 1);
    assert_eq!(record.tainted, Some(512));
    assert!(record.boot_millis.is_some());
    assert_eq!(record.console, "console-patched-1.log");
    assert_eq!(fs::read_to_string(fake.path(&record.console)).unwrap(), "hello\n");
    let events = fake.events.lock().unwrap();
    assert!(events.contains(&Event::TestStarted("a".to_owned())));
    assert!(events.iter().any(|event| matches!(event, Event::TestFinished(result) if result.name == "a")));
}

#[test]
fn a_complete_stream_from_a_qemu_that_fails_is_no_success() {
    let fake = Fake::new();
    fake.frames("all", &[hello(), test(), bye(0)]);
    let record = fake.boot("cat all >&0; echo >&2 a problem $'\\e[31m'; exit 3");
    assert_eq!(qemu_failed(&record), "it ended with status 3: a problem ");
}

#[test]
fn a_complete_stream_with_a_panic_behind_it_is_no_success() {
    let fake = Fake::new();
    fake.frames("all", &[hello(), test(), bye(0)]);
    let record = fake.boot("cat all >&0; sleep 0.2; echo '[    2.000000] Kernel panic - not syncing: late'");
    assert!(matches!(record.outcome, BootOutcome::KernelFailed { failure: KernelFailure::Panic, .. }));
}

#[test]
fn a_broken_kernels_taint_is_no_success() {
    let fake = Fake::new();
    fake.frames("all", &[hello(), test(), bye(1 << 7)]);
    let record = fake.boot("cat all >&0");
    assert!(matches!(record.outcome, BootOutcome::KernelFailed { failure: KernelFailure::Oops, .. }));
}

#[test]
fn a_qemu_that_dies_is_named_with_its_last_words() {
    let record = Fake::new().boot("echo >&2 failed to set MSR 0x10a; kill -ABRT $$");
    assert_eq!(qemu_failed(&record), "it ended with signal 6 (SIGABRT): failed to set MSR 0x10a");
    assert_eq!(qemu_failed(&Fake::new().boot("exit 1")), "it ended with status 1");
}

#[test]
fn a_guest_that_leaves_early_is_named_with_its_place() {
    let record = Fake::new().boot("exit 0");
    assert_eq!(record.outcome, BootOutcome::EndedEarly { phase: Phase::Boot });
    let fake = Fake::new();
    fake.frames("some", &[hello(), Message::Started { name: "a".to_owned() }]);
    let record = fake.boot("cat some >&0");
    assert_eq!(record.outcome, BootOutcome::EndedEarly { phase: Phase::Test("a".to_owned()) });
    let fake = Fake::new();
    fake.frames("some", &[hello(), test()]);
    let record = fake.boot("cat some >&0");
    assert_eq!(record.outcome, BootOutcome::EndedEarly { phase: Phase::Shutdown });
}

#[test]
fn a_stream_cut_within_a_frame_is_early() {
    let fake = Fake::new();
    fake.frames("all", &[hello(), test(), bye(0)]);
    let record = fake.boot("head -c -1 all >&0");
    assert_eq!(record.outcome, BootOutcome::EndedEarly { phase: Phase::Shutdown });
}

#[test]
fn a_hang_that_ignores_signals_ends_at_the_deadline() {
    let fake = Fake { deadlines: Deadlines { boot_secs: 1, test_secs: 1, run_secs: 9 }, ..Fake::new() };
    let start = Instant::now();
    let record = fake.boot("echo $$ >pid; trap '' TERM INT HUP; sleep 60 & wait; sleep 60");
    assert_eq!(record.outcome, BootOutcome::SilentHang { phase: Phase::Boot, after_secs: 1 });
    assert!(start.elapsed() < Duration::from_secs(8));
}

#[test]
fn a_hang_in_a_test_ends_at_the_runs_deadline_where_that_is_nearer() {
    let fake = Fake { deadlines: Deadlines { boot_secs: 1, test_secs: 9, run_secs: 2 }, ..Fake::new() };
    fake.frames("some", &[hello(), Message::Started { name: "a".to_owned() }]);
    let record = fake.boot("cat some >&0; exec sleep 60");
    let phase = Phase::Test("a".to_owned());
    assert_eq!(record.outcome, BootOutcome::SilentHang { phase, after_secs: 2 });
}

#[test]
fn a_panic_is_found_at_once_and_its_trace_kept() {
    let fake = Fake::new();
    let start = Instant::now();
    let record = fake.boot(
        "echo '[    1.000000] watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [init:1]'; sleep 0.3
         echo '[    1.300000] Kernel panic - not syncing: softlockup: hung tasks'; exec sleep 60",
    );
    assert!(matches!(record.outcome, BootOutcome::KernelFailed { failure: KernelFailure::SoftLockup, .. }));
    assert!(start.elapsed() < Duration::from_secs(8));
    assert!(fs::read_to_string(fake.path(&record.console)).unwrap().contains("hung tasks"));
    assert!(fake.events.lock().unwrap().iter().any(|event| matches!(event, Event::Failure(_))));
}

#[test]
fn a_flooded_console_is_bounded() {
    let fake = Fake::new();
    let record = fake.boot("exec yes 0123456789012345678901234567890123456789012345678901234567890123456789");
    assert!(bad_stream(&record).starts_with(FLOODED));
    let log = fs::read_to_string(fake.path(&record.console)).unwrap();
    assert!(log.len() < 5 << 20);
    assert!(log.ends_with("QEMU was killed\n"));
}

#[test]
fn garbage_on_the_result_port_ends_the_boot() {
    let record = Fake::new().boot("head -c 4096 /dev/zero >&0; exec sleep 60");
    assert_eq!(bad_stream(&record), "no frame begins with [00, 00, 00, 00]");
    let record = Fake::new().boot("printf 'MTHP\\xff\\xff\\xff\\x7f0000' >&0; exec sleep 60");
    assert!(bad_stream(&record).contains("more than the 1048576 allowed"));
    let record = Fake::new().boot("printf 'MTHP\\x01\\x00\\x00\\x00aaaab' >&0; exec sleep 60");
    assert!(bad_stream(&record).contains("checksum"));
}

#[test]
fn streams_closed_by_a_qemu_that_stays_do_not_hold_us() {
    let fake = Fake::new();
    let start = Instant::now();
    let record = fake.boot("exec 0<&- 1>&-; exec sleep 60");
    assert!(qemu_failed(&record).contains("did not end"));
    assert!(start.elapsed() < Duration::from_secs(15));
}

#[test]
fn a_childs_hold_on_the_streams_does_not_hide_qemus_end() {
    let start = Instant::now();
    let record = Fake::new().boot("setsid sleep 4 & exit 0");
    assert_eq!(record.outcome, BootOutcome::EndedEarly { phase: Phase::Boot });
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[test]
fn a_stop_wakes_the_boot_at_once() {
    let fake = Fake::new();
    let stop = fake.stop.clone();
    let start = Instant::now();
    let record = std::thread::scope(|scope| {
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(300));
            stop.stop();
        });
        fake.boot("echo $$ >pid; trap '' TERM INT; exec sleep 60")
    });
    assert_eq!(record.outcome, BootOutcome::Interrupted);
    assert!(start.elapsed() < Duration::from_secs(3));
}

#[test]
fn a_missing_program_is_an_error_and_no_outcome() {
    let fake = Fake::new();
    let qemu = Qemu {
        binary: fake.path("none"),
        version: String::new(),
        major: 10,
        minor: 0,
        machines: vec![MachineKind::Q35],
    };
    let plan = BootPlan {
        side: Side::Base,
        index: 0,
        vmlinux: PathBuf::new(),
        initramfs: PathBuf::new(),
        disk: None,
        memory_mib: 1,
        cpus: 1,
        fake_nodes: 2,
        accel: Accel::Kvm,
        machine: MachineKind::Q35,
        deadlines: Deadlines::default(),
        folder: fake.folder.path().to_owned(),
        nonce: 0,
        extra_cmdline: String::new(),
        plugin: None,
    };
    let error = boot(&qemu, &plan, &fake.stop, &|_| ()).unwrap_err();
    assert!(error.to_string().starts_with("failed to start "), "{error:#}");
}

#[test]
fn a_panic_behind_a_bad_stream_is_the_cause() {
    let fake = Fake::new();
    let record = fake.boot(
        "echo '[    1.000000] BUG: kernel NULL pointer dereference, address: 0'; echo garbage garbage >&0; exec sleep 60",
    );
    assert!(matches!(record.outcome, BootOutcome::KernelFailed { failure: KernelFailure::Oops, .. }));
}
