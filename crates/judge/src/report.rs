//! The report: everything a run found and everything that identifies what it ran on.
//!
//! `report.json` is this type. It is written first as [`Report::unfinished`], which says *failed*, and only
//! [`Report::complete`] turns it into a result: a run that is killed leaves a failure behind, never a pass.

use mthp_record::boot::BootRecord;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    answers::{self, ScenarioAnswers},
    compare::Comparison,
    verdict::{self, Verdict},
};

/// The version of the report's format. It grows when a reader of the last one would misread the new one.
pub const SCHEMA_VERSION: u32 = 2;

/// A run's report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The tool's version.
    pub tool_version: String,
    /// When the run began, RFC 3339.
    pub created: String,
    /// Whether `verdict` is a result or the placeholder of a run that never got there.
    pub status: Status,
    /// The verdict; `machinery-failed` until the run is complete.
    pub verdict: Verdict,
    /// Why, the most important first.
    pub reasons: Vec<String>,
    /// What else a reviewer should know, for example that both images are identical.
    pub notes: Vec<String>,
    /// The suite.
    pub suite: SuiteRecord,
    /// The workload, if the suite has one and it was run.
    pub workload: Option<WorkloadRecord>,
    /// The kernel's own selftests, if the suite has some and they were run.
    #[serde(default)]
    pub selftests: Option<SelftestsRecord>,
    /// The kernel without the patch, once built.
    pub base: Option<KernelRecord>,
    /// The kernel with it, once built.
    pub patched: Option<KernelRecord>,
    /// What ran the guests, once chosen.
    pub accelerator: Option<AcceleratorRecord>,
    /// QEMU, once found.
    pub qemu: Option<QemuRecord>,
    /// The machine that ran everything.
    pub host: Option<HostRecord>,
    /// Both sides test by test; `None` until all boots have ended.
    pub comparison: Option<Comparison>,
    /// What the patch does to each workload; empty where none ran.
    pub answers: Vec<ScenarioAnswers>,
    /// Every boot with all its raw values.
    pub boots: Vec<BootRecord>,
    /// What took how long.
    pub timings: Vec<PhaseTiming>,
}

/// Whether a report is one. Only the verdict of a complete one says anything of the patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// The run has not ended, or was killed. Counts as failed.
    Unfinished,
    /// The user (or whoever sent the signal) stopped the run.
    Interrupted,
    /// What the user gave cannot be used: exit code 2.
    Refused,
    /// The machinery failed before there was anything to judge: exit code 69.
    Failed,
    /// The shard that was asked for has no test: nothing was run, and nothing is wrong.
    Empty,
    /// The run ended and this is what it found.
    Complete,
}

/// Why a run ended without a judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unjudged {
    /// [`Status::Interrupted`].
    Interrupted,
    /// [`Status::Refused`].
    Refused,
    /// [`Status::Failed`].
    Failed,
    /// [`Status::Empty`].
    Empty,
}

impl From<Unjudged> for Status {
    fn from(why: Unjudged) -> Self {
        match why {
            Unjudged::Interrupted => Self::Interrupted,
            Unjudged::Refused => Self::Refused,
            Unjudged::Failed => Self::Failed,
            Unjudged::Empty => Self::Empty,
        }
    }
}

/// The suite that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SuiteRecord {
    /// Its name.
    pub name: String,
    /// The hash of its file.
    pub sha256: String,
}

/// The workload that was run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkloadRecord {
    /// Its name.
    pub name: String,
    /// The hash of the disk with all its files.
    pub disk_sha256: String,
    /// The disk's size.
    pub disk_bytes: u64,
    /// Every file on it: the program, the model, the image, the libraries.
    pub files: Vec<FileRecord>,
}

/// The kernel's own selftests that were run: the patched tree's, the same programs on both kernels.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SelftestsRecord {
    /// The list's group, for example `kselftest-mm`.
    pub name: String,
    /// The key of the build cache: the hash over all that went in.
    pub key: String,
    /// The programs.
    pub files: Vec<FileRecord>,
}

/// One file of a workload's disk, or a program of the selftests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileRecord {
    /// Its path on the disk.
    pub path: String,
    /// Its size.
    pub bytes: u64,
    /// Its hash.
    pub sha256: String,
}

/// One kernel: everything that went into it and what came out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelRecord {
    /// A short name for people.
    pub label: String,
    /// The key of the build cache: the hash over all that went in.
    pub key: String,
    /// Where the source came from.
    pub source: SourceRecord,
    /// The patches on top, in order.
    pub patches: Vec<PatchRecord>,
    /// The hash of the final `.config`.
    pub config_sha256: String,
    /// The compiler's own version line.
    pub compiler: String,
    /// The hash of `vmlinux`.
    pub vmlinux_sha256: String,
    /// The build's log, relative to the report's folder.
    pub build_log: Option<String>,
    /// The final `.config`, relative to the report's folder.
    pub config: Option<String>,
}

/// A kernel's source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceRecord {
    /// `debian`, `tarball`, `git` or `tree`.
    pub kind: String,
    /// The package, path, URL or repository.
    pub what: String,
    /// The kernel's version, as its Makefile says.
    pub version: String,
    /// The exact version of the distribution's package.
    pub package_version: Option<String>,
    /// The hash of the archive, or the commit.
    pub hash: String,
}

/// A patch that was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchRecord {
    /// The file's name, or the number within its series.
    pub name: String,
    /// Its subject, where it has one.
    pub subject: Option<String>,
    /// The hash of its text.
    pub sha256: String,
    /// It was applied in reverse.
    pub reverted: bool,
}

/// What ran the guests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceleratorRecord {
    /// `kvm` or `tcg`.
    pub kind: String,
    /// Why this one.
    pub why: String,
}

impl AcceleratorRecord {
    /// Does it run guests by translating their instructions?
    #[must_use]
    pub fn is_emulation(&self) -> bool {
        self.kind == "tcg"
    }
}

/// The emulator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct QemuRecord {
    /// Its version.
    pub version: String,
    /// The binary's path.
    pub binary: String,
}

/// The machine that ran everything.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostRecord {
    /// CPUs that the run may use.
    pub cpus: u32,
    /// Their model.
    pub cpu_model: String,
    /// The host's kernel.
    pub kernel: String,
}

/// How long one phase took.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PhaseTiming {
    /// Its name, for example `build base`.
    pub name: String,
    /// By the clock.
    pub wall_millis: u64,
    /// Of all its processes, where it was measured.
    pub cpu_millis: Option<u64>,
}

impl Report {
    /// The report to write before anything else is done.
    #[must_use]
    pub fn unfinished(tool_version: &str, created: &str, suite: SuiteRecord) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool_version: tool_version.to_owned(),
            created: created.to_owned(),
            status: Status::Unfinished,
            verdict: Verdict::MachineryFailed,
            reasons: vec!["the run did not finish".to_owned()],
            notes: Vec::new(),
            suite,
            workload: None,
            selftests: None,
            base: None,
            patched: None,
            accelerator: None,
            qemu: None,
            host: None,
            comparison: None,
            answers: Vec::new(),
            boots: Vec::new(),
            timings: Vec::new(),
        }
    }

    /// Did the guests run without the hardware's help, so that their times say nothing?
    #[must_use]
    pub fn is_emulated(&self) -> bool {
        self.accelerator.as_ref().is_some_and(AcceleratorRecord::is_emulation)
    }

    /// Ends the run: all boots are over, this is the verdict. The accelerator must be on record by now: it says
    /// what can be said of time.
    pub fn complete(&mut self, boots: Vec<BootRecord>, comparison: Comparison) {
        let judgement = verdict::judge(&boots, &comparison);
        self.status = Status::Complete;
        self.verdict = judgement.verdict;
        self.reasons = judgement.reasons;
        self.boots = boots;
        self.answers = answers::of(&comparison, self.accelerator.as_ref());
        self.comparison = Some(comparison);
    }

    /// Ends the run before there was anything to judge; `status` says why there is not, and is not
    /// [`Status::Complete`], since the verdict stays the placeholder. (Of an empty shard it is "cannot tell".)
    pub fn give_up(&mut self, status: Unjudged, reason: &str) {
        self.status = status.into();
        self.verdict = match status {
            Unjudged::Empty => Verdict::Inconclusive,
            Unjudged::Interrupted | Unjudged::Refused | Unjudged::Failed => Verdict::MachineryFailed,
        };
        self.reasons = vec![reason.to_owned()];
    }
}

/// The JSON schema of `report.json`.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Report).to_value()
}

#[cfg(test)]
mod tests {
    use mthp_record::{
        boot::{BootOutcome, Phase},
        result::Outcome,
    };

    use super::*;
    use crate::sample;

    fn unfinished() -> Report {
        let suite = SuiteRecord { name: "alignment".to_owned(), sha256: "00".to_owned() };
        Report::unfinished("0.1.0", "2025-01-01T00:00:00Z", suite)
    }

    #[test]
    fn a_report_says_failed_until_it_is_complete() {
        let report = unfinished();
        assert_eq!(report.status, Status::Unfinished);
        assert_eq!(crate::exit::code(report.verdict, None), crate::exit::MACHINERY);
        assert_eq!(crate::exit::code(report.verdict, "unchanged".parse().ok()), crate::exit::MACHINERY);
    }

    #[test]
    fn a_run_that_was_stopped_or_refused_is_not_recorded_as_complete() {
        for why in [Unjudged::Interrupted, Unjudged::Refused, Unjudged::Failed] {
            let mut report = unfinished();
            report.give_up(why, "the reason");
            assert_ne!(report.status, Status::Complete);
            assert_eq!(report.verdict, Verdict::MachineryFailed);
            assert_eq!(report.reasons, ["the reason"]);
        }
    }

    #[test]
    fn a_run_of_nothing_is_never_a_pass() {
        let mut report = unfinished();
        report.complete(Vec::new(), Comparison::default());
        assert_eq!(report.verdict, Verdict::Inconclusive);
    }

    #[test]
    fn a_report_survives_json_and_refuses_unknown_fields() {
        let report = unfinished();
        let mut json = serde_json::to_value(&report).unwrap();
        assert_eq!(serde_json::from_value::<Report>(json.clone()).unwrap(), report);
        json["surprise"] = true.into();
        assert!(serde_json::from_value::<Report>(json).is_err());
    }

    #[test]
    fn reports_follow_the_schema() {
        let schema = jsonschema::validator_for(&json_schema()).unwrap();
        let mut flaky = sample::demonstration();
        flaky[0].tests[0].metrics[0].value += 1;
        flaky[0].tests[1].checks[0].passed = false;
        flaky[1].tests[2].outcome = Outcome::TimedOut { after_secs: 60 };
        let mut failed = sample::demonstration();
        failed[1].outcome = BootOutcome::SilentHang { phase: Phase::Test("t".to_owned()), after_secs: 60 };
        let workload = sample::boots(2, &[sample::scenario(&[])], &[sample::scenario(&sample::PLACED)]);
        assert_eq!(sample::report(&workload, &[]).answers.len(), 1);
        for boots in [sample::demonstration(), workload, flaky, failed, Vec::new()] {
            let report = sample::report(&boots, &sample::gates());
            let json = serde_json::to_value(&report).unwrap();
            let problems: Vec<_> = schema.iter_errors(&json).map(|error| error.to_string()).collect();
            assert_eq!(problems, Vec::<String>::new());
            assert_eq!(serde_json::from_value::<Report>(json).unwrap(), report);
        }
        let mut json = serde_json::to_value(unfinished()).unwrap();
        assert!(schema.is_valid(&json));
        json["verdict"] = "fine".into();
        assert!(!schema.is_valid(&json));
    }

    #[test]
    fn the_schema_names_every_part() {
        let schema = json_schema();
        assert_eq!(schema["additionalProperties"], false);
        for part in
            ["verdict", "status", "comparison", "answers", "boots", "timings", "base", "patched", "qemu"]
        {
            assert!(schema["properties"][part].is_object(), "{part}");
        }
    }
}
