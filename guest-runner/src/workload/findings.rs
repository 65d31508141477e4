//! From what was watched to checks, metrics and evidence. Pure.

use std::{collections::BTreeMap, fmt::Write};

use anyhow::{Context, Result};
use mthp_detect::differences;
use mthp_record::{
    message::Snapshot,
    result::{Polarity, Unit},
    workload::{Answer, Detection, Modelled, PROVIDER, Phase, Scenario},
};

use super::{
    census::{Census, Class, Stage},
    reading::Reading,
};
use crate::{
    proc,
    suite::{
        Findings,
        layout::{count, kib},
    },
};

/// The program's memory when it had just done something.
#[derive(Clone, Debug)]
pub struct Moment {
    /// What it had done.
    pub phase: Phase,
    /// How often.
    pub number: u64,
    /// Its memory.
    pub reading: Reading,
    /// Hardware events so far.
    pub events: Vec<(&'static str, i64)>,
}

/// What is read once, when the last session exists.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// Bytes in huge pages by the class of mapping they lie in; `None` where the kernel does not tell.
    pub huge: Option<BTreeMap<Class, usize>>,
    /// The heap's share of them.
    pub heap_huge_kib: i64,
    /// By how much the heap has grown.
    pub heap_kib: i64,
    /// The program's maps.
    pub maps: String,
    /// Its smaps_rollup.
    pub rollup: String,
}

/// Everything that was gathered while the program ran.
#[derive(Clone, Debug)]
pub struct Measured {
    /// What it mapped.
    pub census: Census,
    /// Its marks, in order; the last is [`Phase::Done`].
    pub moments: Vec<Moment>,
    /// A closer look, at the last session's creation.
    pub loaded: Loaded,
    /// The hardware events that could not be counted, each with the reason.
    pub missing_events: Vec<String>,
}

/// Reports a run. Where the inference came out wrong, no number of it is reported.
///
/// # Errors
/// When the marks lack one that every run has.
pub fn report(
    findings: &mut Findings,
    scenario: &Scenario,
    answer: &Answer,
    measured: &Measured,
    (before, after): (&Snapshot, &Snapshot),
) -> Result<()> {
    validity(findings, scenario, answer);
    evidence(findings, answer, measured, before, after);
    if !findings.all_hold() {
        return Ok(());
    }
    findings.agreement(
        "output-bits",
        "the output's bits do not depend on the kernel",
        answer.outputs.first().cloned().unwrap_or_default(),
    );
    placement(findings, measured)?;
    faults(findings, measured)?;
    counters(findings, before, after);
    times(findings, answer, scenario.order.in_flight);
    hardware(findings, measured);
    Ok(())
}

/// Reports a run of a program that was not watched: what it saw, and how long it took or what it told of the region that
/// an inference was.
pub fn report_alone(findings: &mut Findings, scenario: &Scenario, answer: &Answer) {
    validity(findings, scenario, answer);
    findings.evidence("runtime", runtime(answer));
    findings.evidence("latency-micros", latency(answer));
    if scenario.is_modelled() {
        modelled(findings, answer);
    } else if findings.all_hold() {
        times(findings, answer, scenario.order.in_flight);
    }
}

/// The numbers of a region come from the model. How long it took to model is none.
fn modelled(findings: &mut Findings, answer: &Answer) {
    let inside = |Modelled { others, .. }: Modelled| format!("{others} other threads ran");
    findings.check(
        "valid-region",
        "the thread that marks the region does the whole inference",
        answer.modelled.map_or_else(|| "no region".to_owned(), inside),
        "0 other threads ran".to_owned(),
    );
    if let Some(Modelled { huge_blocks, .. }) = answer.modelled.filter(|_| findings.all_hold()) {
        findings.metric("huge-blocks", whole(huge_blocks), Unit::Count, Polarity::Neutral);
    }
}

fn validity(findings: &mut Findings, scenario: &Scenario, answer: &Answer) {
    let foreign: Vec<String> = answer
        .assigned
        .iter()
        .filter(|share| share.provider != PROVIDER)
        .map(|share| format!("{} of {}", share.nodes, share.provider))
        .collect();
    let own: u32 = answer.assigned.iter().filter(|one| one.provider == PROVIDER).map(|one| one.nodes).sum();
    findings.check(
        "valid-provider",
        "OpenVINO executes every node of the model",
        if own == 0 { "no node".to_owned() } else { format!("{} elsewhere", foreign.len()) },
        "0 elsewhere".to_owned(),
    );
    findings.check(
        "valid-outputs",
        "every inference of the same input gives the same bits",
        distinct(&answer.outputs),
        1,
    );
    findings.check(
        "valid-numbers",
        "every number of the output is finite",
        format!("{} are not", answer.not_finite),
        "0 are not".to_owned(),
    );
    if let Some(expected) = &scenario.expected {
        let wrong: Vec<String> =
            answer.detections.iter().flat_map(|image| differences(expected, image)).collect();
        let batch = usize::try_from(scenario.order.shape[0]).unwrap_or(usize::MAX);
        let observed = if answer.detections.len() == batch {
            if wrong.is_empty() { "as expected".to_owned() } else { wrong.join("; ") }
        } else {
            format!("detections of {} images", answer.detections.len())
        };
        findings.check(
            "valid-detections",
            "the model sees in each image what is there",
            observed,
            "as expected".to_owned(),
        );
    }
}

fn distinct(outputs: &[String]) -> usize {
    outputs.iter().collect::<std::collections::BTreeSet<_>>().len()
}

fn placement(findings: &mut Findings, measured: &Measured) -> Result<()> {
    let census = &measured.census;
    for class in Class::ALL {
        let made = census.maps(Stage::Loading, class);
        let word = class.word();
        findings.metric(&format!("maps-{word}"), made.maps, Unit::Count, Polarity::Neutral);
        findings.metric(&format!("maps-{word}-kib"), kib(made.bytes), Unit::Kib, Polarity::Neutral);
        findings.metric(&format!("aligned-{word}"), made.aligned, Unit::Count, Polarity::Neutral);
    }
    findings.metric("heap-kib", measured.loaded.heap_kib, Unit::Kib, Polarity::Neutral);
    for (name, calls) in [
        ("inference-maps", census.anonymous_maps(Stage::Inferring)),
        ("inference-unmaps", census.unmaps(Stage::Inferring)),
    ] {
        findings.metric(name, count(calls), Unit::Count, Polarity::Neutral);
    }
    let grown = kib(census.inference_heap_growth());
    findings.metric("inference-heap-kib", grown, Unit::Kib, Polarity::Neutral);

    let loaded = &moment(measured, Phase::Loaded)?.reading;
    findings.metric("gaps", loaded.space.gaps, Unit::Count, Polarity::Lower);
    findings.metric("gap-kib", kib(loaded.space.gap_bytes), Unit::Kib, Polarity::Lower);
    findings.metric("vmas", loaded.space.vmas, Unit::Count, Polarity::Lower);
    findings.metric("page-tables-kib", loaded.page_tables_kib, Unit::Kib, Polarity::Lower);
    findings.metric("anon-kib", loaded.anon_kib, Unit::Kib, Polarity::Neutral);
    findings.metric("anon-huge-kib", loaded.anon_huge_kib, Unit::Kib, Polarity::Higher);
    findings.metric("huge-heap-kib", measured.loaded.heap_huge_kib, Unit::Kib, Polarity::Higher);
    for (class, bytes) in measured.loaded.huge.iter().flatten() {
        let name = format!("huge-{}-kib", class.word());
        findings.metric(&name, kib(*bytes), Unit::Kib, Polarity::Higher);
    }
    let done = &moment(measured, Phase::Done)?.reading;
    findings.metric("rss-peak-kib", done.rss_peak_kib, Unit::Kib, Polarity::Lower);
    Ok(())
}

fn faults(findings: &mut Findings, measured: &Measured) -> Result<()> {
    let ready = &moment(measured, Phase::Ready)?.reading;
    let loaded = &moment(measured, Phase::Loaded)?.reading;
    let first = measured.moments.iter().find(|moment| moment.phase == Phase::Inferred);
    let first = &first.context("the program marked no inference")?.reading;
    let done = &moment(measured, Phase::Done)?.reading;
    for (name, value) in [
        ("faults-start", ready.minor_faults),
        ("faults-load", loaded.minor_faults - ready.minor_faults),
        ("faults-first", first.minor_faults - loaded.minor_faults),
        ("faults-inference", done.minor_faults - first.minor_faults),
        ("major-faults-load", loaded.major_faults - ready.major_faults),
    ] {
        findings.metric(name, value, Unit::Count, Polarity::Neutral);
    }
    Ok(())
}

/// The last moment of a phase.
fn moment(measured: &Measured, phase: Phase) -> Result<&Moment> {
    let mut moments = measured.moments.iter().rev();
    moments
        .find(|moment| moment.phase == phase)
        .with_context(|| format!("the program never marked {phase:?}"))
}

fn counters(findings: &mut Findings, before: &Snapshot, after: &Snapshot) {
    for (name, counter) in [
        ("thp-fault-alloc", "thp_fault_alloc"),
        ("thp-fault-fallback", "thp_fault_fallback"),
        ("thp-collapse-alloc", "thp_collapse_alloc"),
        ("compact-stall", "compact_stall"),
    ] {
        let value = vmstat(after, counter) - vmstat(before, counter);
        findings.metric(name, value, Unit::Count, Polarity::Neutral);
    }
    for (name, counter) in
        [("mthp-fault-alloc", "anon_fault_alloc"), ("mthp-fault-fallback", "anon_fault_fallback")]
    {
        let sum = |snapshot| mthp(snapshot, counter);
        if let (Some(before), Some(after)) = (sum(before), sum(after)) {
            findings.metric(name, after - before, Unit::Count, Polarity::Neutral);
        }
    }
}

/// A counter of /proc/vmstat in a snapshot; 0 where the kernel does not count it.
pub fn vmstat(snapshot: &Snapshot, name: &str) -> i64 {
    let text = snapshot.0.get("/proc/vmstat").map_or("", String::as_str);
    proc::find(text, name).unwrap_or(0)
}

/// A counter of the sizes below the PMD's, summed; `None` where the kernel has no such sizes.
fn mthp(snapshot: &Snapshot, counter: &str) -> Option<i64> {
    let ending = format!("/stats/{counter}");
    let values: Vec<i64> = snapshot
        .0
        .iter()
        .filter(|(path, _)| path.ends_with(&ending) && !path.contains("hugepages-2048kB"))
        .filter_map(|(_, text)| text.trim().parse().ok())
        .collect();
    (!values.is_empty()).then(|| values.iter().sum())
}

fn times(findings: &mut Findings, answer: &Answer, in_flight: u32) {
    let mut samples = answer.inference_micros.clone();
    samples.sort_unstable();
    for (name, percent) in
        [("inference-p50-micros", 50), ("inference-p90-micros", 90), ("inference-p99-micros", 99)]
    {
        if let Some(value) = percentile(&samples, percent) {
            findings.metric(name, value, Unit::Micros, Polarity::Lower);
        }
    }
    if let Some(last) = answer.load_micros.last() {
        findings.metric("load-micros", whole(*last), Unit::Micros, Polarity::Lower);
    }
    // All requests are in flight all the time, so what they took together is that many times the time that passed
    // (Little's law). The watcher's own time is not in it.
    let done = u64::try_from(samples.len()).unwrap_or(u64::MAX).saturating_mul(u64::from(in_flight));
    if let Some(rate) = done.saturating_mul(1_000_000_000).checked_div(samples.iter().sum()) {
        findings.metric("throughput", whole(rate), Unit::PerKilosecond, Polarity::Higher);
    }
}

/// By the nearest-rank method: the smallest sample that at least `percent` of all do not exceed.
fn percentile(ascending: &[u64], percent: usize) -> Option<i64> {
    let rank = (ascending.len() * percent).div_ceil(100).max(1);
    ascending.get(rank - 1).map(|micros| whole(*micros))
}

fn hardware(findings: &mut Findings, measured: &Measured) {
    let events = |phase| moment(measured, phase).map(|moment| moment.events.as_slice()).unwrap_or_default();
    for ((name, done), (_, loaded)) in events(Phase::Done).iter().zip(events(Phase::Loaded)) {
        findings.metric(&format!("inference-{name}"), done - loaded, Unit::Count, Polarity::Neutral);
    }
}

fn evidence(
    findings: &mut Findings,
    answer: &Answer,
    measured: &Measured,
    before: &Snapshot,
    after: &Snapshot,
) {
    findings.evidence("runtime", runtime(answer));
    findings.evidence("latency-micros", latency(answer));
    findings.evidence("detections", answer.detections.first().map(|image| list(image)).unwrap_or_default());
    findings.evidence("over-time", over_time(&measured.moments));
    findings.evidence("calls", measured.census.log());
    findings.evidence("maps-loaded", measured.loaded.maps.clone());
    findings.evidence("smaps_rollup-loaded", measured.loaded.rollup.clone());
    findings.evidence("hardware-events", measured.missing_events.join("\n"));
    findings.evidence("counters", changed(before, after));
}

/// All samples.
fn latency(answer: &Answer) -> String {
    format!("load {:?}\ninference {:?}\n", answer.load_micros, answer.inference_micros)
}

fn runtime(answer: &Answer) -> String {
    let mut text = format!("ONNX Runtime {}\n", answer.runtime_version);
    for share in &answer.assigned {
        let _ = writeln!(text, "{} nodes on {}", share.nodes, share.provider);
    }
    text
}

/// The detections as JSON: the host draws them.
fn list(detections: &[Detection]) -> String {
    serde_json::to_string(detections).unwrap_or_default()
}

fn over_time(moments: &[Moment]) -> String {
    let mut text =
        "phase number minor-faults major-faults rss-peak-kib anon-kib anon-huge-kib page-tables-kib vmas gaps gap-kib\n"
            .to_owned();
    for Moment { phase, number, reading, events } in moments {
        let space = &reading.space;
        let _ = write!(
            text,
            "{phase:?} {number} {} {} {} {} {} {} {} {} {}",
            reading.minor_faults,
            reading.major_faults,
            reading.rss_peak_kib,
            reading.anon_kib,
            reading.anon_huge_kib,
            reading.page_tables_kib,
            space.vmas,
            space.gaps,
            kib(space.gap_bytes)
        );
        for (name, count) in events {
            let _ = write!(text, " {name}={count}");
        }
        text.push('\n');
    }
    text
}

/// Every line of every file of the snapshots that differs, before and after.
fn changed(before: &Snapshot, after: &Snapshot) -> String {
    let mut text = String::new();
    for (path, new) in &after.0 {
        let old = before.0.get(path).map_or("", String::as_str);
        for (old, new) in old.lines().zip(new.lines()).filter(|(old, new)| old != new) {
            let _ = writeln!(text, "{path}: {} -> {}", old.trim_end(), new.trim_end());
        }
    }
    text
}

fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use mthp_record::result::GUARD;
    use mthp_record::workload::{Assigned, Decode, Expected, Order, Tensors, Thp};

    use super::*;

    fn bus() -> Detection {
        Detection { class: 5, confidence_thousandths: 537, bounds: [10, 20, 300, 400] }
    }

    fn scenario() -> Scenario {
        Scenario {
            name: "w/1".to_owned(),
            order: Order {
                model: String::new(),
                image: String::new(),
                runtime: String::new(),
                shape: [1, 3, 160, 160],
                dimensions: Default::default(),
                inferences: 2,
                in_flight: 1,
                loads: 1,
                tensors: Tensors::Heap,
                region: None,
                decode: Decode::None,
            },
            expected: Some(Expected { detections: vec![bus()], confidence_tolerance: 1, box_tolerance: 1 }),
            thp: Thp::Always,
            mthp_kib: Vec::new(),
            watched: true,
            khugepaged: false,
            tunables: String::new(),
        }
    }

    fn answer() -> Answer {
        Answer {
            runtime_version: "1".to_owned(),
            assigned: vec![Assigned { provider: PROVIDER.to_owned(), nodes: 236 }],
            load_micros: vec![5],
            inference_micros: vec![30, 10],
            modelled: None,
            not_finite: 0,
            outputs: vec!["aa".to_owned(); 2],
            detections: vec![vec![bus()]],
        }
    }

    fn measured() -> Measured {
        let moment = |phase, number, minor_faults| Moment {
            phase,
            number,
            reading: Reading { minor_faults, ..Reading::default() },
            events: Vec::new(),
        };
        Measured {
            census: Census::default(),
            moments: vec![
                moment(Phase::Ready, 0, 1),
                moment(Phase::Loaded, 1, 100),
                moment(Phase::Inferred, 1, 150),
                moment(Phase::Inferred, 2, 153),
                moment(Phase::Done, 0, 153),
            ],
            loaded: Loaded::default(),
            missing_events: Vec::new(),
        }
    }

    fn reported(answer: &Answer) -> mthp_record::result::TestResult {
        let mut findings = Findings::default();
        let none = Snapshot::default();
        report(&mut findings, &scenario(), answer, &measured(), (&none, &none)).unwrap();
        findings.into_result("w/1")
    }

    #[test]
    fn a_right_inference_has_its_numbers() {
        let result = reported(&answer());
        assert!(result.checks.iter().all(|check| check.passed), "{:?}", result.checks);
        let metric = |name: &str| result.metrics.iter().find(|metric| metric.name == name).unwrap().value;
        assert_eq!([metric("faults-load"), metric("faults-first"), metric("faults-inference")], [99, 50, 3]);
        assert_eq!([metric("inference-p50-micros"), metric("inference-p99-micros")], [10, 30]);
        assert_eq!(metric("throughput"), 50_000_000);
        assert_eq!(result.agreements[0].value, "aa");
    }

    #[test]
    fn a_region_tells_its_huge_pages_and_no_time() {
        let mut scenario = scenario();
        scenario.order.region = Some("w/1".to_owned());
        let reported = |modelled| {
            let mut findings = Findings::default();
            report_alone(&mut findings, &scenario, &Answer { modelled, ..answer() });
            findings.into_result("w/1")
        };
        let good = reported(Some(Modelled { huge_blocks: 7, others: 0 }));
        assert!(good.checks.iter().all(|check| check.passed), "{:?}", good.checks);
        let metrics: Vec<_> =
            good.metrics.iter().map(|metric| (metric.name.as_str(), metric.value)).collect();
        assert_eq!(metrics, [("huge-blocks", 7)]);
        for bad in [None, Some(Modelled { huge_blocks: 7, others: 1 })] {
            let result = reported(bad);
            let failed: Vec<_> = result.checks.iter().filter(|check| !check.passed).collect();
            assert_eq!(failed.len(), 1, "{failed:?}");
            assert!(failed[0].name.starts_with(GUARD) && result.metrics.is_empty());
        }
    }

    #[test]
    fn a_broken_inference_has_no_number() {
        let broken = [
            Answer { detections: vec![vec![]], ..answer() },
            Answer { detections: Vec::new(), ..answer() },
            Answer { outputs: vec!["aa".to_owned(), "ab".to_owned()], ..answer() },
            Answer { assigned: Vec::new(), ..answer() },
            Answer { not_finite: 1, ..answer() },
            Answer {
                assigned: vec![
                    Assigned { provider: PROVIDER.to_owned(), nodes: 235 },
                    Assigned { provider: "CPUExecutionProvider".to_owned(), nodes: 1 },
                ],
                ..answer()
            },
        ];
        for answer in broken {
            let result = reported(&answer);
            assert_eq!(result.checks.iter().filter(|check| !check.passed).count(), 1, "{answer:?}");
            assert_eq!((result.metrics.len(), result.agreements.len()), (0, 0), "{answer:?}");
        }
    }

    #[test]
    fn what_makes_a_run_valid_is_a_guard_to_the_host() {
        let result = reported(&answer());
        assert!(result.checks.iter().all(|check| check.name.starts_with(GUARD)), "{:?}", result.checks);
    }

    #[test]
    fn percentiles_are_samples() {
        assert_eq!(percentile(&[], 50), None);
        assert_eq!(percentile(&[7], 99), Some(7));
        assert_eq!(percentile(&(1..=100).collect::<Vec<_>>(), 90), Some(90));
    }

    #[test]
    fn counters_of_the_sizes_are_summed_without_the_pmds() {
        let snapshot = Snapshot(BTreeMap::from([
            ("/x/hugepages-64kB/stats/anon_fault_alloc".to_owned(), "3\n".to_owned()),
            ("/x/hugepages-16kB/stats/anon_fault_alloc".to_owned(), "4\n".to_owned()),
            ("/x/hugepages-2048kB/stats/anon_fault_alloc".to_owned(), "100\n".to_owned()),
            ("/proc/vmstat".to_owned(), "oom_kill 2\noom 3\n".to_owned()),
        ]));
        assert_eq!(mthp(&snapshot, "anon_fault_alloc"), Some(7));
        assert_eq!(mthp(&snapshot, "nothing"), None);
        assert_eq!(vmstat(&snapshot, "oom_kill"), 2);
        assert_eq!(vmstat(&snapshot, "gone"), 0);
    }
}
