//! Kernels × tests: each pair is a trial with its exact values; one boot serves all trials of a kernel.

use std::collections::BTreeMap;

use anyhow::{Result, bail, ensure};
use kernel_tests::{
    expected::{self, Expected},
    shared,
};
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use mthp_record::result::{Outcome, TestResult};

fn main() {
    let arguments = Arguments::from_args();
    let trials = expected::ALL.iter().map(|one| {
        Trial::ignorable_test(format!("{}::{}", one.kernel, one.test), || {
            judge(one).map_err(|error| Failed::from(format!("{error:#}")))
        })
    });
    libtest_mimic::run(&arguments, trials.collect()).exit();
}

fn judge(expected: &Expected) -> Result<Completion> {
    let record = shared::record(expected.kernel)?;
    ensure!(record.outcome.is_completed(), "the boot ended with {:?}", record.outcome);
    let Some(result) = record.tests.iter().find(|result| result.name == expected.test) else {
        bail!("the guest ran no test of that name; it ran: {}", record.announced.join(", "));
    };
    match &result.outcome {
        Outcome::Completed if !expected.not_applicable => {}
        Outcome::NotApplicable { reason } if expected.not_applicable => {
            return Ok(Completion::ignored_with(reason));
        }
        outcome => bail!("the test ended with {outcome:?}"),
    }
    let differences = differences(expected, result);
    ensure!(differences.is_empty(), "{}\n{:#?}", differences.join("\n"), result.evidence);
    Ok(Completion::Completed)
}

fn differences(expected: &Expected, result: &TestResult) -> Vec<String> {
    let metrics: BTreeMap<&str, i64> =
        result.metrics.iter().map(|metric| (metric.name.as_str(), metric.value)).collect();
    let mut wrong = Vec::new();
    for &(name, value) in expected.metrics {
        match metrics.get(name) {
            Some(&seen) if seen == value => {}
            Some(&seen) => wrong.push(format!("{name}: expected {value}, got {seen}")),
            None => wrong.push(format!("{name}: expected {value}, not measured")),
        }
    }
    let failing: Vec<&str> =
        result.checks.iter().filter(|check| !check.passed).map(|check| check.name.as_str()).collect();
    if failing != expected.failing {
        wrong.push(format!("failing checks: expected {:?}, got {failing:?}", expected.failing));
    }
    if result.checks.is_empty() && result.metrics.is_empty() {
        wrong.push("the test found nothing at all".to_owned());
    }
    wrong
}
