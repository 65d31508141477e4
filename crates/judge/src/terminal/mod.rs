//! A report as text for a reviewer: the answer first, then what changed, then what was compared.

mod table;

use std::fmt::Write as _;

use mthp_record::boot::Side;

use crate::{
    answers::ScenarioAnswers,
    compare::{CheckChange, Comparison, TestComparison, TestVerdict},
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

/// The most scenarios that are answered in full; [`ANSWERS_FILE`] has all.
const SCENARIOS: usize = 3;

/// The file in the report's folder that holds [`answers`].
pub const ANSWERS_FILE: &str = "answers.txt";

/// The most checks that are told in full; the report has all.
const DETAILS: usize = 12;

/// Renders a report.
#[must_use]
pub fn render(report: &Report, style: &Style) -> String {
    let mut out = String::new();
    answer(&mut out, report, style);
    if let Some(comparison) = &report.comparison {
        let emulated = report.is_emulated();
        if let Some(table) = table::changes(comparison, emulated, style) {
            let _ = writeln!(out, "\n{table}");
            legend(&mut out, comparison, emulated, style);
        }
        checks(&mut out, comparison, "broken", CheckChange::Broken, style);
        checks(&mut out, comparison, "flaky", CheckChange::Flaky, style);
        crashes(&mut out, comparison, style);
        untold(&mut out, comparison, style);
        let (first, more) = report.answers.split_at(report.answers.len().min(SCENARIOS));
        answer_some(&mut out, first, style);
        if !more.is_empty() {
            let names = text::list(more.iter().map(|scenario| scenario.test.as_str()), NAMES);
            line(
                &mut out,
                style,
                4,
                &format!("\nthe same of {names}: {ANSWERS_FILE} in the report's folder"),
            );
        }
        rest(&mut out, comparison, emulated, style);
    }
    identities(&mut out, report, style);
    timings(&mut out, report, style);
    let _ = writeln!(out, "\nreport: {}", text::clean(&style.report));
    out
}

/// One line, wrapped to the width.
fn line(out: &mut String, style: &Style, indent: usize, line: &str) {
    let _ = writeln!(out, "{}", text::wrap(line, style.width, indent));
}

fn answer(out: &mut String, report: &Report, style: &Style) {
    let color = match report.verdict {
        Verdict::Improved | Verdict::Unchanged => "32",
        Verdict::Regressed | Verdict::PatchedKernelFailed | Verdict::MachineryFailed => "31",
        Verdict::Mixed | Verdict::Inconclusive => "33",
    };
    let verdict = report.verdict;
    let verdict = if style.color { format!("\x1b[1;{color}m{verdict}\x1b[0m") } else { verdict.to_string() };
    let _ = match report.status {
        Status::Complete => writeln!(out, "verdict: {verdict}"),
        Status::Empty => writeln!(out, "verdict: none, nothing was run"),
        _ => writeln!(out, "verdict: {verdict} (unfinished)"),
    };
    for reason in &report.reasons {
        line(out, style, 4, &format!("  {}", text::clean(reason)));
    }
    for note in &report.notes {
        line(out, style, 4, &format!("  note: {}", text::clean(note)));
    }
}

fn legend(out: &mut String, comparison: &Comparison, emulated: bool, style: &Style) {
    let listed = || comparison.tests.iter().filter(|test| table::is_listed(test, emulated));
    let metrics = || listed().flat_map(|test| &test.metrics);
    out.push_str("checks decide, and metrics marked \"gates\"; other metrics are facts, not judged\n");
    if metrics().any(|metric| table::is_shown(metric, emulated) && table::is_sampled(metric)) {
        out.push_str("~ varies between boots of one kernel\n");
    }
    if emulated && metrics().any(|metric| metric.unit.is_time()) {
        line(
            out,
            style,
            4,
            "times are in the report: emulated, they say nothing of hardware and decide nothing",
        );
    }
}

/// The checks that `change` befell, each with its promise and what was seen.
fn checks(out: &mut String, comparison: &Comparison, title: &str, change: CheckChange, style: &Style) {
    let found: Vec<_> = comparison
        .tests
        .iter()
        .flat_map(|test| test.checks.iter().map(move |check| (test, check)))
        .filter(|(_, check)| check.change == change)
        .collect();
    if !found.is_empty() {
        let _ = writeln!(out, "\n{title}:");
    }
    for (test, check) in found.iter().take(DETAILS) {
        let [name, check_name, promise] =
            [&test.name, &check.name, &check.promise].map(|text| text::clean(text));
        line(out, style, 4, &format!("  {name} {check_name}: {promise}"));
        line(out, style, 13, &format!("    expected {}", text::clean(&check.expected)));
        line(out, style, 13, &format!("    base     {}", text::clean(&check.sides.base.observed)));
        line(out, style, 13, &format!("    patched  {}", text::clean(&check.sides.patched.observed)));
    }
    if found.len() > DETAILS {
        let _ = writeln!(out, "  and {} more: see the report", found.len() - DETAILS);
    }
}

/// How tests ended that crashed on one side.
fn crashes(out: &mut String, comparison: &Comparison, style: &Style) {
    let crashed =
        |test: &&TestComparison| matches!(test.verdict, TestVerdict::Crashed | TestVerdict::Recovered);
    let crashed: Vec<&TestComparison> = comparison.tests.iter().filter(crashed).collect();
    if !crashed.is_empty() {
        let _ = writeln!(out, "\ncrashed:");
    }
    for test in crashed {
        let name = text::clean(&test.name);
        let [base, patched] =
            [&test.outcomes.base, &test.outcomes.patched].map(|end| text::clean(&end.to_string()));
        line(out, style, 4, &format!("  {name}: base {base}, patched {patched}"));
    }
}

/// The tests of which nothing can be told, with the reason: once where several share it.
fn untold(out: &mut String, comparison: &Comparison, style: &Style) {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for test in &comparison.tests {
        let TestVerdict::Inconclusive { reason } = &test.verdict else { continue };
        match reasons.iter_mut().find(|(known, _)| known == reason) {
            Some((_, names)) => names.push(&test.name),
            None => reasons.push((reason, vec![&test.name])),
        }
    }
    if !reasons.is_empty() {
        let _ = writeln!(out, "\ninconclusive:");
    }
    for (reason, names) in reasons.iter().take(DETAILS) {
        let names = text::list(names.iter().copied(), NAMES);
        line(out, style, 4, &format!("  {names}: {}", text::harmless(reason)));
    }
    if reasons.len() > DETAILS {
        let _ = writeln!(out, "  and {} more: see the report", reasons.len() - DETAILS);
    }
}

/// What the patch does to every scenario of a workload, question by question; `None` without a workload.
#[must_use]
pub fn answers(report: &Report, width: u16) -> Option<String> {
    let mut out = String::new();
    let style = Style { width, color: false, report: String::new() };
    answer_some(&mut out, &report.answers, &style);
    (!out.is_empty()).then(|| out.trim_start().to_owned())
}

fn answer_some(out: &mut String, scenarios: &[ScenarioAnswers], style: &Style) {
    for scenario in scenarios {
        let _ = writeln!(out, "\n{}: what the patch does to this workload", text::clean(&scenario.test));
        for (at, answer) in scenario.answers.iter().enumerate() {
            line(out, style, 5, &format!("  {}. {}", at + 1, text::harmless(&answer.question)));
            line(out, style, 5, &format!("     {}", text::harmless(&answer.answer)));
        }
    }
}

/// The tests that the table leaves out, in a line each kind.
fn rest(out: &mut String, comparison: &Comparison, emulated: bool, style: &Style) {
    type Kind = (&'static str, fn(&TestVerdict) -> bool);
    const KINDS: [Kind; 4] = [
        ("still passing", |verdict| matches!(verdict, TestVerdict::StillPassing | TestVerdict::Unchanged)),
        ("still failing", |verdict| matches!(verdict, TestVerdict::StillFailing)),
        ("still crashing", |verdict| matches!(verdict, TestVerdict::StillCrashing)),
        ("not applicable", |verdict| matches!(verdict, TestVerdict::NotApplicable { .. })),
    ];
    let mut lines = Vec::new();
    for (title, is_kind) in KINDS {
        let of_kind = |test: &&TestComparison| is_kind(&test.verdict) && !table::is_listed(test, emulated);
        let tests: Vec<&TestComparison> = comparison.tests.iter().filter(of_kind).collect();
        let Some(first) = tests.first() else { continue };
        let names = text::list(tests.iter().map(|test| test.name.as_str()), NAMES);
        let why = match &first.verdict {
            TestVerdict::NotApplicable { reason } => format!(" ({})", text::clean(reason)),
            _ => String::new(),
        };
        lines.push(format!("{title}: {} ({names}){why}", text::count(tests.len(), "test")));
    }
    if !comparison.idle_gates.is_empty() {
        let gates = comparison.idle_gates.iter().map(|gate| format!("{} of {}", gate.metric, gate.test));
        let gates: Vec<_> = gates.collect();
        let gates = text::list(gates.iter().map(String::as_str), NAMES);
        lines.push(format!("gates that ruled nothing: {gates}"));
    }
    if !lines.is_empty() {
        out.push('\n');
    }
    for rest in lines {
        line(out, style, 4, &rest);
    }
}

fn identities(out: &mut String, report: &Report, style: &Style) {
    out.push('\n');
    for (side, kernel) in [(Side::Base, &report.base), (Side::Patched, &report.patched)] {
        let boots = report.boots.iter().filter(|boot| boot.side == side);
        let all = boots.clone().count();
        let completed = boots.filter(|boot| boot.outcome.is_completed()).count();
        let kernel = kernel.as_ref().map_or_else(|| "not built".to_owned(), short);
        let side = side.to_string();
        line(out, style, 9, &format!("{side:<8} {kernel}; {completed} of {all} boots completed"));
    }
    if let Some(accelerator) = &report.accelerator {
        let qemu = report.qemu.as_ref().map_or("not found", |qemu| qemu.version.as_str());
        let [kind, why, qemu] = [&accelerator.kind, &accelerator.why, qemu].map(text::clean);
        line(out, style, 9, &format!("guests   {kind} ({why}), QEMU {qemu}"));
    }
    if let Some(host) = &report.host {
        let [model, kernel] = [&host.cpu_model, &host.kernel].map(|text| text::clean(text));
        let plural = if host.cpus == 1 { "" } else { "s" };
        line(out, style, 9, &format!("host     {} CPU{plural}, {model}, Linux {kernel}", host.cpus));
    }
}

/// A kernel in a line: the source, what lies on top, and the hashes' first digits.
pub(crate) fn short(kernel: &KernelRecord) -> String {
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

fn timings(out: &mut String, report: &Report, style: &Style) {
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
        line(out, style, 9, &format!("timings  {}", phases.join(", ")));
    }
}

#[cfg(test)]
mod tests;
