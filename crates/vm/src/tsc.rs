//! The host's time stamp counter: QEMU's emulator hands it to the guest as it is, so its rate is the guest's.

use std::sync::OnceLock;

/// The rate of the host's time stamp counter in kHz, to the nearest MHz; measured once (20 ms).
///
/// `None` where the host has no such counter or it makes no sense.
#[must_use]
pub fn host_khz() -> Option<u32> {
    static KHZ: OnceLock<Option<u32>> = OnceLock::new();
    *KHZ.get_or_init(measure)
}

#[cfg(target_arch = "x86_64")]
fn measure() -> Option<u32> {
    use std::time::{Duration, Instant};

    fn now() -> u64 {
        // SAFETY: RDTSC reads a register and touches no memory; every x86-64 CPU has it.
        unsafe { std::arch::x86_64::_rdtsc() }
    }

    let (start, first) = (Instant::now(), now());
    while start.elapsed() < Duration::from_millis(20) {
        std::thread::yield_now();
    }
    let (last, elapsed) = (now(), start.elapsed());
    let ticks = u128::from(last.checked_sub(first)?);
    let nanos = elapsed.as_nanos().max(1);
    let mhz = u32::try_from((ticks * 1_000 + nanos / 2) / nanos).ok()?;
    (100..20_000).contains(&mhz).then_some(mhz * 1_000)
}

#[cfg(not(target_arch = "x86_64"))]
fn measure() -> Option<u32> {
    None
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_rate_is_plausible_and_repeats() {
        assert_eq!(super::host_khz(), super::host_khz());
        if cfg!(target_arch = "x86_64") {
            assert!(super::host_khz().is_some_and(|khz| khz > 100_000));
        }
    }
}
