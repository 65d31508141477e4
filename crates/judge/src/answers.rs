//! What the patch does to a real program, in words, in the order in which a reviewer asks.
//!
//! Each answer rests on metrics that it names. What is exact is said plainly, what varies between boots is said to,
//! and what was not measured is named: nothing is said of it.

mod draft;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    compare::{Comparison, MIN_BOOTS_SAMPLED, MetricChange, Pair, TestComparison},
    report::AcceleratorRecord,
};
use draft::{Draft, Trend};

/// The metric by which a test is known to be a workload's scenario.
const MARKER: &str = "inference-maps";

/// What the patch does to one scenario of a workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioAnswers {
    /// The test's name.
    pub test: String,
    /// The answers, in the order in which one asks.
    pub answers: Vec<Answer>,
}

/// One question and what the metrics say to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The question.
    pub question: String,
    /// The answer; `a → b` is from the base to the patched kernel.
    pub answer: String,
    /// The names of the metrics it rests on.
    pub evidence: Vec<String>,
}

/// The answers for every test that is a workload's scenario and whose numbers count.
#[must_use]
pub fn of(comparison: &Comparison, accelerator: Option<&AcceleratorRecord>) -> Vec<ScenarioAnswers> {
    let is_scenario = |test: &&TestComparison| test.metrics.iter().any(|metric| metric.name == MARKER);
    comparison
        .tests
        .iter()
        .filter(is_scenario)
        .map(|test| ScenarioAnswers {
            test: test.name.clone(),
            answers: vec![
                place(Draft::of(test)),
                share(Draft::of(test)),
                huge(Draft::of(test)),
                faults(Draft::of(test)),
                inference(Draft::of(test)),
                latency(Draft::of(test), comparison.completed, accelerator),
            ],
        })
        .collect()
}

/// Maps of one kind of length: its name, and the metrics of its maps, their KiB, and those at a boundary.
struct Class {
    name: &'static str,
    maps: &'static str,
    kib: &'static str,
    aligned: &'static str,
}

const CLASSES: [Class; 3] = [
    Class { name: "below 2 MiB", maps: "maps-small", kib: "maps-small-kib", aligned: "aligned-small" },
    Class {
        name: "multiples of it",
        maps: "maps-multiple",
        kib: "maps-multiple-kib",
        aligned: "aligned-multiple",
    },
    Class { name: "others", maps: "maps-other", kib: "maps-other-kib", aligned: "aligned-other" },
];

fn place(mut draft: Draft<'_>) -> Answer {
    const PLACE: [&str; 9] = [
        "aligned-small",
        "aligned-multiple",
        "aligned-other",
        "maps-small",
        "maps-multiple",
        "maps-other",
        "gaps",
        "gap-kib",
        "vmas",
    ];
    let aligned: Vec<String> = CLASSES
        .iter()
        .filter_map(|class| {
            let [aligned, maps] = draft.values([class.aligned, class.maps])?;
            Some(format!("{aligned} of {maps} {}", class.name))
        })
        .collect();
    if !aligned.is_empty() {
        draft.say(format!("maps that start at a 2 MiB boundary {}", aligned.join(", ")));
    }
    draft.tell(["gaps", "gap-kib"], |[gaps, kib]| format!("holes between maps {gaps}, together {kib} KiB"));
    draft.tell(["vmas"], |[vmas]| format!("VMAs {vmas}"));
    let trend = draft.trend(&PLACE);
    draft.finish(
        "does the patch change where this workload's memory lies?",
        trend,
        "no, by 2 MiB boundaries, holes and VMAs",
        "yes",
    )
}

fn share(mut draft: Draft<'_>) -> Answer {
    let mut steady = Vec::new();
    for class in &CLASSES {
        let Some(trend) = draft.trend(&[class.aligned]) else {
            draft.values([class.aligned]);
            continue;
        };
        let Some([aligned, maps, kib]) = draft.values([class.aligned, class.maps, class.kib]) else {
            continue;
        };
        if trend == Trend::Same {
            steady.push(format!("{} ({kib} KiB)", class.name));
        } else {
            draft.say(format!("{aligned} of {maps} {}, {kib} KiB in all", class.name));
        }
    }
    if !steady.is_empty() {
        draft.say(format!("as before lie those {}", steady.join(", ")));
    }
    draft.tell(["maps-reserved-kib"], |[kib]| {
        format!("address space taken in advance for arenas and stacks {kib} KiB")
    });
    draft.tell(["heap-kib"], |[kib]| format!("the heap (brk) {kib} KiB"));
    draft.tell(["gap-kib"], |[kib]| format!("holes {kib} KiB"));
    let trend = draft.trend(&["aligned-small", "aligned-multiple", "aligned-other", "gap-kib"]);
    draft.finish(
        "how much of it?",
        trend,
        "none, by 2 MiB boundaries and holes",
        "by 2 MiB boundaries and holes",
    )
}

fn huge(mut draft: Draft<'_>) -> Answer {
    const BY_CLASS: [&str; 5] =
        ["huge-small-kib", "huge-multiple-kib", "huge-other-kib", "huge-reserved-kib", "huge-heap-kib"];
    draft.tell(["anon-huge-kib", "anon-kib"], |[huge, all]| format!("{huge} of {all} KiB anonymous memory"));
    draft.tell(BY_CLASS, |[small, multiple, other, reserved, heap]| {
        format!(
            "of that in maps below 2 MiB {small}, multiples of it {multiple}, others {other}, in arenas and stacks {reserved}, in the heap {heap} KiB"
        )
    });
    draft.tell(["page-tables-kib"], |[kib]| format!("page tables {kib} KiB"));
    draft.tell(["rss-peak-kib"], |[kib]| format!("resident at the peak {kib} KiB"));
    let total = draft.trend(&["anon-huge-kib"]);
    let spread = draft.trend(&BY_CLASS);
    let elsewhere = spread.is_some_and(Trend::is_change);
    let (trend, moved) = match total {
        Some(Trend::Up) => (total, "more"),
        Some(Trend::Down) => (total, "less"),
        Some(Trend::Same) if elsewhere => (spread, "as much in all, but elsewhere"),
        _ if elsewhere => (spread, "it lies elsewhere, and how much in all is not certain"),
        _ => (total, ""),
    };
    draft.finish("how much of it is huge?", trend, "as much as before", moved)
}

fn faults(mut draft: Draft<'_>) -> Answer {
    const MINOR: [&str; 3] = ["faults-load", "faults-first", "faults-inference"];
    draft.tell(MINOR, |[load, first, later]| {
        format!(
            "minor faults {load} while loading, {first} in the first inference, {later} in all later ones"
        )
    });
    draft.tell(["major-faults-load"], |[major]| format!("major faults {major} while loading"));
    draft.tell(["thp-fault-alloc", "thp-fault-fallback"], |[huge, fallen]| {
        format!("huge pages at a fault {huge}, fallen back to small ones {fallen}")
    });
    draft.tell(["thp-collapse-alloc", "compact-stall"], |[collapse, stall]| {
        format!("huge pages to collapse into {collapse}, waits for compaction {stall}")
    });
    let trend = draft.trend(&MINOR);
    let moved = match trend {
        Some(Trend::Up) => "more",
        Some(Trend::Down) => "fewer",
        _ => "more in one phase, fewer in another",
    };
    draft.finish("what does it cost in faults?", trend, "as many as before", moved)
}

fn inference(mut draft: Draft<'_>) -> Answer {
    const MAPPING: [&str; 3] = [MARKER, "inference-unmaps", "inference-heap-kib"];
    let trend = draft.trend(&MAPPING);
    let nothing = MAPPING.iter().all(|name| {
        draft.metric(name).is_some_and(|metric| !metric.sides.any(|side| side.range() != (0, 0)))
    });
    let same =
        if nothing { "it maps no anonymous memory on either kernel" } else { "the same on both kernels" };
    draft.tell(MAPPING, |[maps, unmaps, heap]| {
        format!("anonymous maps {maps}, unmaps {unmaps}, heap growth {heap} KiB up to the last inference")
    });
    draft.tell(["faults-inference"], |[faults]| format!("minor faults after the first inference {faults}"));
    draft.finish("what does inference do after loading?", trend, same, "not the same on both kernels")
}

fn latency(mut draft: Draft<'_>, boots: Pair<usize>, accelerator: Option<&AcceleratorRecord>) -> Answer {
    const P50: &str = "inference-p50-micros";
    let metric = draft.metric(P50);
    let p50 = draft.values([P50]).map(|[p50]| format!("p50 of an inference {p50} µs"));
    match (accelerator, metric, p50) {
        (Some(accelerator), _, p50) if accelerator.is_emulation() => {
            draft.say(format!(
                "cannot be decided here: emulated; under KVM, {MIN_BOOTS_SAMPLED} boots a side and a declared gate can decide"
            ));
            p50.into_iter().for_each(|p50| draft.say(format!("{p50}, emulated")));
        }
        (Some(_), Some(metric), Some(p50)) => {
            let decided = decided(metric.change);
            let p = metric.p.map(|p| format!(", p = {p:.2e}")).unwrap_or_default();
            draft.say(format!(
                "{decided}: {p50} in {} base and {} patched boots{p}",
                boots.base, boots.patched
            ));
            draft.say("it holds for this host and this guest".to_owned());
        }
        (Some(_), ..) => {}
        (None, ..) => draft.say("cannot be decided here: what ran the guests is not on record".to_owned()),
    }
    draft.finish("what can and cannot be said about latency on this accelerator?", None, "", "")
}

/// What became of a latency, where time is real.
fn decided(change: MetricChange) -> &'static str {
    match change {
        MetricChange::Better => "the suite's gate decides, it is better",
        MetricChange::Worse => "the suite's gate decides, it is worse",
        MetricChange::Same | MetricChange::SampledAlike => {
            "no difference shows, and one within the spread of boots cannot be excluded"
        }
        MetricChange::Moved | MetricChange::SampledApart | MetricChange::CannotTell => {
            "not decided: the ranges lie apart, which is no proof"
        }
    }
}

#[cfg(test)]
mod tests;
