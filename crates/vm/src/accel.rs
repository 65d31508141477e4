//! KVM or emulation, and why.

use std::{fmt, fs::OpenOptions, str::FromStr, time::Duration};

use anyhow::{Result, bail};
use mthp_record::boot::{BootOutcome, BootRecord};
use serde::{Deserialize, Serialize};

/// How long a trial boot under KVM may take.
pub const TRIAL_DEADLINE: Duration = Duration::from_secs(5);

/// What the user asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccelChoice {
    /// KVM where a trial boot proves it, else emulation.
    #[default]
    Auto,
    /// KVM or an error.
    Kvm,
    /// Emulation.
    Tcg,
}

/// What runs the guest's instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Accel {
    /// The CPU, through /dev/kvm.
    Kvm,
    /// QEMU's emulator.
    Tcg,
}

/// A choice and its reason, for the record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Accelerator {
    /// What runs the guest's instructions.
    pub accel: Accel,
    /// Why, in a sentence.
    pub why: String,
}

impl fmt::Display for AccelChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        })
    }
}

impl FromStr for AccelChoice {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "kvm" => Ok(Self::Kvm),
            "tcg" => Ok(Self::Tcg),
            _ => bail!("failed to read {text:?} as an accelerator: it is auto, kvm or tcg"),
        }
    }
}

impl fmt::Display for Accel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Kvm => "kvm",
            Self::Tcg => "tcg",
        })
    }
}

/// Can /dev/kvm be opened? That it can proves nothing; that it cannot saves a trial boot.
///
/// # Errors
/// The reason why it cannot be opened.
pub fn kvm_opens() -> std::io::Result<()> {
    OpenOptions::new().read(true).write(true).open("/dev/kvm").map(drop)
}

/// Chooses the accelerator. KVM is taken only after `trial`, a real boot of the kernel under test with a job
/// of no tests under the given accelerator and deadline, completed. The caller may keep the answer.
///
/// # Errors
/// When KVM is asked for and does not work, or the trial was interrupted.
pub fn choose(
    choice: AccelChoice,
    device: impl FnOnce() -> std::io::Result<()>,
    trial: impl FnOnce(Accel, Duration) -> Result<BootRecord>,
) -> Result<Accelerator> {
    if choice == AccelChoice::Tcg {
        return Ok(Accelerator { accel: Accel::Tcg, why: "asked for".to_owned() });
    }
    let problem = match device() {
        Err(error) => format!("/dev/kvm cannot be opened: {error}"),
        Ok(()) => match trial(Accel::Kvm, TRIAL_DEADLINE) {
            Ok(record) => match record.outcome {
                BootOutcome::Completed => {
                    let why = match record.boot_millis {
                        Some(millis) => format!("a trial boot under KVM answered after {millis} ms"),
                        None => "a trial boot under KVM completed".to_owned(),
                    };
                    return Ok(Accelerator { accel: Accel::Kvm, why });
                }
                BootOutcome::Interrupted => bail!("failed to try KVM: interrupted"),
                outcome => format!("a trial boot under KVM failed: {}", in_words(&outcome)),
            },
            Err(error) => format!("a trial boot under KVM failed: {error:#}"),
        },
    };
    match choice {
        AccelChoice::Kvm => bail!("failed to use KVM: {problem}"),
        _ => Ok(Accelerator { accel: Accel::Tcg, why: problem }),
    }
}

/// How a boot ended, in words.
#[must_use]
pub fn in_words(outcome: &BootOutcome) -> String {
    match outcome {
        BootOutcome::Completed => "completed".to_owned(),
        BootOutcome::NotFinished => "did not finish".to_owned(),
        BootOutcome::KernelFailed { line, .. } => format!("the kernel failed: {line}"),
        BootOutcome::SilentHang { after_secs, .. } => format!("no answer within {after_secs} s"),
        BootOutcome::EndedEarly { .. } => "the guest ended before its work was done".to_owned(),
        BootOutcome::BadStream { problem } => format!("the result stream was bad: {problem}"),
        BootOutcome::QemuFailed { message } => format!("QEMU failed: {message}"),
        BootOutcome::Interrupted => "interrupted".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use mthp_record::{
        boot::{Phase, Side},
        message::Snapshot,
    };

    use super::*;

    fn record(outcome: BootOutcome) -> BootRecord {
        BootRecord {
            side: Side::Base,
            index: 0,
            outcome,
            identity: None,
            announced: Vec::new(),
            tests: Vec::new(),
            before: Snapshot::default(),
            after: Snapshot::default(),
            tainted: None,
            console: String::new(),
            qemu_command: Vec::new(),
            boot_millis: Some(700),
            total_millis: 0,
        }
    }

    fn hang() -> Result<BootRecord> {
        Ok(record(BootOutcome::SilentHang { phase: Phase::Boot, after_secs: 5 }))
    }

    #[test]
    fn kvm_is_taken_only_when_proved() {
        let chosen = choose(
            AccelChoice::Auto,
            || Ok(()),
            |accel, deadline| {
                assert_eq!((accel, deadline), (Accel::Kvm, TRIAL_DEADLINE));
                Ok(record(BootOutcome::Completed))
            },
        );
        let chosen = chosen.unwrap();
        assert_eq!(chosen.accel, Accel::Kvm);
        assert_eq!(chosen.why, "a trial boot under KVM answered after 700 ms");
    }

    #[test]
    fn auto_falls_back_and_says_why() {
        let chosen = choose(AccelChoice::Auto, || Ok(()), |_, _| hang()).unwrap();
        assert_eq!(chosen.accel, Accel::Tcg);
        assert_eq!(chosen.why, "a trial boot under KVM failed: no answer within 5 s");
        let denied = || Err(std::io::Error::from(std::io::ErrorKind::PermissionDenied));
        let chosen = choose(AccelChoice::Auto, denied, |_, _| panic!("no trial without a device")).unwrap();
        assert_eq!(chosen.why, "/dev/kvm cannot be opened: permission denied");
    }

    #[test]
    fn forced_kvm_that_does_not_work_is_an_error() {
        let error = choose(AccelChoice::Kvm, || Ok(()), |_, _| hang()).unwrap_err();
        assert!(error.to_string().starts_with("failed to use KVM: a trial boot"), "{error}");
    }

    #[test]
    fn an_interrupted_trial_is_no_fallback() {
        let interrupted = |_, _| Ok(record(BootOutcome::Interrupted));
        assert!(choose(AccelChoice::Auto, || Ok(()), interrupted).is_err());
    }

    #[test]
    fn tcg_needs_no_trial_and_words_are_kebab_case() {
        let chosen = choose(AccelChoice::Tcg, || panic!(), |_, _| panic!()).unwrap();
        assert_eq!(chosen.accel, Accel::Tcg);
        for choice in [AccelChoice::Auto, AccelChoice::Kvm, AccelChoice::Tcg] {
            assert_eq!(choice.to_string().parse::<AccelChoice>().unwrap(), choice);
            assert_eq!(serde_json::to_value(choice).unwrap(), choice.to_string());
        }
    }
}
