//! QEMU's side of the cost model: a TCG plugin that tells `mthp-meter` every user-space access inside a region.
//!
//! Outside regions nothing is instrumented but marks and one function of the kernel, so the guest runs as fast as
//! without a plugin: where the first region begins and the last one ends, all code is translated anew.
//!
//! What runs on a vCPU is known by the kernel's switch from task to task: the first value that `__switch_to_asm`
//! loads is the next task's stack pointer, out of the task's own structure; so that address is the task's number.

mod api;
mod options;
mod watch;

use std::os::raw::{c_char, c_int};

use qemu_plugin_sys::{QEMU_PLUGIN_VERSION, qemu_info_t, qemu_plugin_id_t};

/// What QEMU compares with the versions of the interface that it speaks.
#[unsafe(no_mangle)]
pub static qemu_plugin_version: c_int = QEMU_PLUGIN_VERSION as c_int;

/// Called by QEMU once, before any vCPU runs. Anything but 0 ends QEMU.
///
/// # Safety
/// QEMU's: `info` and the `argc` strings of `argv` are valid during the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn qemu_plugin_install(
    id: qemu_plugin_id_t,
    info: *const qemu_info_t,
    argc: c_int,
    argv: *const *const c_char,
) -> c_int {
    // SAFETY: as QEMU promises.
    let started = unsafe { api::arguments(argc, argv) }.and_then(|arguments| {
        // SAFETY: as QEMU promises.
        let cpus = unsafe { api::cpus(info) }?;
        watch::start(id, cpus, &arguments)
    });
    match started {
        Ok(()) => 0,
        Err(problem) => {
            api::say(&problem);
            1
        }
    }
}
