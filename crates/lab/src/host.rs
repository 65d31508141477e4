//! The machine that runs everything.

use std::fs;

use mthp_judge::report::{HostRecord, QemuRecord};
use mthp_vm::qemu::Qemu;

/// What the report says of it; what /proc does not tell stays empty.
#[must_use]
pub fn record() -> HostRecord {
    let cpu_model = fs::read_to_string("/proc/cpuinfo")
        .ok()
        .and_then(|text| {
            let line = text.lines().find(|line| line.starts_with("model name"))?;
            Some(line.split_once(':')?.1.trim().to_owned())
        })
        .unwrap_or_default();
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default().trim().to_owned();
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    HostRecord { cpus: u32::try_from(cpus).unwrap_or(u32::MAX), cpu_model, kernel }
}

/// What the report says of the emulator.
#[must_use]
pub fn qemu(qemu: &Qemu) -> QemuRecord {
    QemuRecord { version: qemu.version.clone(), binary: qemu.binary.display().to_string() }
}
