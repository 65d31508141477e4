//! The list of runs.

use super::{
    Look,
    table::{self, Told, Tone, plain},
};
use crate::run::{Outcome, Series, StoredRun};

/// What tells series apart: what it is called, and how to read it.
type Part = (&'static str, fn(&Series) -> String);

const PARTS: [Part; 4] = [
    ("tree", |series| series.tree.clone()),
    ("branch", |series| series.branch.clone()),
    ("suite", |series| series.suite.clone()),
    ("on", |series| format!("{}/{}", series.accelerator, series.host)),
];

/// A table of the runs in the order in which they are given. What all share is said once, above it.
#[must_use]
pub fn runs(runs: &[StoredRun], look: Look) -> String {
    let is_shared = |of: &dyn Fn(&Series) -> String| {
        runs.windows(2).all(|pair| of(&pair[0].run.series) == of(&pair[1].run.series))
    };
    let (shared, apart): (Vec<_>, Vec<_>) = PARTS.iter().partition(|(_, of)| is_shared(of));
    let mut out = String::new();
    if let Some(StoredRun { run, .. }) = runs.first() {
        let shared: Vec<_> = shared.iter().map(|(what, of)| format!("{what} {}", of(&run.series))).collect();
        out.push_str(&table::headline(&shared.join(", "), look));
    }
    let header: Vec<_> = ["date", "revision"]
        .into_iter()
        .chain(apart.iter().map(|(what, _)| *what))
        .chain(["subject", "outcome"])
        .collect();
    let rows = runs.iter().map(|StoredRun { run, .. }| {
        let mut row = vec![plain(moment(&run.created)), plain(run.revision.short())];
        row.extend(apart.iter().map(|(_, of)| plain(of(&run.series))));
        row.extend([plain(&run.revision.subject), outcome(&run.outcome)]);
        row
    });
    out.push_str(&table::render(&header, &[0, 1], rows.collect(), look));
    out
}

/// A moment to the minute, as far as it is one.
pub(super) fn moment(rfc3339: &str) -> String {
    rfc3339.get(..16).unwrap_or(rfc3339).replacen('T', " ", 1)
}

/// What a run found, and why where it is not good.
pub(super) fn outcome(outcome: &Outcome) -> Told {
    let tone = match outcome {
        Outcome::Good => Tone::Good,
        Outcome::Regressed { .. } | Outcome::Failed { .. } => Tone::Bad,
        Outcome::Unjudged { .. } => Tone::Unsure,
    };
    let why = outcome.reason().map(|reason| format!(": {reason}")).unwrap_or_default();
    (format!("{}{why}", outcome.word()), tone)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{run::RunId, sample};

    const TERMINAL: Look = Look::Terminal { width: 100, color: false };

    fn sampled() -> Vec<StoredRun> {
        let outcomes = [
            Outcome::Good,
            sample::regressed(),
            sample::failed(),
            Outcome::Unjudged { reason: "QEMU failed: `a|b` <none>\x1b[2J".to_owned() },
        ];
        let series = sample::series("main", "builder-7");
        let stored = |(n, outcome)| StoredRun { id: RunId(1), run: sample::run(&series, n, outcome) };
        (0..).zip(outcomes).map(stored).collect()
    }

    #[test]
    fn a_list_for_the_terminal() {
        insta::assert_snapshot!(runs(&sampled(), TERMINAL));
    }

    #[test]
    fn a_list_in_markdown() {
        insta::assert_snapshot!(runs(&sampled(), Look::Markdown));
    }

    #[test]
    fn what_differs_has_a_column() {
        let mut runs_of_two = sampled();
        runs_of_two[0].run.series = sample::series("next", "builder-8");
        insta::assert_snapshot!(runs(&runs_of_two, TERMINAL));
    }

    #[test]
    fn colour_only_where_it_is_wanted() {
        assert!(runs(&sampled(), Look::Terminal { width: 100, color: true }).contains("\x1b["));
        assert!(!runs(&sampled(), TERMINAL).contains('\x1b'));
    }
}
