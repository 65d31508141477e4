//! What one boot is to be.

use std::path::PathBuf;

use mthp_record::boot::Side;
use serde::{Deserialize, Serialize};

use crate::accel::Accel;

/// One boot of one kernel.
#[derive(Clone, Debug)]
pub struct BootPlan {
    /// Which kernel.
    pub side: Side,
    /// The boot's number within its side, from 0.
    pub index: u32,
    /// The kernel, an ELF file with a PVH entry.
    pub vmlinux: PathBuf,
    /// The initramfs, as [`crate::initramfs::build`] makes it.
    pub initramfs: PathBuf,
    /// A raw image that the guest sees as a disk it cannot write to (`/dev/vda`).
    pub disk: Option<PathBuf>,
    /// The guest's memory in MiB.
    pub memory_mib: u32,
    /// The guest's CPUs.
    pub cpus: u32,
    /// Split the memory into so many NUMA nodes (`numa=fake=`); 0 or 1 leaves it whole.
    pub fake_nodes: u32,
    /// What runs the guest's instructions.
    pub accel: Accel,
    /// The machine.
    pub machine: MachineKind,
    /// How long to wait; see [`Deadlines::scaled`].
    pub deadlines: Deadlines,
    /// An existing folder for the console's log and QEMU's own words.
    pub folder: PathBuf,
    /// The job's nonce, which the guest repeats.
    pub nonce: u64,
    /// More words for the kernel's command line, at its end; may be empty.
    pub extra_cmdline: String,
    /// What watches the guest's instructions under emulation.
    pub plugin: Option<Plugin>,
}

/// A plugin of QEMU's emulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plugin {
    /// Its file.
    pub file: PathBuf,
    /// Its arguments, `name=value` each.
    pub arguments: Vec<String>,
}

impl BootPlan {
    /// The file name of the console's log in the folder.
    #[must_use]
    pub fn console_name(&self) -> String {
        format!("console-{}-{}.log", self.side, self.index)
    }

    /// The file name of QEMU's standard error in the folder.
    #[must_use]
    pub fn stderr_name(&self) -> String {
        format!("qemu-{}-{}.stderr", self.side, self.index)
    }
}

/// A machine of QEMU's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MachineKind {
    /// No PCI, no ACPI: boots fastest.
    Microvm,
    /// A PC with PCI: where a kernel lacks what microvm needs (`VIRTIO_MMIO_CMDLINE_DEVICES`).
    Q35,
}

impl std::fmt::Display for MachineKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Microvm => "microvm",
            Self::Q35 => "q35",
        })
    }
}

/// How long a guest may take before it counts as hung.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Deadlines {
    /// From QEMU's start to the guest's hello.
    pub boot_secs: u32,
    /// For one test; the guest keeps it (the job's `test_deadline_secs`), the host allows a bit more.
    pub test_secs: u32,
    /// For the whole run.
    pub run_secs: u32,
}

impl Deadlines {
    /// How much slower emulation may be than KVM, on a busy machine too.
    pub const TCG_FACTOR: u32 = 6;

    /// Deadlines given for KVM, scaled for what runs the guest.
    #[must_use]
    pub fn scaled(self, accel: Accel) -> Self {
        let factor = match accel {
            Accel::Kvm => 1,
            Accel::Tcg => Self::TCG_FACTOR,
        };
        Self {
            boot_secs: self.boot_secs.saturating_mul(factor),
            test_secs: self.test_secs.saturating_mul(factor),
            run_secs: self.run_secs.saturating_mul(factor),
        }
    }

    /// The host's own deadline for a test: the guest, which kills a hung test itself, must come first.
    #[must_use]
    pub fn host_test_secs(self) -> u32 {
        self.test_secs.saturating_add(self.test_secs / 2).saturating_add(5)
    }

    /// From the guest's bye to QEMU's end.
    #[must_use]
    pub fn shutdown_secs(self) -> u32 {
        (self.boot_secs / 3).max(5)
    }
}

impl Default for Deadlines {
    /// For KVM. Generous, since a failure that the console tells is found at once anyway.
    fn default() -> Self {
        Self { boot_secs: 10, test_secs: 10, run_secs: 300 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_grow_under_emulation_and_never_overflow() {
        let deadlines = Deadlines { boot_secs: 10, test_secs: 20, run_secs: u32::MAX };
        assert_eq!(deadlines.scaled(Accel::Kvm), deadlines);
        let slow = deadlines.scaled(Accel::Tcg);
        assert_eq!((slow.boot_secs, slow.test_secs, slow.run_secs), (60, 120, u32::MAX));
        assert!(slow.host_test_secs() > slow.test_secs);
    }
}
