//! Guests that panic, hang, loop, flood, and lie: real boots, each with one right answer.

use anyhow::{Context, Result, bail, ensure};
use kernel_tests::shared;
use libtest_mimic::{Arguments, Failed, Trial};
use mthp_kernel::PatchSeries;
use mthp_record::{
    boot::{BootOutcome, BootRecord, KernelFailure},
    job::Misbehaviour,
};

const TEST: &[&str] = &["fixed/*"];

fn main() {
    let arguments = Arguments::from_args();
    let trials = vec![
        guest("a panic", Misbehaviour::Panic, |outcome| failed(outcome, &[KernelFailure::Panic])),
        guest("a hang", Misbehaviour::Hang, |outcome| matches!(outcome, BootOutcome::SilentHang { .. })),
        guest("a reboot", Misbehaviour::Reboot, |outcome| matches!(outcome, BootOutcome::EndedEarly { .. })),
        guest("a flooded console", Misbehaviour::FloodConsole, bad_stream),
        guest("broken frames", Misbehaviour::BrokenFrames, bad_stream),
        guest("garbage", Misbehaviour::Garbage, bad_stream),
        guest("a huge frame", Misbehaviour::HugeFrame, bad_stream),
        guest("a truncated result", Misbehaviour::Truncate, |outcome| {
            matches!(outcome, BootOutcome::BadStream { .. } | BootOutcome::EndedEarly { .. })
        }),
        guest("out of memory", Misbehaviour::OutOfMemory, |outcome| {
            failed(outcome, &[KernelFailure::OutOfMemory])
        }),
        trial("guest::escape sequences", || {
            let record = boot_guest(Misbehaviour::Escapes)?;
            let text = serde_json::to_string(&record)?;
            ensure!(!text.contains("\\u001b"), "an escape sequence came through: {text}");
            Ok(())
        }),
        kernel("panics-at-boot", &[KernelFailure::Panic]),
        kernel("oopses-at-boot", &[KernelFailure::Oops]),
        kernel("locks-up-at-boot", &[KernelFailure::SoftLockup, KernelFailure::RcuStall]),
        trial("kernel::hangs-at-boot", || {
            let record = boot_kernel("hangs-at-boot")?;
            match record.outcome {
                BootOutcome::SilentHang { .. } => Ok(()),
                outcome => bail!("expected a silent hang, got {outcome:?}"),
            }
        }),
        trial("kernel::does-not-build", || {
            let error = boot_kernel("does-not-build").err().context("it was built")?;
            let text = format!("{error:#}");
            ensure!(text.contains("undeclared_thing") && text.contains("log"), "{text}");
            Ok(())
        }),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

fn trial(name: &str, run: impl FnOnce() -> Result<()> + Send + 'static) -> Trial {
    Trial::test(name.replace(' ', "-"), move || run().map_err(|error| Failed::from(format!("{error:#}"))))
}

fn guest(what: &str, misbehaviour: Misbehaviour, right: fn(&BootOutcome) -> bool) -> Trial {
    trial(&format!("guest::{what}"), move || {
        let record = boot_guest(misbehaviour)?;
        ensure!(right(&record.outcome), "{:?}", record.outcome);
        Ok(())
    })
}

fn kernel(patch: &'static str, expected: &'static [KernelFailure]) -> Trial {
    trial(&format!("kernel::{patch}"), move || {
        let record = boot_kernel(patch)?;
        ensure!(failed(&record.outcome, expected), "{:?}", record.outcome);
        Ok(())
    })
}

fn boot_guest(misbehaviour: Misbehaviour) -> Result<BootRecord> {
    let kernel = shared::kernel("stock-6.12", &[])?;
    shared::boot(&kernel, TEST, Some(misbehaviour), |setting| {
        // A hang costs its whole deadline: enough for a busy machine, no more.
        setting.suite.deadlines.boot_secs = 5;
        setting.suite.deadlines.test_secs = 2;
    })
}

fn boot_kernel(patch: &str) -> Result<BootRecord> {
    let path = shared::lab()?.project().patch(&format!("broken/{patch}.patch"));
    let kernel = shared::kernel("stock-6.12", &[PatchSeries::read(&path, false)?])?;
    shared::boot(&kernel, TEST, None, |setting| {
        // The lockup detector wants 20 s and more; a silent hang is awaited to its end.
        setting.suite.deadlines.boot_secs = if patch == "locks-up-at-boot" { 20 } else { 4 };
    })
}

fn failed(outcome: &BootOutcome, expected: &[KernelFailure]) -> bool {
    matches!(outcome, BootOutcome::KernelFailed { failure, .. } if expected.contains(failure))
}

fn bad_stream(outcome: &BootOutcome) -> bool {
    matches!(outcome, BootOutcome::BadStream { .. })
}
