use mthp_record::{
    boot::{BootRecord, Side},
    result::TestResult,
};

use super::*;
use crate::{
    compare::compare,
    sample::{PLACED, boots, demonstration, scenario},
    suite::{Direction, Gate},
};

fn accelerator(kind: &str) -> AcceleratorRecord {
    AcceleratorRecord { kind: kind.to_owned(), why: "asked for".to_owned() }
}

fn told(boots: &[BootRecord], gates: &[Gate], kind: &str) -> String {
    let answers = of(&compare(boots, gates, kind == "tcg"), Some(&accelerator(kind)));
    let [scenario] = &answers[..] else { panic!("{answers:?}") };
    let one = |answer: &Answer| {
        format!("{}\n  {}\n  from {}\n", answer.question, answer.answer, answer.evidence.join(" "))
    };
    scenario.answers.iter().map(one).collect()
}

fn pair(base: TestResult, patched: TestResult) -> Vec<BootRecord> {
    boots(2, &[base], &[patched])
}

/// Boots in which a metric of each side's boots takes these values.
fn varying(name: &str, base: &[i64], patched: &[i64]) -> Vec<BootRecord> {
    let mut boots = boots(u32::try_from(base.len()).unwrap(), &[scenario(&[])], &[scenario(&[])]);
    for boot in &mut boots {
        let values = if boot.side == Side::Base { base } else { patched };
        let value = values[usize::try_from(boot.index).unwrap()];
        boot.tests[0]
            .metrics
            .iter_mut()
            .filter(|metric| metric.name == name)
            .for_each(|metric| metric.value = value);
    }
    boots
}

/// The last answer: what can be said of latency.
fn latency_of(boots: &[BootRecord], gates: &[Gate], kind: &str) -> String {
    of(&compare(boots, gates, kind == "tcg"), Some(&accelerator(kind)))[0].answers[5].answer.clone()
}

#[test]
fn a_placement_that_differs() {
    insta::assert_snapshot!("placed", told(&pair(scenario(&[]), scenario(&PLACED)), &[], "tcg"));
}

#[test]
fn nothing_that_differs() {
    insta::assert_snapshot!("alike", told(&pair(scenario(&[]), scenario(&[])), &[], "kvm"));
}

#[test]
fn values_that_vary() {
    let mut boots = pair(scenario(&[]), scenario(&PLACED));
    for boot in &mut boots {
        for metric in &mut boot.tests[0].metrics {
            let steady =
                ["maps", "aligned", "inference-maps", "inference-unmaps", "inference-heap", "thp", "compact"];
            if !steady.iter().any(|steady| metric.name.starts_with(steady)) {
                metric.value += i64::from(boot.index);
            }
        }
    }
    insta::assert_snapshot!("varying", told(&boots, &[], "kvm"));
}

#[test]
fn metrics_that_are_missing() {
    let without = |other: &[(&str, i64)]| {
        let mut scenario = scenario(other);
        let gone = [
            "huge-other-kib",
            "huge-heap-kib",
            "aligned-other",
            "gaps",
            "inference-p50-micros",
            "compact-stall",
        ];
        scenario
            .metrics
            .retain(|metric| !gone.contains(&metric.name.as_str()) && !metric.name.starts_with("faults"));
        scenario
    };
    insta::assert_snapshot!("missing", told(&pair(without(&[]), without(&[])), &[], "tcg"));
}

#[test]
fn inference_that_maps_is_told() {
    let maps = [("inference-maps", 40), ("inference-unmaps", 40)];
    let boots = pair(scenario(&maps), scenario(&maps));
    let answers = of(&compare(&boots, &[], true), None);
    assert_eq!(
        answers[0].answers[4].answer,
        "the same on both kernels: anonymous maps 40, unmaps 40, heap growth 0 KiB up to the last inference; minor faults after the first inference 16"
    );
}

#[test]
fn more_that_varies_is_not_outweighed_by_less_that_is_exact() {
    let mut boots = pair(scenario(&[]), scenario(&[("faults-load", 60_000), ("faults-first", 40)]));
    for boot in boots.iter_mut().filter(|boot| boot.index == 1) {
        for metric in boot.tests[0].metrics.iter_mut().filter(|metric| metric.name == "faults-load") {
            metric.value += 1;
        }
    }
    let answers = of(&compare(&boots, &[], true), None);
    assert!(answers[0].answers[3].answer.starts_with("more in one phase, fewer in another: "));
}

#[test]
fn huge_memory_that_only_moved_is_not_called_more() {
    let boots = pair(scenario(&[]), scenario(&[("huge-other-kib", 53_248), ("huge-heap-kib", 4096)]));
    let answers = of(&compare(&boots, &[], true), None);
    assert!(answers[0].answers[2].answer.starts_with("as much in all, but elsewhere: 61440 of 204800 KiB"));
}

#[test]
fn latency_is_decided_by_a_gate_alone() {
    let name = "inference-p50-micros";
    let gate = Gate {
        except: Vec::new(),
        except_metrics: Vec::new(),
        test: "*".to_owned(),
        metric: name.to_owned(),
        polarity: Direction::Lower,
        floor: 10,
        reason: "what a user waits for".to_owned(),
    };
    let eight = [100, 101, 102, 103, 104, 105, 106, 107];
    let slow = varying(name, &eight, &eight.map(|micros| micros + 50));
    assert_eq!(
        latency_of(&slow, std::slice::from_ref(&gate), "kvm"),
        "the suite's gate decides, it is worse: p50 of an inference 100–107 → 150–157 (varies) µs in 8 base and 8 patched boots, p = 1.55e-4; it holds for this host and this guest"
    );
    let unproven = latency_of(&slow, &[], "kvm");
    assert!(unproven.starts_with("not decided: the ranges lie apart, which is no proof"), "{unproven}");
    let emulated = latency_of(&slow, &[gate], "tcg");
    assert!(emulated.starts_with("cannot be decided here: emulated; under KVM"), "{emulated}");
    let near = latency_of(&varying(name, &[100, 105], &[103, 109]), &[], "kvm");
    assert!(near.starts_with("no difference shows"), "{near}");
}

#[test]
fn without_an_accelerator_on_record_nothing_is_said_of_latency() {
    let boots = pair(scenario(&[]), scenario(&[]));
    let answers = of(&compare(&boots, &[], true), None);
    assert!(
        answers[0].answers[5]
            .answer
            .starts_with("cannot be decided here: what ran the guests is not on record")
    );
}

#[test]
fn only_a_workload_whose_numbers_count_is_answered() {
    assert_eq!(of(&compare(&demonstration(), &[], true), None), []);
    let mut broken = scenario(&[]);
    broken.checks[0].passed = false;
    assert_eq!(of(&compare(&pair(scenario(&[]), broken), &[], true), None), []);
}
