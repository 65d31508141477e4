use mthp_record::{
    boot::{BootOutcome, BootRecord, KernelFailure, Side},
    result::{Metric, Outcome},
};

use super::*;
use crate::sample;

fn shown(boots: &[BootRecord]) -> String {
    let style = Style { width: 100, color: false, report: "reports/2025-01-01".to_owned() };
    render(&sample::report(boots, &sample::gates()), &style)
}

#[test]
fn the_demonstration() {
    insta::assert_snapshot!("demonstration", shown(&sample::demonstration()));
}

#[test]
fn the_demonstration_the_other_way_round() {
    insta::assert_snapshot!("reverted", shown(&sample::swapped(sample::demonstration())));
}

#[test]
fn a_workload_is_answered_and_its_emulated_time_marked() {
    let mut boots = sample::boots(2, &[sample::scenario(&[])], &[sample::scenario(&sample::PLACED)]);
    for boot in boots.iter_mut().filter(|boot| boot.side == Side::Patched) {
        for metric in boot.tests[0].metrics.iter_mut().filter(|metric| metric.unit.is_time()) {
            metric.value += metric.value / 8 + i64::from(boot.index);
        }
    }
    insta::assert_snapshot!("workload", shown(&boots));
}

#[test]
fn of_many_scenarios_the_first_are_answered_and_the_file_is_named() {
    let scenarios: Vec<_> = (0..5)
        .map(|at| mthp_record::result::TestResult { name: format!("w/{at}"), ..sample::scenario(&[]) })
        .collect();
    let report = sample::report(&sample::boots(2, &scenarios, &scenarios), &[]);
    let text = render(&report, &Style { width: 100, color: false, report: "r".to_owned() });
    let answered = |text: &str| text.matches("what the patch does to this workload").count();
    assert_eq!(answered(&text), 3, "{text}");
    assert!(text.contains("\n\nthe same of w/3, w/4: answers.txt in the report's folder\n"), "{text}");
    let all = answers(&report, 100).unwrap();
    assert!(all.starts_with("w/0: ") && answered(&all) == 5, "{all}");
}

#[test]
fn emulated_time_alone_earns_no_place_in_the_table() {
    let slow = [("inference-p50-micros", 9_000_000), ("throughput", 100)];
    let text = shown(&sample::boots(2, &[sample::scenario(&[])], &[sample::scenario(&slow)]));
    assert!(
        text.starts_with("verdict: unchanged\n  no check and no declared cost differs in 1 test\n"),
        "{text}"
    );
    assert!(
        text.contains("still passing: 1 test (yolov5/160)") && !text.contains("verdict   what"),
        "{text}"
    );
}

#[test]
fn nothing_changed() {
    insta::assert_snapshot!("unchanged", shown(&sample::boots(2, &sample::new_rule(), &sample::new_rule())));
}

#[test]
fn flaky_sampled_and_crashed() {
    let mut boots = sample::demonstration();
    for (at, boot) in boots.iter_mut().enumerate() {
        let odd = at / 2 == 1;
        // A check that holds in one boot of each side, a metric that varies, a test that crashes when patched.
        boot.tests[0].checks[0].passed = odd;
        boot.tests[1].metrics[4].value += if boot.side == Side::Base { 0 } else { 100 + i64::from(odd) };
        if boot.side == Side::Patched {
            boot.tests[5].outcome = Outcome::TimedOut { after_secs: 60 };
        }
    }
    insta::assert_snapshot!("flaky", shown(&boots));
}

#[test]
fn a_patched_kernel_that_panics() {
    let mut boots = sample::demonstration();
    for boot in boots.iter_mut().filter(|boot| boot.side == Side::Patched) {
        boot.outcome = BootOutcome::KernelFailed {
            failure: KernelFailure::Panic,
            line: "Kernel panic - not syncing: Attempted to kill init!".to_owned(),
        };
        boot.tests.clear();
    }
    insta::assert_snapshot!("panic", shown(&boots));
}

#[test]
fn an_unfinished_run_says_so() {
    let mut report = sample::report(&[], &[]);
    report = Report::unfinished(&report.tool_version, &report.created, report.suite);
    let text = render(&report, &Style { width: 80, color: false, report: "r".to_owned() });
    assert!(text.starts_with("verdict: machinery-failed (unfinished)\n  the run did not finish\n"), "{text}");
}

#[test]
fn hostile_names_stay_on_their_line_and_wide_text_is_wrapped() {
    let mut boots = sample::demonstration();
    for boot in &mut boots {
        for test in &mut boot.tests {
            test.name = test.name.replace("placement", "\x1b[31m\x07pla\u{202e}cement\n");
            test.checks.iter_mut().for_each(|check| check.observed = "\x1b]0;title\x07".repeat(99));
        }
        boot.announced = boot.tests.iter().map(|test| test.name.clone()).collect();
    }
    let text = shown(&boots);
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

#[test]
fn the_table_keeps_to_the_width() {
    let report = sample::report(&sample::demonstration(), &sample::gates());
    for width in [80, 110] {
        let style = Style { width, color: false, report: "r".to_owned() };
        let table = table::changes(report.comparison.as_ref().unwrap(), true, &style).unwrap();
        assert!(table.lines().all(|line| line.chars().count() <= usize::from(width)), "{table}");
    }
}

#[test]
fn a_test_of_very_many_metrics_shows_those_that_decide() {
    let mut boots = sample::demonstration();
    for boot in &mut boots {
        let Some(test) = boot.tests.iter_mut().find(|test| test.name == "placement/4632KiB") else {
            continue;
        };
        let gap = test.metrics.iter().find(|metric| metric.name == "gap-kib").unwrap().clone();
        let facts = (0..40).map(|at| Metric { name: format!("fact-{at}"), ..gap.clone() });
        test.metrics.splice(0..0, facts);
    }
    let report = sample::report(&boots, &sample::gates());
    let style = Style { width: 100, color: false, report: "r".to_owned() };
    let table = table::changes(report.comparison.as_ref().unwrap(), true, &style).unwrap();
    let facts = table.lines().filter(|line| line.contains(" fact-")).count();
    assert!(table.contains(" gap-kib") && facts < 3, "{table}");
    assert!(table.contains("more: report.json"), "{table}");
}

#[test]
fn a_number_beside_long_names_stays_in_one_piece() {
    let mut boots = sample::demonstration();
    for boot in &mut boots {
        let Some(test) = boot.tests.iter_mut().find(|test| test.name == "placement/4632KiB") else {
            continue;
        };
        test.name = "cost/layouts-stencil-24x4632KiB".to_owned();
        let gap = test.metrics.iter_mut().find(|metric| metric.name == "gap-kib").unwrap();
        gap.name = "dtlb.misses[sapphire-rapids]".to_owned();
        gap.value = if boot.side == Side::Base { 8_294_400 } else { 402_177 };
        boot.announced = boot.tests.iter().map(|test| test.name.clone()).collect();
    }
    let text = shown(&boots);
    assert!(text.contains("8294400") && text.contains("402177"), "{text}");
}

#[test]
fn colour_only_decorates() {
    let report = sample::report(&sample::demonstration(), &sample::gates());
    let style = |color| Style { width: 100, color, report: "r".to_owned() };
    let (plain, colored) = (render(&report, &style(false)), render(&report, &style(true)));
    assert!(!plain.contains('\x1b') && colored.contains('\x1b'));
    let mut stripped = String::new();
    let mut rest = colored.as_str();
    while let Some((before, after)) = rest.split_once('\x1b') {
        stripped.push_str(before);
        rest = after.split_once('m').unwrap().1;
    }
    stripped.push_str(rest);
    let squeezed = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert_eq!(squeezed(&stripped), squeezed(&plain));
}
