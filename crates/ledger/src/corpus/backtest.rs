//! A whole backtest: every bug, every harmless patch, and the kernel against itself.

use std::collections::BTreeMap;

use mthp_judge::{
    report::{AcceleratorRecord, HostRecord, KernelRecord, QemuRecord, Status, SuiteRecord},
    verdict::Verdict,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    entry::Entry,
    look::{Cell, Run, Seen},
};

/// What `backtest.json` looks like. Counts up when a reader must change.
pub const SCHEMA_VERSION: u32 = 1;

/// A backtest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Backtest {
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
    /// The suite that every kernel ran.
    pub suite: SuiteRecord,
    /// Which promise each test of it checks, by name.
    pub contracts: BTreeMap<String, String>,
    /// Boots of each kernel in a run.
    pub boots: u32,
    /// The kernels that patches go on, by name.
    pub bases: BTreeMap<String, KernelRecord>,
    /// What ran the guests.
    pub accelerator: Option<AcceleratorRecord>,
    /// The emulator.
    pub qemu: Option<QemuRecord>,
    /// The machine.
    pub host: Option<HostRecord>,
    /// Every bug, in the order of their names.
    pub bugs: Vec<Trial<Entry>>,
    /// Every patch that changes nothing for user space.
    pub harmless: Vec<Trial<Harmless>>,
    /// The kernel against itself.
    pub itself: Vec<Trial<String>>,
    /// By the clock, everything.
    pub wall_millis: u64,
}

/// A patch that changes nothing for user space.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Harmless {
    /// Its file's name without `.patch`.
    pub id: String,
    /// Its subject.
    pub subject: String,
}

/// A subject and what became of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trial<T> {
    /// What was tried.
    pub subject: T,
    /// Its kernel; `None` where it could not be built.
    pub kernel: Option<KernelRecord>,
    /// Why it could not be tried at all.
    pub untried: Option<String>,
    /// Whether its image is the same as the base's, so that nothing could differ.
    pub same_image: bool,
    /// Each run of it.
    pub runs: Vec<Run>,
    /// What it cost.
    pub cost: Cost,
}

/// What a trial cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cost {
    /// Its build by the clock, from the base's objects, whenever that was.
    pub build_millis: u64,
    /// Whether that was in this backtest.
    pub built_now: bool,
    /// One run's boots by the clock, as many at a time as ran side by side.
    pub boots_millis: u64,
}

impl<T> Trial<T> {
    /// How many of its runs were as they should be, and how many there were.
    #[must_use]
    pub fn right(&self) -> (usize, usize) {
        (self.runs.iter().filter(|run| run.seen.is_right()).count(), self.runs.len())
    }

    /// Was every run as it should be, and was there one?
    #[must_use]
    pub fn is_right(&self) -> bool {
        let (right, all) = self.right();
        all > 0 && right == all
    }

    /// What a test did over all runs: the most telling.
    #[must_use]
    pub fn cell(&self, test: &str) -> Option<Cell> {
        let rank = |cell: &Cell| match cell {
            Cell::Named => 0,
            Cell::Turned => 1,
            Cell::Unclear => 2,
            Cell::Facts => 3,
        };
        self.runs.iter().filter_map(|run| run.cells.get(test)).copied().min_by_key(rank)
    }
}

impl Cost {
    /// Build and one run, in whole seconds, rounded up.
    #[must_use]
    pub fn secs(self) -> u64 {
        (self.build_millis + self.boots_millis).div_ceil(1000)
    }
}

impl Backtest {
    /// One to start from: nothing was tried yet.
    #[must_use]
    pub fn unfinished(tool_version: &str, created: &str, suite: SuiteRecord, boots: u32) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            tool_version: tool_version.to_owned(),
            created: created.to_owned(),
            status: Status::Unfinished,
            reason: "the backtest did not finish".to_owned(),
            suite,
            contracts: BTreeMap::new(),
            boots,
            bases: BTreeMap::new(),
            accelerator: None,
            qemu: None,
            host: None,
            bugs: Vec::new(),
            harmless: Vec::new(),
            itself: Vec::new(),
            wall_millis: 0,
        }
    }

    /// Did it end, was every bug caught by the checks that name it, and was there no false alarm?
    #[must_use]
    pub fn is_right(&self) -> bool {
        self.status == Status::Complete
            && self.bugs.iter().all(Trial::is_right)
            && self.harmless.iter().all(Trial::is_right)
            && self.itself.iter().all(Trial::is_right)
    }

    /// What could not be tried, with the reason.
    pub fn untried(&self) -> impl Iterator<Item = (&str, &str)> {
        let bugs = self.bugs.iter().map(|trial| (trial.subject.id.as_str(), &trial.untried));
        let harmless = self.harmless.iter().map(|trial| (trial.subject.id.as_str(), &trial.untried));
        let itself = self.itself.iter().map(|trial| (trial.subject.as_str(), &trial.untried));
        bugs.chain(harmless).chain(itself).filter_map(|(id, reason)| Some((id, reason.as_deref()?)))
    }

    /// Did the machinery fail in some run, so that nothing is said of what it tried?
    #[must_use]
    pub fn is_broken(&self) -> bool {
        fn any<T>(trials: &[Trial<T>]) -> bool {
            trials.iter().flat_map(|trial| &trial.runs).any(|run| run.verdict == Verdict::MachineryFailed)
        }
        any(&self.bugs) || any(&self.harmless) || any(&self.itself)
    }

    /// False alarms, and the runs in which there could have been one, of harmless patches and of the kernel against
    /// itself.
    #[must_use]
    pub fn alarms(&self) -> [(usize, usize); 2] {
        fn of<T>(trials: &[Trial<T>]) -> (usize, usize) {
            let runs = || trials.iter().flat_map(|trial| &trial.runs);
            (runs().filter(|run| run.seen == Seen::FalseAlarm).count(), runs().count())
        }
        [of(&self.harmless), of(&self.itself)]
    }
}

/// The JSON schema of `backtest.json`.
#[must_use]
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(Backtest).to_value()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn run(verdict: Verdict, seen: Seen, cells: &[(&str, Cell)]) -> Run {
        Run {
            verdict,
            reasons: vec!["why".to_owned()],
            seen,
            cells: cells.iter().map(|(test, cell)| ((*test).to_owned(), *cell)).collect(),
        }
    }

    fn trial<T>(subject: T, runs: Vec<Run>) -> Trial<T> {
        let cost = Cost { build_millis: 14_200, built_now: true, boots_millis: 7_100 };
        Trial { subject, kernel: None, untried: None, same_image: false, runs, cost }
    }

    fn entry(id: &str) -> Entry {
        let text = include_str!("../../../../kernels/corpus/k1-align-any-length.toml");
        Entry::parse(id, text).unwrap()
    }

    pub(crate) fn sample() -> Backtest {
        let suite = SuiteRecord { name: "memory".to_owned(), sha256: "00".to_owned() };
        let mut it = Backtest::unfinished("0.1.0", "2026-01-01T00:00:00Z", suite, 2);
        it.status = Status::Complete;
        it.reason.clear();
        for (test, contract) in [
            ("placement/3MiB", "d4148aeab412: only anonymous maps of whole huge pages are aligned"),
            ("mixed/2MiB-3MiB", "d4148aeab412: others touch"),
            ("mremap/locked", "mremap(2): nothing stays locked"),
        ] {
            it.contracts.insert(test.to_owned(), contract.to_owned());
        }
        let named = [("placement/3MiB", Cell::Named), ("mixed/2MiB-3MiB", Cell::Facts)];
        let others = [("placement/3MiB", Cell::Turned), ("gone/test", Cell::Unclear)];
        it.bugs = vec![
            trial(entry("k1-align-any-length"), vec![run(Verdict::Regressed, Seen::Caught, &named)]),
            trial(
                entry("k9-imagined"),
                vec![run(Verdict::Regressed, Seen::ByOthers { missing: vec!["a/b: c".to_owned()] }, &others)],
            ),
            trial(entry("k10-unseen"), vec![run(Verdict::Unchanged, Seen::Missed, &[])]),
            Trial { untried: Some("does not apply".to_owned()), ..trial(entry("k11-stale"), Vec::new()) },
        ];
        let subject = Harmless { id: "comment".to_owned(), subject: "mm: say more".to_owned() };
        it.harmless = vec![trial(subject, vec![run(Verdict::Unchanged, Seen::Quiet, &[])])];
        it.itself = vec![trial("stock-6.12".to_owned(), vec![run(Verdict::Unchanged, Seen::Quiet, &[])])];
        it.wall_millis = 61_000;
        it
    }

    #[test]
    fn only_a_complete_backtest_in_which_all_is_as_it_should_be_is_right() {
        let mut it = sample();
        assert!(!it.is_right());
        it.bugs.truncate(1);
        assert!(it.is_right());
        it.status = Status::Unfinished;
        assert!(!it.is_right());
        it.status = Status::Complete;
        it.harmless[0].runs.push(run(Verdict::Regressed, Seen::FalseAlarm, &[]));
        assert!(!it.is_right());
        assert_eq!(it.alarms(), [(1, 2), (0, 1)]);
    }

    #[test]
    fn a_bug_without_a_run_is_not_caught() {
        let it = sample();
        assert!(!it.bugs[3].is_right());
        assert_eq!(it.untried().collect::<Vec<_>>(), [("k11-stale", "does not apply")]);
    }

    #[test]
    fn a_backtest_follows_its_schema() {
        let schema = jsonschema::validator_for(&json_schema()).unwrap();
        let json = serde_json::to_value(sample()).unwrap();
        let problems: Vec<String> = schema.iter_errors(&json).map(|error| error.to_string()).collect();
        assert_eq!(problems, Vec::<String>::new());
        assert_eq!(serde_json::from_value::<Backtest>(json).unwrap(), sample());
    }
}
