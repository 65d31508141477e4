//! From what was found to what it means: the gates of sampled metrics, then each test's verdict.

use mthp_record::result::GUARD;

use super::{
    MIN_BOOTS_SAMPLED,
    types::{
        CheckChange, CheckComparison, Comparison, MetricChange, MetricComparison, Pair, SideOutcome,
        TestComparison, TestVerdict, Values,
    },
};
use crate::{stats, suite::Gate};

/// Decides every sampled metric that gates, all together because Holm's correction counts them.
pub(super) fn sampled_gates(comparison: &mut Comparison) {
    let boots = comparison.completed;
    let mut waiting: Vec<(&mut MetricComparison, Gate)> = comparison
        .tests
        .iter_mut()
        .flat_map(|test| &mut test.metrics)
        .filter(|metric| metric.sides.any(|values| matches!(values, Values::Sampled { .. })))
        .filter_map(|metric| metric.gate.clone().map(|gate| (metric, gate)))
        .collect();

    let enough = boots.base.min(boots.patched) >= MIN_BOOTS_SAMPLED
        && boots.base.max(boots.patched) <= stats::MAX_SAMPLES;
    if !enough {
        for (metric, gate) in waiting {
            let apart = metric.sides.base.distance(&metric.sides.patched) >= gate.floor;
            metric.change = if apart { MetricChange::CannotTell } else { MetricChange::SampledAlike };
        }
        return;
    }

    let spreads = |metric: &MetricComparison| Pair {
        base: metric.sides.base.spread(boots.base),
        patched: metric.sides.patched.spread(boots.patched),
    };
    let mut ps = Vec::new();
    for (metric, _) in &mut waiting {
        let spread = spreads(metric);
        let p = stats::rank_sum_p(&spread.base, &spread.patched);
        metric.p = p;
        ps.push(p.unwrap_or(1.0));
    }
    for ((metric, gate), real) in waiting.into_iter().zip(stats::holm(&ps, stats::ALPHA)) {
        let spread = spreads(metric);
        let gain = gate.gain(twice_median(&spread.base), twice_median(&spread.patched));
        let floor = gate.floor.saturating_mul(2);
        metric.change = match gain {
            gain if real && gain >= floor => MetricChange::Better,
            gain if real && gain <= floor.saturating_neg() => MetricChange::Worse,
            _ => MetricChange::SampledAlike,
        };
    }
}

/// Twice the median, so that it is whole.
fn twice_median(ascending: &[i64]) -> i64 {
    let upper = ascending.get(ascending.len() / 2).copied().unwrap_or(0);
    let lower = ascending.get(ascending.len().saturating_sub(1) / 2).copied().unwrap_or(0);
    lower.saturating_add(upper)
}

/// What came of one test. Harm that is proven stays proven even where something else in the test cannot be
/// told; a gain is only claimed where everything can.
pub(super) fn verdict(test: &TestComparison) -> TestVerdict {
    if let Some(verdict) = from_outcomes(&test.outcomes) {
        return verdict;
    }
    if let Some(reason) = invalid(test) {
        return TestVerdict::Inconclusive { reason };
    }
    let check = |change| test.checks.iter().any(|check| check.change == change);
    let metric = |change| test.metrics.iter().any(|metric| metric.change == change);
    let (broken, fixed) = (check(CheckChange::Broken), check(CheckChange::Fixed));
    let (worse, better) = (metric(MetricChange::Worse), metric(MetricChange::Better));

    match (broken || worse, fixed || better) {
        (true, true) => TestVerdict::Mixed,
        (true, false) if broken => TestVerdict::Broken,
        (true, false) => TestVerdict::Worse,
        (false, gain) => match unclear(test) {
            Some(reason) => TestVerdict::Inconclusive { reason },
            None if gain && fixed => TestVerdict::Fixed,
            None if gain => TestVerdict::Better,
            None if metric(MetricChange::Moved) => TestVerdict::Changed,
            None if check(CheckChange::StillFailing) => TestVerdict::StillFailing,
            None if check(CheckChange::StillPassing) => TestVerdict::StillPassing,
            None => TestVerdict::Unchanged,
        },
    }
}

/// The verdict of a test that did not complete on both sides.
fn from_outcomes(outcomes: &Pair<SideOutcome>) -> Option<TestVerdict> {
    use SideOutcome::{Completed, Crashed, NotApplicable};
    Some(match (&outcomes.base, &outcomes.patched) {
        (Completed, Completed) => return None,
        (Completed, Crashed { .. }) => TestVerdict::Crashed,
        (Crashed { .. }, Completed) => TestVerdict::Recovered,
        (Crashed { .. }, Crashed { .. }) => TestVerdict::StillCrashing,
        (NotApplicable { .. }, NotApplicable { reason }) => {
            TestVerdict::NotApplicable { reason: reason.clone() }
        }
        (base, patched) => {
            let reason = if base == patched {
                format!("both kernels: {base}")
            } else {
                format!("base {base}, patched {patched}")
            };
            TestVerdict::Inconclusive { reason }
        }
    })
}

/// Why nothing that a test measured counts on either side, if so.
fn invalid(test: &TestComparison) -> Option<String> {
    let fails =
        |check: &&CheckComparison| check.name.starts_with(GUARD) && check.change == CheckChange::StillFailing;
    test.checks.iter().find(fails).map(|check| {
        let Pair { base, patched } = check.sides.map(|side| side.observed.clone());
        let observed = if base == patched { base } else { format!("{base} (base), {patched} (patched)") };
        format!("its numbers are not valid: {}, observed {observed}", check.promise)
    })
}

/// Why a test that completed cannot be told, if so.
fn unclear(test: &TestComparison) -> Option<String> {
    let flaky = test.checks.iter().find(|check| check.change == CheckChange::Flaky).map(|check| {
        let Pair { base, patched } =
            check.sides.map(|side| format!("{} of {}", side.passed, side.passed + side.failed));
        format!("the check {} is flaky: it held in {base} base and {patched} patched boots", check.name)
    });
    let few = || {
        test.metrics.iter().find(|metric| metric.change == MetricChange::CannotTell).map(|metric| {
            format!(
                "{} varies between boots and lies apart between the kernels, n too small: it takes {MIN_BOOTS_SAMPLED} boots a side to tell",
                metric.name
            )
        })
    };
    let faulty = || test.faulty.then(|| "its results cannot be compared (see the errors)".to_owned());
    flaky.or_else(few).or_else(faulty)
}
