//! What happens on the vCPUs, told to the meter.

use std::{
    cell::UnsafeCell,
    collections::HashSet,
    ffi::c_void,
    fs,
    path::PathBuf,
    sync::{
        Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use mthp_cachemodel::{Access, Machine};
use mthp_meter::{Lane, Meter, Turn};
use mthp_record::cost::{Mark, READY, mark::LENGTH};
use qemu_plugin_sys::*;

use crate::{api, options::Options};

/// Upper half of the addresses: the kernel's.
const KERNEL: u64 = 1 << 63;
/// `__switch_to_asm` is shorter than this, and the next function's loads find no switch under way.
const SWITCH_BYTES: u64 = 64;
/// It accesses no memory of the program's. QEMU before 8.0 does not end an instruction's callbacks where it leaves its
/// block by a helper: what the kernel does next would be told as this instruction's doing.
const SYSCALL: [u8; 2] = [0x0f, 0x05];

/// The most instructions that are remembered as answers: a guest may make as many marks as it likes.
const MAX_ANSWERS: usize = 1 << 16;

struct Watch {
    id: qemu_plugin_id_t,
    out: PathBuf,
    switch: u64,
    nonce: u64,
    meter: Mutex<Meter>,
    /// A region is open: code is translated with its accesses told.
    armed: AtomicBool,
    /// Where the instructions lie that follow a mark which asks: a block may end between the two.
    answers: Mutex<HashSet<u64>>,
    lanes: Vec<Own<Side>>,
}

/// What belongs to one vCPU.
#[derive(Default)]
struct Side {
    lane: Lane,
    /// The kernel is between two tasks; its next load names the next one.
    switching: bool,
}

/// Something that only one vCPU's thread touches.
#[derive(Default)]
struct Own<T>(UnsafeCell<T>);

// SAFETY: QEMU calls a vCPU's callbacks from that vCPU's thread only, one after the other, and each vCPU has its own.
unsafe impl<T: Send> Sync for Own<T> {}

static WATCH: OnceLock<Watch> = OnceLock::new();

/// Begins to watch.
///
/// # Errors
/// What is wrong with the arguments or the machines' files.
pub(crate) fn start(id: qemu_plugin_id_t, cpus: usize, arguments: &[String]) -> Result<(), String> {
    let options = Options::parse(arguments.iter().map(String::as_str))?;
    let Some(out) = options.out else { return Err(READY.to_owned()) };
    let mut machines = Vec::new();
    for (name, file) in options.machines {
        let text = fs::read_to_string(&file)
            .map_err(|error| format!("failed to read {}: {error}", file.display()))?;
        let machine =
            Machine::parse(&text).map_err(|error| format!("failed to read {}: {error}", file.display()))?;
        machines.push((name, machine));
    }
    let watch = Watch {
        id,
        out,
        switch: options.switch,
        nonce: options.nonce,
        meter: Mutex::new(Meter::new(machines, cpus)),
        armed: AtomicBool::new(false),
        answers: Mutex::default(),
        lanes: (0..cpus).map(|_| Own::default()).collect(),
    };
    WATCH.set(watch).map_err(|_| "failed to start twice".to_owned())?;
    // SAFETY: QEMU's own number of this plugin.
    unsafe { register(id) };
    Ok(())
}

/// # Safety
/// `id` is this plugin's.
unsafe extern "C" fn register(id: qemu_plugin_id_t) {
    // SAFETY: as the caller promises.
    unsafe {
        qemu_plugin_register_vcpu_tb_trans_cb(id, Some(translate));
        qemu_plugin_register_atexit_cb(id, Some(end), std::ptr::null_mut());
    }
}

impl Watch {
    fn meter(&self) -> MutexGuard<'_, Meter> {
        self.meter.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// # Safety
    /// Called in a callback of that vCPU, once.
    #[expect(clippy::mut_from_ref, reason = "the cell is the vCPU's own")]
    unsafe fn side(&self, cpu: u32) -> Option<&mut Side> {
        // SAFETY: see `Own`.
        self.lanes.get(cpu as usize).map(|own| unsafe { &mut *own.0.get() })
    }
}

unsafe extern "C" fn translate(_: qemu_plugin_id_t, block: *mut qemu_plugin_tb) {
    let Some(watch) = WATCH.get() else { return };
    let armed = watch.armed.load(Ordering::Relaxed);
    let mut answers = watch.answers.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: QEMU's block, and its callback runs.
    for instruction in unsafe { api::instructions(block) } {
        let address = instruction.address();
        if address & KERNEL != 0 {
            let into = address.wrapping_sub(watch.switch);
            if into == 0 {
                instruction.on_execution(switch_begins, 0);
            }
            if into < SWITCH_BYTES {
                instruction.on_access(switch_loads);
            }
            continue;
        }
        if (armed || answers.contains(&address)) && instruction.bytes() != Some(SYSCALL) {
            instruction.on_access(access);
        }
        let mark = instruction.bytes::<LENGTH>().and_then(|bytes| Mark::decode(&bytes));
        if let Some(mark) = mark {
            if mark.looks_ahead() && !remember(&mut answers, address.wrapping_add(LENGTH as u64)) {
                watch.meter().fault("more marks than can be remembered");
            }
            instruction.on_execution(marked, mark.displacement() as usize);
        }
    }
}

/// Is it remembered now?
fn remember(answers: &mut HashSet<u64>, address: u64) -> bool {
    if answers.len() < MAX_ANSWERS {
        answers.insert(address);
    }
    answers.contains(&address)
}

unsafe extern "C" fn switch_begins(cpu: u32, _: *mut c_void) {
    let Some(watch) = WATCH.get() else { return };
    // SAFETY: a callback of this vCPU.
    if let Some(side) = unsafe { watch.side(cpu) } {
        side.switching = true;
    }
}

unsafe extern "C" fn switch_loads(cpu: u32, info: qemu_plugin_meminfo_t, address: u64, _: *mut c_void) {
    let Some(watch) = WATCH.get() else { return };
    // SAFETY: a callback of this vCPU.
    let Some(side) = (unsafe { watch.side(cpu) }) else { return };
    // SAFETY: QEMU's information.
    if side.switching && !unsafe { qemu_plugin_mem_is_store(info) } {
        side.switching = false;
        watch.meter().switched(cpu as usize, &mut side.lane, address);
    }
}

unsafe extern "C" fn marked(cpu: u32, displacement: *mut c_void) {
    let Some(watch) = WATCH.get() else { return };
    // SAFETY: a callback of this vCPU.
    let Some(side) = (unsafe { watch.side(cpu) }) else { return };
    let Some(mark) = u32::try_from(displacement.addr()).ok().and_then(Mark::of) else { return };
    let turn = watch.meter().marked(cpu as usize, &mut side.lane, mark);
    if turn != Turn::Same {
        watch.armed.store(turn == Turn::Begins, Ordering::Relaxed);
        // All that was translated goes, and with it what was registered; the vCPU goes on when that is done.
        // SAFETY: this plugin's number, as QEMU gave it.
        unsafe { qemu_plugin_reset(watch.id, Some(register)) };
    }
}

unsafe extern "C" fn access(cpu: u32, info: qemu_plugin_meminfo_t, address: u64, _: *mut c_void) {
    let Some(watch) = WATCH.get() else { return };
    // SAFETY: a callback of this vCPU.
    let Some(side) = (unsafe { watch.side(cpu) }) else { return };
    if side.lane.is_asked() && address & KERNEL == 0 {
        return watch.meter().told(cpu as usize, &mut side.lane, address);
    }
    // A callback that outlives its instruction (see `SYSCALL`) tells what the kernel accesses.
    if !side.lane.records() || address & KERNEL != 0 {
        return;
    }
    // SAFETY: QEMU's information, in its callback.
    let (physical, size, store) = unsafe {
        (
            api::physical(info, address),
            1u8 << qemu_plugin_mem_size_shift(info),
            qemu_plugin_mem_is_store(info),
        )
    };
    let Some(paddr) = physical else { return };
    let access = Access { vaddr: address, paddr, size, store, huge: false };
    if side.lane.push(access) {
        watch.meter().collect(cpu as usize, &mut side.lane);
    }
}

unsafe extern "C" fn end(_: qemu_plugin_id_t, _: *mut c_void) {
    let Some(watch) = WATCH.get() else { return };
    let account = watch.meter().account(QEMU_PLUGIN_VERSION, watch.nonce);
    let written = serde_json::to_vec(&account)
        .map_err(|error| error.to_string())
        // Whole or not at all: a reader that finds the file can trust it.
        .and_then(|text| write(&watch.out, &text).map_err(|error| error.to_string()));
    if let Err(error) = written {
        api::say(&format!("failed to write {}: {error}", watch.out.display()));
    }
}

fn write(path: &std::path::Path, text: &[u8]) -> std::io::Result<()> {
    let part = path.with_extension("part");
    fs::write(&part, text)?;
    fs::rename(&part, path)
}
