//! A report as text for a reviewer: the answer first, then what changed, then what was compared.

mod table;

use std::fmt::Write as _;

use mthp_record::boot::Side;

use crate::{
    compare::{CheckChange, CheckComparison, Comparison, TestComparison, TestVerdict},
    report::{KernelRecord, Report, Status},
    text,
    verdict::Verdict,
};

/// How many names a line of unchanged tests lists.
const NAMES: usize = 6;

/// How to render.
#[derive(Clone, Debug)]
pub struct Style {
    /// Columns; made for 80 to 110.
    pub width: u16,
    /// Use colour. Nothing is said by colour alone.
    pub color: bool,
    /// Where the report's folder is, as the reader would type it.
    pub report: String,
}

/// Renders a report.
#[must_use]
pub fn render(report: &Report, style: &Style) -> String {
    let mut out = String::new();
    answer(&mut out, report, style);
    if let Some(comparison) = &report.comparison {
        if let Some(table) = table::changes(comparison, style) {
            let _ = writeln!(out, "\n{table}");
            legend(&mut out, comparison);
        }
        broken(&mut out, comparison);
        rest(&mut out, comparison);
    }
    identities(&mut out, report);
    timings(&mut out, report);
    let _ = writeln!(out, "\nreport: {}", text::clean(&style.report));
    out
}

fn answer(out: &mut String, report: &Report, style: &Style) {
    let color = match report.verdict {
        Verdict::Improved | Verdict::Unchanged => "32",
        Verdict::Regressed | Verdict::PatchedKernelFailed | Verdict::MachineryFailed => "31",
        Verdict::Mixed | Verdict::Inconclusive => "33",
    };
    let verdict = report.verdict;
    let verdict = if style.color { format!("\x1b[1;{color}m{verdict}\x1b[0m") } else { verdict.to_string() };
    let unfinished = if report.status == Status::Unfinished { " (unfinished)" } else { "" };
    let _ = writeln!(out, "verdict: {verdict}{unfinished}");
    for reason in &report.reasons {
        let _ = writeln!(out, "  {}", text::clean(reason));
    }
    for note in &report.notes {
        let _ = writeln!(out, "  note: {}", text::clean(note));
    }
}

fn legend(out: &mut String, comparison: &Comparison) {
    let metrics = || comparison.tests.iter().flat_map(|test| &test.metrics);
    out.push_str("checks decide, and metrics marked \"gates\"; other metrics are facts, not judged\n");
    if metrics().any(|metric| table::is_sampled(metric) && table::is_shown(metric)) {
        out.push_str("~ varies between boots of one kernel\n");
    }
}

fn broken(out: &mut String, comparison: &Comparison) {
    let checks = |wanted: CheckChange| {
        let of = move |test: &'_ TestComparison| -> Vec<(String, CheckComparison)> {
            let wanted = test.checks.iter().filter(|check| check.change == wanted);
            wanted.map(|check| (test.name.clone(), check.clone())).collect()
        };
        comparison.tests.iter().flat_map(of).collect::<Vec<_>>()
    };
    for (title, wanted) in [("broken", CheckChange::Broken), ("flaky", CheckChange::Flaky)] {
        let found = checks(wanted);
        if !found.is_empty() {
            let _ = writeln!(out, "\n{title}:");
        }
        for (test, check) in found {
            let _ = writeln!(
                out,
                "  {} {}: {}",
                text::clean(&test),
                text::clean(&check.name),
                text::clean(&check.promise)
            );
            let _ = writeln!(out, "    expected {}", text::clean(&check.expected));
            let _ = writeln!(out, "    base     {}", text::clean(&check.sides.base.observed));
            let _ = writeln!(out, "    patched  {}", text::clean(&check.sides.patched.observed));
        }
    }
}

/// The tests that the table leaves out, in a line each kind.
fn rest(out: &mut String, comparison: &Comparison) {
    type Kind = (&'static str, fn(&TestVerdict) -> bool);
    const KINDS: [Kind; 4] = [
        ("still passing", |verdict| matches!(verdict, TestVerdict::StillPassing | TestVerdict::Unchanged)),
        ("still failing", |verdict| matches!(verdict, TestVerdict::StillFailing)),
        ("still crashing", |verdict| matches!(verdict, TestVerdict::StillCrashing)),
        ("not applicable", |verdict| matches!(verdict, TestVerdict::NotApplicable { .. })),
    ];
    out.push('\n');
    for (title, is_kind) in KINDS {
        let tests: Vec<&TestComparison> =
            comparison.tests.iter().filter(|test| is_kind(&test.verdict)).collect();
        let Some(first) = tests.first() else { continue };
        let names = text::list(tests.iter().map(|test| test.name.as_str()), NAMES);
        let why = match &first.verdict {
            TestVerdict::NotApplicable { reason } => format!(" ({})", text::clean(reason)),
            _ => String::new(),
        };
        let _ = writeln!(out, "{title}: {} ({names}){why}", text::count(tests.len(), "test"));
    }
    if !comparison.idle_gates.is_empty() {
        let gates = comparison.idle_gates.iter().map(|gate| format!("{} of {}", gate.metric, gate.test));
        let gates: Vec<_> = gates.collect();
        let _ = writeln!(
            out,
            "gates that ruled nothing: {}",
            text::list(gates.iter().map(String::as_str), NAMES)
        );
    }
}

fn identities(out: &mut String, report: &Report) {
    out.push('\n');
    for (side, kernel) in [(Side::Base, &report.base), (Side::Patched, &report.patched)] {
        let boots = report.boots.iter().filter(|boot| boot.side == side);
        let all = boots.clone().count();
        let completed = boots.filter(|boot| boot.outcome.is_completed()).count();
        let kernel = kernel.as_ref().map_or_else(|| "not built".to_owned(), short);
        let _ = writeln!(out, "{:<8} {kernel}; {completed} of {all} boots completed", side.to_string());
    }
    if let Some(accelerator) = &report.accelerator {
        let qemu = report.qemu.as_ref().map_or("", |qemu| qemu.version.as_str());
        let _ = writeln!(
            out,
            "guests   {} ({}), QEMU {}",
            text::clean(&accelerator.kind),
            text::clean(&accelerator.why),
            text::clean(qemu)
        );
    }
    if let Some(host) = &report.host {
        let model = text::clean(&host.cpu_model);
        let _ = writeln!(
            out,
            "host     {}, {model}, Linux {}",
            text::count(host.cpus as usize, "CPU"),
            text::clean(&host.kernel)
        );
    }
}

/// A kernel in a line: the source, what lies on top, and the hashes' first digits.
fn short(kernel: &KernelRecord) -> String {
    let source = &kernel.source;
    let version = source.package_version.as_ref().unwrap_or(&source.version);
    let patches: Vec<String> = kernel
        .patches
        .iter()
        .map(|patch| if patch.reverted { format!("{} reverted", patch.name) } else { patch.name.clone() })
        .collect();
    let patches = match patches.len() {
        0 => String::new(),
        _ => format!(" + {}", text::list(patches.iter().map(String::as_str), 3)),
    };
    let hash = |hash: &str| hash.chars().take(12).collect::<String>();
    text::clean(&format!(
        "{} {version}{patches}; config {}, vmlinux {}",
        source.what,
        hash(&kernel.config_sha256),
        hash(&kernel.vmlinux_sha256)
    ))
}

fn timings(out: &mut String, report: &Report) {
    let seconds = |millis: u64| format!("{}.{} s", millis / 1000, millis % 1000 / 100);
    let phases: Vec<String> = report
        .timings
        .iter()
        .map(|phase| {
            let cpu = phase.cpu_millis.map(|cpu| format!(" (CPU {})", seconds(cpu))).unwrap_or_default();
            format!("{} {}{cpu}", text::clean(&phase.name), seconds(phase.wall_millis))
        })
        .collect();
    if !phases.is_empty() {
        let _ = writeln!(out, "timings  {}", phases.join(", "));
    }
}

#[cfg(test)]
mod tests;
