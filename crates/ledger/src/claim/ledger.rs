//! What was found of claims, with everything it rests on.

use std::collections::BTreeMap;

use mthp_judge::report::{AcceleratorRecord, HostRecord, KernelRecord, QemuRecord, Status, SuiteRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{file::Claim, find::PartFinding, measured::Verdict};

/// What `ledger.json` looks like. Counts up when a reader must change.
pub const SCHEMA_VERSION: u32 = 1;

/// What was found of claims.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The version of mthp-regress.
    pub tool_version: String,
    /// When it began, in RFC 3339.
    pub created: String,
    /// Whether it ended. Nothing else counts before it is complete.
    pub status: Status,
    /// Why it did not, or an empty text.
    pub reason: String,
    /// The emulator.
    pub qemu: Option<QemuRecord>,
    /// The machine.
    pub host: Option<HostRecord>,
    /// The hash of the program that measures, in the guest.
    pub runner_sha256: Option<String>,
    /// Each claim.
    pub findings: Vec<Finding>,
    /// By the clock, everything.
    pub wall_millis: u64,
}

/// What was found of one claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Finding {
    /// The claim.
    pub claim: Claim,
    /// The hash of its file.
    pub claim_sha256: String,
    /// What came of it.
    pub verdict: Verdict,
    /// What came of each part.
    pub parts: Vec<PartFinding>,
    /// Its kernels, by short name.
    pub kernels: BTreeMap<String, Built>,
    /// The suite that was run.
    pub suite: Option<SuiteRecord>,
    /// What ran its guests; `None` where none ran.
    pub accelerator: Option<AcceleratorRecord>,
}

/// A claim's kernel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Built {
    /// It was built.
    Yes {
        /// What it is.
        record: Box<KernelRecord>,
    },
    /// It was not.
    No {
        /// Why.
        why: String,
    },
}

impl Ledger {
    /// One to start from: nothing was found yet.
    #[must_use]
    pub fn unfinished(tool_version: &str, created: &str) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool_version: tool_version.to_owned(),
            created: created.to_owned(),
            status: Status::Unfinished,
            reason: "the run did not finish".to_owned(),
            qemu: None,
            host: None,
            runner_sha256: None,
            findings: Vec::new(),
            wall_millis: 0,
        }
    }

    /// Could every claim be decided, at least in parts?
    #[must_use]
    pub fn is_decided(&self) -> bool {
        self.findings.iter().all(|finding| finding.verdict != Verdict::Undecided)
    }
}

/// The JSON schema of `ledger.json`.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Ledger).to_value()
}

#[cfg(test)]
pub(crate) mod tests {
    use mthp_judge::report::{PatchRecord, SourceRecord};
    use mthp_record::boot::Side;

    use super::*;
    use crate::claim::find::{
        parts,
        tests::{FAULTS, faults},
    };
    use crate::sample::boot;

    fn kernel(label: &str, patched: bool) -> Built {
        let patch = PatchRecord {
            name: "k2-align-as-6.8.patch".to_owned(),
            subject: Some("mm: align anonymous mappings as 6.8 to 6.11 did".to_owned()),
            sha256: "3".repeat(64),
            reverted: false,
        };
        Built::Yes {
            record: Box::new(KernelRecord {
                label: label.to_owned(),
                key: "4".repeat(32),
                source: SourceRecord {
                    kind: "debian".to_owned(),
                    what: "linux-source-6.12".to_owned(),
                    version: "6.12.118".to_owned(),
                    package_version: Some("6.12.118-1~deb12u1".to_owned()),
                    hash: "5".repeat(64),
                },
                patches: if patched { vec![patch] } else { Vec::new() },
                config_sha256: "6".repeat(64),
                compiler: "gcc 12".to_owned(),
                vmlinux_sha256: "7".repeat(64),
                build_log: None,
                config: None,
            }),
        }
    }

    pub(crate) fn sample() -> Ledger {
        let claim = Claim::parse("page-faults-went-up", FAULTS).unwrap();
        let old: Vec<_> = (0..2).map(|index| boot(Side::Base, index, vec![faults(2177, 2177)])).collect();
        let new: Vec<_> = (0..2).map(|index| boot(Side::Base, index, vec![faults(133, 7798)])).collect();
        let boots = BTreeMap::from([("old", Ok(old.as_slice())), ("new", Ok(new.as_slice()))]);
        let parts = parts(&claim, &boots, true);
        let verdicts: Vec<Verdict> = parts.iter().map(|part| part.verdict).collect();
        let mut it = Ledger::unfinished("0.1.0", "2026-01-01T00:00:00Z");
        it.status = Status::Complete;
        it.reason.clear();
        it.qemu = Some(QemuRecord { version: "7.2.22".to_owned(), binary: "qemu".to_owned() });
        it.runner_sha256 = Some("8".repeat(64));
        it.findings = vec![
            Finding {
                verdict: Verdict::of_parts(&verdicts),
                claim,
                claim_sha256: "9".repeat(64),
                parts,
                kernels: BTreeMap::from([
                    ("old".to_owned(), kernel("k2-6.12", true)),
                    ("new".to_owned(), kernel("stock-6.12", false)),
                ]),
                suite: Some(SuiteRecord { name: "alignment".to_owned(), sha256: "a".repeat(64) }),
                accelerator: Some(AcceleratorRecord { kind: "tcg".to_owned(), why: "asked for".to_owned() }),
            },
            undecidable(),
        ];
        it
    }

    fn undecidable() -> Finding {
        let text = r#"
            title = "It is 3200 % slower"
            claim = "BERT is up to 3200 % slower."
            source = { who = "someone", where = "a mail", date = "2025-06-27" }
            [[part]]
            about = "6.6 against a patched 6.6.8"
            cannot = "6.6 does not have the change, and no data was shown"
            needs = "the benchmark, its data, and a machine on which KVM works"
        "#;
        let claim = Claim::parse("bert", text).unwrap();
        let parts = parts(&claim, &BTreeMap::new(), true);
        Finding {
            verdict: Verdict::Undecided,
            claim,
            claim_sha256: "b".repeat(64),
            parts,
            kernels: BTreeMap::new(),
            suite: None,
            accelerator: None,
        }
    }

    #[test]
    fn a_ledger_follows_its_schema() {
        let schema = jsonschema::validator_for(&json_schema()).unwrap();
        let json = serde_json::to_value(sample()).unwrap();
        let problems: Vec<String> = schema.iter_errors(&json).map(|error| error.to_string()).collect();
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(serde_json::from_value::<Ledger>(json).unwrap(), sample());
    }

    #[test]
    fn a_claim_that_cannot_be_decided_is_not_decided() {
        let it = sample();
        assert!(!it.is_decided());
        assert_eq!(it.findings[0].verdict, Verdict::Split);
    }
}
