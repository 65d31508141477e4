//! QEMU's interface, as far as it is used here, in Rust's terms.

use std::{
    ffi::{CStr, c_void},
    io::Write as _,
    os::raw::{c_char, c_int},
};

use qemu_plugin_sys::*;

/// The arguments behind the plugin's file.
///
/// # Errors
/// One that is no UTF-8.
///
/// # Safety
/// `argv` are `argc` valid strings.
pub(crate) unsafe fn arguments(argc: c_int, argv: *const *const c_char) -> Result<Vec<String>, String> {
    (0..usize::try_from(argc).unwrap_or_default())
        .map(|at| {
            // SAFETY: as the caller promises.
            let text = unsafe { CStr::from_ptr(*argv.add(at)) };
            text.to_str().map(str::to_owned).map_err(|_| format!("failed to read the argument {text:?}"))
        })
        .collect()
}

/// The most vCPUs there can be.
///
/// # Errors
/// Where a user-space program is emulated and no machine, or no x86-64.
///
/// # Safety
/// `info` is valid.
pub(crate) unsafe fn cpus(info: *const qemu_info_t) -> Result<usize, String> {
    // SAFETY: as the caller promises; the name is a string.
    let (info, target) = unsafe { (&*info, CStr::from_ptr((*info).target_name)) };
    if !info.system_emulation || target != c"x86_64" {
        return Err(format!(
            "failed to use the plugin for {}: it is for machines of x86_64",
            target.to_string_lossy()
        ));
    }
    // SAFETY: a whole machine is emulated, as was asked.
    let cpus = unsafe { info.__bindgen_anon_1.system.max_vcpus };
    usize::try_from(cpus).map_err(|_| format!("failed to understand {cpus} vCPUs"))
}

/// Says something on QEMU's standard error, which the host keeps. (QEMU's own way goes to a log that is off.)
pub(crate) fn say(text: &str) {
    // Where there is no standard error there is nobody to tell.
    let _ = writeln!(std::io::stderr(), "mthp-regress: {text}");
}

/// An instruction that is being translated.
#[derive(Clone, Copy)]
pub(crate) struct Instruction(*mut qemu_plugin_insn);

/// The instructions of a block that is being translated.
///
/// # Safety
/// `block` is what QEMU gave to the callback that is running; so is what comes of it.
pub(crate) unsafe fn instructions(block: *mut qemu_plugin_tb) -> impl Iterator<Item = Instruction> {
    // SAFETY: as the caller promises.
    let count = unsafe { qemu_plugin_tb_n_insns(block) };
    // SAFETY: likewise; the number is below the count.
    (0..count).map(move |at| Instruction(unsafe { qemu_plugin_tb_get_insn(block, at) }))
}

impl Instruction {
    pub(crate) fn address(self) -> u64 {
        // SAFETY: QEMU's, and its callback still runs.
        unsafe { qemu_plugin_insn_vaddr(self.0) }
    }

    /// Its bytes, if there are just so many of them.
    pub(crate) fn bytes<const LENGTH: usize>(self) -> Option<[u8; LENGTH]> {
        // SAFETY: QEMU's, and its callback still runs.
        if unsafe { qemu_plugin_insn_size(self.0) } != LENGTH {
            return None;
        }
        let mut bytes = [0; LENGTH];
        #[cfg(any(feature = "api-1", feature = "api-2"))]
        // SAFETY: as above; QEMU has as many bytes as the size says.
        unsafe {
            bytes.copy_from_slice(std::slice::from_raw_parts(qemu_plugin_insn_data(self.0).cast(), LENGTH));
        }
        #[cfg(any(feature = "api-3", feature = "api-4"))]
        // SAFETY: as above; there is room for as many bytes as are asked for.
        unsafe {
            qemu_plugin_insn_data(self.0, bytes.as_mut_ptr().cast(), LENGTH);
        }
        Some(bytes)
    }

    /// Calls `callback` with `number` at each execution, before it.
    pub(crate) fn on_execution(self, callback: unsafe extern "C" fn(u32, *mut c_void), number: usize) {
        // SAFETY: QEMU's instruction, its callback still runs; the number is never used as a pointer.
        unsafe {
            qemu_plugin_register_vcpu_insn_exec_cb(
                self.0,
                Some(callback),
                qemu_plugin_cb_flags::QEMU_PLUGIN_CB_NO_REGS,
                std::ptr::without_provenance_mut(number),
            );
        }
    }

    /// Calls `callback` at each of its accesses to memory.
    pub(crate) fn on_access(
        self,
        callback: unsafe extern "C" fn(u32, qemu_plugin_meminfo_t, u64, *mut c_void),
    ) {
        // SAFETY: QEMU's instruction, its callback still runs.
        unsafe {
            qemu_plugin_register_vcpu_mem_cb(
                self.0,
                Some(callback),
                qemu_plugin_cb_flags::QEMU_PLUGIN_CB_NO_REGS,
                qemu_plugin_mem_rw::QEMU_PLUGIN_MEM_RW,
                std::ptr::null_mut(),
            );
        }
    }
}

/// The physical address of an access to ordinary memory.
///
/// # Safety
/// Both are what QEMU gave to the callback that is running.
#[inline]
pub(crate) unsafe fn physical(info: qemu_plugin_meminfo_t, address: u64) -> Option<u64> {
    // SAFETY: as the caller promises.
    unsafe {
        let place = qemu_plugin_get_hwaddr(info, address);
        if place.is_null() || qemu_plugin_hwaddr_is_io(place) {
            return None;
        }
        Some(qemu_plugin_hwaddr_phys_addr(place))
    }
}
