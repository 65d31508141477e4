//! What a kernel expects of its first process: file systems, settings, an orderly end.

use std::{
    fs,
    io::Write,
    path::Path,
    time::{Duration, Instant},
};

use anyhow::{Context, Result};
use nix::{
    mount::{MsFlags, mount},
    sys::reboot::{RebootMode, reboot},
};

/// Where debugfs is mounted.
pub const DEBUGFS: &str = "/sys/kernel/debug";

/// Settings that turn a sick kernel into one that says so, at once. A kernel without the detector has no file.
const SYSCTLS: [(&str, &str); 7] = [
    ("kernel/panic_on_oops", "1"),
    ("kernel/panic_on_rcu_stall", "1"),
    ("kernel/softlockup_panic", "1"),
    ("kernel/hung_task_panic", "1"),
    ("kernel/hung_task_timeout_secs", "30"),
    ("kernel/print-fatal-signals", "0"),
    ("kernel/printk_ratelimit", "0"),
];

/// Mounts what the tests and the snapshots read.
///
/// # Errors
/// When one that every kernel has cannot be mounted; debugfs may be absent.
pub fn mount_all() -> Result<()> {
    let required =
        [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/tmp")].into_iter();
    for (kind, target) in required {
        fs::create_dir_all(target).with_context(|| format!("failed to create {target}"))?;
        mount_at(kind, target, None).with_context(|| format!("failed to mount {kind} on {target}"))?;
    }
    if Path::new(DEBUGFS).is_dir() {
        // A kernel without debugfs lacks the folder or the type; the tests that need it say so.
        let _ = mount_at("debugfs", DEBUGFS, None);
    }
    Ok(())
}

/// Mounts a file system that needs no device.
///
/// # Errors
/// The kernel's.
pub fn mount_at(kind: &str, target: &str, options: Option<&str>) -> nix::Result<()> {
    match mount(Some(kind), target, Some(kind), MsFlags::empty(), options) {
        // devtmpfs may have been mounted by the kernel itself.
        Err(nix::errno::Errno::EBUSY) => Ok(()),
        other => other,
    }
}

/// Makes the kernel panic on what would otherwise only be logged.
pub fn harden() {
    for (name, value) in SYSCTLS {
        let _ = fs::write(Path::new("/proc/sys").join(name), value);
    }
}

/// Calls `probe` until it gives something, or the time is over.
pub fn wait_for<T>(limit: Duration, mut probe: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        if let Some(found) = probe() {
            return Some(found);
        }
        if start.elapsed() >= limit {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// One line to the console.
pub fn console(line: &str) {
    if let Ok(mut console) = fs::OpenOptions::new().write(true).open("/dev/console") {
        let _ = console.write_all(format!("mthp: {line}\n").as_bytes());
    }
}

/// Ends the machine. QEMU runs with `-no-reboot`, so a reset is an end.
pub fn end_machine() -> ! {
    nix::unistd::sync();
    let refused = reboot(RebootMode::RB_AUTOBOOT);
    console(&format!("failed to reboot: {refused:?}"));
    // PID 1's end panics the kernel, which ends the machine too (`panic=-1`).
    std::process::exit(70)
}
