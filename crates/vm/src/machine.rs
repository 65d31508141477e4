//! QEMU's arguments and the kernel's command line for a plan.

use mthp_record::job::PORT_NAME;

use crate::{
    accel::Accel,
    plan::{BootPlan, MachineKind},
};

/// A denial for each thing the emulator never needs here.
const SANDBOX: &str = "on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny";

/// QEMU's arguments. `tsc_khz` is the host's rate, see [`crate::tsc::host_khz`].
///
/// The result port is the socket that QEMU gets as its standard input, the console its standard output: so
/// there is no path that a second run could meet and no number that changes from run to run.
#[must_use]
pub fn arguments(plan: &BootPlan, tsc_khz: Option<u32>) -> Vec<String> {
    let mut out = Arguments::default();
    out.pair("-name", format!("mthp-{}-{}", plan.side, plan.index));
    for flag in ["-nodefaults", "-no-user-config", "-no-reboot"] {
        out.flag(flag);
    }
    out.pair("-display", "none");
    out.pair("-monitor", "none");
    out.pair("-sandbox", SANDBOX);
    out.pair(
        "-machine",
        match plan.machine {
            MachineKind::Microvm => "microvm,acpi=off",
            MachineKind::Q35 => "q35",
        },
    );
    match plan.accel {
        Accel::Kvm => {
            out.pair("-accel", "kvm");
            out.pair("-cpu", "host");
        }
        Accel::Tcg => {
            out.pair("-accel", "tcg,thread=single");
            // Five-level page tables cost a step in every walk and change nothing that is looked at.
            out.pair("-cpu", "max,la57=off");
        }
    }
    out.pair("-smp", plan.cpus.to_string());
    out.pair("-m", format!("{}M", plan.memory_mib));
    out.pair("-kernel", plan.vmlinux.display().to_string());
    out.pair("-initrd", plan.initramfs.display().to_string());
    out.pair("-append", command_line(plan, tsc_khz));
    out.pair("-chardev", "file,id=console,path=/dev/fd/1");
    out.pair("-serial", "chardev:console");
    out.pair("-chardev", "socket,id=results,fd=0");
    match plan.machine {
        MachineKind::Microvm => {
            out.pair("-global", "virtio-mmio.force-legacy=false");
            out.pair("-device", "virtio-serial-device,max_ports=2");
        }
        MachineKind::Q35 => out.pair("-device", "virtio-serial-pci,max_ports=2"),
    }
    out.pair("-device", format!("virtserialport,chardev=results,name={PORT_NAME}"));
    if let Some(plugin) = plan.plugin.as_ref().filter(|_| plan.accel == Accel::Tcg) {
        let file = in_option(&format!("file={}", plugin.file.display()));
        let arguments = plugin.arguments.iter().map(|argument| format!(",{}", in_option(argument)));
        out.pair("-plugin", file + &arguments.collect::<String>());
    }
    if let Some(disk) = &plan.disk {
        let file = in_option(&disk.display().to_string());
        out.pair("-drive", format!("if=none,id=disk,format=raw,readonly=on,file={file}"));
        let device = match plan.machine {
            MachineKind::Microvm => "virtio-blk-device",
            MachineKind::Q35 => "virtio-blk-pci",
        };
        out.pair("-device", format!("{device},drive=disk"));
    }
    out.0
}

/// A comma would end it.
pub(crate) fn in_option(text: &str) -> String {
    text.replace(',', ",,")
}

#[derive(Default)]
struct Arguments(Vec<String>);

impl Arguments {
    fn flag(&mut self, name: &str) {
        self.0.push(name.to_owned());
    }

    fn pair(&mut self, name: &str, value: impl Into<String>) {
        self.flag(name);
        self.0.push(value.into());
    }
}

/// The kernel's command line.
#[must_use]
pub fn command_line(plan: &BootPlan, tsc_khz: Option<u32>) -> String {
    let mut words: Vec<String> = [
        "console=ttyS0",
        // The console's reader tells the kernel's lines by their time.
        "printk.time=1",
        // All but debugging: the banner, by which a reboot is seen, and where a silent guest stopped. Under
        // emulation this costs no measurable time.
        "loglevel=7",
        // A kernel that is broken ends at once; -no-reboot then ends QEMU.
        "panic=-1",
        "oops=panic",
        "softlockup_panic=1",
        "hung_task_panic=1",
        "reboot=t",
        "nokaslr",
        "norandmaps",
        "random.trust_cpu=on",
        "rdinit=/init",
    ]
    .map(str::to_owned)
    .into();
    if plan.accel == Accel::Tcg {
        // The emulated timers tick late on a busy host; without these two a boot in fourteen hangs on microvm.
        words.push("no_timer_check".to_owned());
        // The emulator gives the guest the host's counter. Its rate is what the guest fails to find out.
        words.extend(tsc_khz.map(|khz| format!("tsc_early_khz={khz}")));
    }
    if plan.fake_nodes > 1 {
        words.push(format!("numa=fake={}", plan.fake_nodes));
    }
    words.extend(plan.extra_cmdline.split_whitespace().map(str::to_owned));
    words.join(" ")
}

#[cfg(test)]
pub(crate) mod tests {
    use std::path::PathBuf;

    use mthp_record::boot::Side;

    use super::*;
    use crate::plan::{Deadlines, Plugin};

    pub(crate) fn plan() -> BootPlan {
        BootPlan {
            side: Side::Base,
            index: 3,
            vmlinux: PathBuf::from("/k/vmlinux"),
            initramfs: PathBuf::from("/k/initramfs"),
            disk: None,
            memory_mib: 1024,
            cpus: 1,
            fake_nodes: 0,
            accel: Accel::Tcg,
            machine: MachineKind::Microvm,
            deadlines: Deadlines::default(),
            folder: PathBuf::from("/out"),
            nonce: 7,
            extra_cmdline: String::new(),
            plugin: None,
        }
    }

    #[test]
    fn microvm_under_tcg() {
        insta::assert_snapshot!(arguments(&plan(), Some(2_596_000)).join("\n"));
    }

    #[test]
    fn a_disk_is_read_only_and_its_name_may_hold_a_comma() {
        let plan = BootPlan { disk: Some(PathBuf::from("/k/a,b")), ..plan() };
        let arguments = arguments(&plan, None).join(" ");
        let wanted =
            "-drive if=none,id=disk,format=raw,readonly=on,file=/k/a,,b -device virtio-blk-device,drive=disk";
        assert!(arguments.contains(wanted), "{arguments}");
    }

    #[test]
    fn a_plugin_watches_an_emulated_guest_only() {
        let plugin =
            Plugin { file: "/p,q.so".into(), arguments: vec!["out=/o,1".to_owned(), "x=2".to_owned()] };
        let plan = BootPlan { plugin: Some(plugin), ..plan() };
        assert!(arguments(&plan, None).join(" ").contains("-plugin file=/p,,q.so,out=/o,,1,x=2"));
        let plan = BootPlan { accel: Accel::Kvm, ..plan };
        assert!(!arguments(&plan, None).join(" ").contains("-plugin"));
    }

    #[test]
    fn q35_under_kvm_with_nodes() {
        let plan = BootPlan {
            accel: Accel::Kvm,
            machine: MachineKind::Q35,
            fake_nodes: 2,
            extra_cmdline: " foo  bar=1 ".to_owned(),
            ..plan()
        };
        insta::assert_snapshot!(arguments(&plan, Some(2_596_000)).join("\n"));
    }
}
