//! `bisect.json`: the journal of a bisection while it runs, and its report afterwards.
//!
//! It is written anew, whole or not at all, after everything that was found out. A killed run is resumed from it, and
//! says "unfinished" until then.

use mthp_judge::report::{AcceleratorRecord, HostRecord, PatchRecord, QemuRecord, Status, SuiteRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{finding::Finding, graph::Revision, target::Target};

/// The version of the file's format. It grows when a reader of the last one would misread the new one.
pub const SCHEMA_VERSION: u32 = 1;

/// A bisection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bisection {
    /// [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The tool's version.
    pub tool_version: String,
    /// When it began, RFC 3339.
    pub created: String,
    /// Whether `outcome` is there and is one.
    pub status: Status,
    /// Why it is not complete; empty if it is.
    pub reason: String,
    /// What was asked.
    pub question: Question,
    /// What ran the guests, once chosen.
    pub accelerator: Option<AcceleratorRecord>,
    /// QEMU.
    pub qemu: Option<QemuRecord>,
    /// The machine that ran everything.
    pub host: Option<HostRecord>,
    /// What the ends showed, once they were verified.
    pub ends: Option<EndsRecord>,
    /// Every revision that was looked at, in that order; the ends first.
    pub tried: Vec<Tried>,
    /// What came of it.
    pub outcome: Option<Outcome>,
    /// What the suspect and its parents showed at full strength.
    pub verification: Option<Verification>,
    /// The search as `git bisect log` tells it, for `git bisect replay`; `None` of a series of patches.
    pub git_log: Option<String>,
    /// By the clock, all sessions of a resumed run together.
    pub wall_millis: u64,
}

/// What was asked. A run that was killed is resumed only by the same question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The repository, or the folder of patches with their base.
    pub place: String,
    /// The end that works.
    pub good: End,
    /// The end that does not.
    pub bad: End,
    /// Of a series: the hash of the source that it goes on.
    pub base_sha256: Option<String>,
    /// Of a series: its patches, and before them those of its base.
    pub series: Vec<PatchRecord>,
    /// The hash of what is asked of every revision's configuration.
    pub fragment_sha256: String,
    /// The hash of the guest's program, which has the tests.
    pub guest_sha256: String,
    /// The accelerator that was asked for.
    pub accel: String,
    /// QEMU's version.
    pub qemu: String,
    /// The suite.
    pub suite: SuiteRecord,
    /// Patterns of its tests; empty means all.
    pub tests: Vec<String>,
    /// The check, cost or agreement that is followed, where the user names it.
    pub check: Option<String>,
    /// Patches on every revision.
    pub with_patches: Vec<PatchRecord>,
    /// Boots of each revision on the way.
    pub step_boots: u32,
    /// Boots of each end, and of the suspect and its parents.
    pub full_boots: u32,
}

/// One end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct End {
    /// As the user named it.
    pub asked: String,
    /// The commit; of a series, the place in it.
    pub id: String,
    /// Its subject.
    pub subject: String,
}

/// What the ends showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EndsRecord {
    /// All that differs for the worse.
    pub differs: Vec<Target>,
    /// The one that is followed.
    pub target: Target,
    /// Whether its test alone is run on the way: the ends show it so too.
    pub alone: bool,
    /// Revisions that may be it: reachable from the bad end and not from the good one.
    pub revisions: usize,
}

/// A revision that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Tried {
    /// Its commit; of a series, its place in it.
    pub id: String,
    /// Its subject.
    pub subject: String,
    /// What is known of it.
    pub finding: Finding,
    /// The hash of its image, if it was built.
    pub image: Option<String>,
    /// The revision that gave the same image and was booted in its place.
    pub same_as: Option<String>,
    /// Boots of it.
    pub boots: u32,
    /// What building took now; `None` where it was built before.
    pub build_millis: Option<u64>,
    /// What its boots took.
    pub boot_millis: u64,
}

/// What came of a bisection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Outcome {
    /// This commit brought it.
    Culprit {
        /// It.
        revision: Revision,
        /// Who wrote it, where that is known.
        author: Option<String>,
    },
    /// One of these did; all but the last were skipped.
    Range {
        /// Oldest first.
        candidates: Vec<Revision>,
    },
    /// The search ended at this commit, but at full strength it and its parents do not differ so.
    Unconfirmed {
        /// It.
        suspect: Revision,
        /// What was seen.
        why: String,
    },
    /// The ends differ in some boots only: a bisection would end anywhere.
    Flaky {
        /// What differs, and how often.
        what: Vec<String>,
    },
    /// A bad revision is followed by a good one: what is followed comes and goes.
    ComesAndGoes {
        /// The bad one.
        bad: Revision,
        /// The good one that has it among its ancestors.
        good: Revision,
    },
}

/// The suspect against its parents, at full strength.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verification {
    /// The suspect.
    pub suspect: Sight,
    /// Its parents.
    pub parents: Vec<Sight>,
    /// Fisher's exact test of the suspect against its first parent, one side: p is one in so many.
    pub one_in: u64,
    /// What differed between the ends and differs between these two.
    pub explained: Vec<Target>,
    /// What differed between the ends and not between these two: another commit's doing.
    pub unexplained: Vec<Target>,
}

/// What boots of one revision showed of the target.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sight {
    /// The revision.
    pub id: String,
    /// Its boots.
    pub boots: u32,
    /// What they say together.
    pub finding: Finding,
}

impl Bisection {
    /// The journal of a bisection that has not begun.
    #[must_use]
    pub fn unfinished(tool_version: &str, created: &str, question: Question) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool_version: tool_version.to_owned(),
            created: created.to_owned(),
            status: Status::Unfinished,
            reason: "the bisection did not finish".to_owned(),
            question,
            accelerator: None,
            qemu: None,
            host: None,
            ends: None,
            tried: Vec::new(),
            outcome: None,
            verification: None,
            git_log: None,
            wall_millis: 0,
        }
    }

    /// What is known of an image, and from which revision.
    #[must_use]
    pub fn seen(&self, image: &str) -> Option<&Tried> {
        self.tried.iter().find(|tried| tried.image.as_deref() == Some(image) && tried.same_as.is_none())
    }

    /// Images that were booted.
    #[must_use]
    pub fn new_images(&self) -> usize {
        self.tried.iter().filter(|tried| tried.boots > 0).count()
    }
}

/// In how many runs one sees `boots` of one kernel all good and `boots` of another all bad if the two are alike, whatever
/// the share of bad boots is: the number of ways to choose which half is bad. (Fisher's exact test, one side.)
#[must_use]
pub fn one_in(boots: u32) -> u64 {
    // C(2n, n) = C(2n-2, n-1) * (4n - 2) / n, whole at every step.
    (1..=u64::from(boots)).fold(1_u64, |ways, n| ways.saturating_mul(4 * n - 2) / n)
}

/// The JSON schema of `bisect.json`.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Bisection).to_value()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_those_of_fishers_test() {
        assert_eq!([1, 2, 3, 4, 5, 8].map(one_in), [2, 6, 20, 70, 252, 12870]);
    }
}
