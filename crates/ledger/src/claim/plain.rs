//! A claim's finding as plain text: for the terminal, and at most 72 columns wide for a reply on a mailing list.
//!
//! Nothing in it argues: the claim, the conditions, the measurement, the verdict.

use std::fmt::Write as _;

use mthp_judge::text::{clean, wrap};

use super::{
    condition::Condition,
    file::{OTHERWISE, What},
    find::{PartFinding, Row},
    ledger::{Built, Finding, Ledger},
};

/// Columns of a mail.
pub const MAIL: u16 = 72;
/// Columns of a value's name and of what was measured.
const NAME: usize = 14;
const MEASURED: usize = 12;
const CLAIMED: usize = 12;

/// One finding, ready to paste into a reply.
#[must_use]
pub fn render(ledger: &Ledger, finding: &Finding, width: u16) -> String {
    let mut out = Text { out: String::new(), width };
    let claim = &finding.claim;
    for paragraph in claim.text.trim().split("\n\n") {
        let words = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        for line in wrap(&clean_long(&words), width.saturating_sub(2), 0).lines() {
            out.raw(&format!("> {line}"));
        }
    }
    let date = claim.source.date.as_ref().map_or(String::new(), |date| format!(", {date}"));
    out.line(2, &format!("({}, {}{date})", claim.source.who, claim.source.place));
    out.blank();
    out.line(2, &format!("Verdict: {}", finding.verdict));
    for (at, part) in finding.parts.iter().enumerate() {
        out.blank();
        out.part(at + 1, part);
    }
    out.blank();
    out.line(0, "Each verdict is for its conditions only, on the kernels below.");
    out.kernels(finding);
    out.how(ledger, finding);
    out.out
}

/// Every claim in a line: its verdict and its name.
#[must_use]
pub fn summary(ledger: &Ledger, width: u16) -> String {
    let mut out = Text { out: String::new(), width };
    for finding in &ledger.findings {
        out.line(24, &format!("{:<22}  {}", finding.verdict.to_string(), finding.claim.id));
        out.line(24, &format!("{:24}{}", "", clean(&finding.claim.title)));
    }
    out.out
}

struct Text {
    out: String,
    width: u16,
}

impl Text {
    fn raw(&mut self, line: &str) {
        let _ = writeln!(self.out, "{}", line.trim_end());
    }

    fn blank(&mut self) {
        self.out.push('\n');
    }

    fn line(&mut self, indent: usize, words: &str) {
        let width = usize::from(self.width);
        for line in wrap(&clean_long(words), self.width, indent).lines() {
            // A word may be longer than a line: a path, a name.
            let all: Vec<char> = line.trim_end().chars().collect();
            for piece in all.chunks(width.max(1)) {
                self.raw(&piece.iter().collect::<String>());
            }
            if all.is_empty() {
                self.blank();
            }
        }
    }

    fn part(&mut self, number: usize, part: &PartFinding) {
        self.line(3, &format!("{number}. {}", part.about));
        if !part.rows.is_empty() {
            self.line(18, &format!("   confirmed if:  {}", conditions(&part.confirmed)));
            self.line(18, &format!("   refuted if:    {}", conditions(&part.refuted)));
            self.blank();
            self.raw(&format!(
                "   {:NAME$} {:>MEASURED$}  {:CLAIMED$} {}",
                "value", "measured", "claimed", "what"
            ));
            for row in &part.rows {
                self.row(row);
            }
            self.blank();
        }
        self.line(6, &format!("   => {}", part.verdict));
        if let Some(why) = &part.why {
            self.line(6, &format!("      {why}"));
        }
        if let Some(needs) = &part.needs {
            self.line(6, &format!("      it takes: {needs}"));
        }
    }

    fn row(&mut self, row: &Row) {
        let value = &row.value;
        let claimed = value.claimed.as_deref().unwrap_or("-");
        let what = format!("{} of {} on {}", value.what.name(), value.test, value.kernel);
        let start = format!(
            "   {:NAME$} {:>MEASURED$}  {:CLAIMED$} ",
            clean(&value.name),
            measured(row),
            clean(claimed)
        );
        let indent = start.chars().count();
        self.line(indent, &format!("{start}{}", clean_long(&what)));
        if let Some(why) = &row.missing {
            self.line(6, &format!("      not measured: {why}"));
        }
    }

    fn kernels(&mut self, finding: &Finding) {
        for (name, built) in &finding.kernels {
            self.blank();
            let stands_for = finding.claim.kernels.get(name).map_or("", |kernel| kernel.stands_for.as_str());
            self.line(2, &format!("{name}: {stands_for}"));
            match built {
                Built::No { why } => self.line(4, &format!("  not built: {why}")),
                Built::Yes { record } => {
                    let source = &record.source;
                    let version = source.package_version.as_ref().unwrap_or(&source.version);
                    self.line(4, &format!("  {} ({} {version})", record.label, source.what));
                    for patch in &record.patches {
                        let back = if patch.reverted { "taken out: " } else { "+ " };
                        let subject = patch.subject.as_deref().unwrap_or_default();
                        self.line(4, &format!("  {back}{} {subject}", patch.name));
                        self.hash("patch", &patch.sha256);
                    }
                    self.hash("config", &record.config_sha256);
                    self.hash("vmlinux", &record.vmlinux_sha256);
                }
            }
        }
    }

    /// A hash has 64 digits: with its indent it fills a mail's line.
    fn hash(&mut self, of: &str, sha256: &str) {
        self.raw(&format!("    {of} sha256"));
        self.raw(&format!("      {sha256}"));
    }

    fn how(&mut self, ledger: &Ledger, finding: &Finding) {
        self.blank();
        if let (Some(suite), Some(qemu), Some(accelerator)) =
            (&finding.suite, &ledger.qemu, &finding.accelerator)
        {
            self.line(
                2,
                &format!(
                    "Measured: {} boots of each kernel, suite {}, QEMU {} with {}.",
                    finding.claim.boots, suite.name, qemu.version, accelerator.kind
                ),
            );
            if let Some(runner) = &ledger.runner_sha256 {
                self.hash("runner", runner);
            }
        }
        self.hash("claim", &finding.claim_sha256);
        let accel = finding.accelerator.as_ref().map_or(String::new(), |it| format!(" --accel {}", it.kind));
        self.line(
            2,
            &format!(
                "Repeat: cargo xtask reproduce {} --boots {}{accel} (mthp-regress {})",
                finding.claim.id, finding.claim.boots, ledger.tool_version
            ),
        );
    }
}

/// What was measured, in a word.
#[must_use]
pub fn measured(row: &Row) -> String {
    match (row.measured, &row.value.what) {
        (None, _) => "-".to_owned(),
        (Some(range), What::Check(_)) => match (range.low, range.high) {
            (1, 1) => "holds".to_owned(),
            (0, 0) => "fails".to_owned(),
            _ => "varies".to_owned(),
        },
        (Some(range), What::Metric(_)) if range.is_exact() => range.low.to_string(),
        (Some(range), What::Metric(_)) => format!("{}..{}", range.low, range.high),
    }
}

/// Conditions as a reader reads them.
#[must_use]
pub fn conditions(all: &[Condition]) -> String {
    if all.is_empty() {
        return OTHERWISE.to_owned();
    }
    all.iter().map(ToString::to_string).collect::<Vec<_>>().join(" and ")
}

/// Harmless characters, of whatever length: a claim's words are a file of ours, and are wrapped.
fn clean_long(text: &str) -> String {
    mthp_judge::text::harmless(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::ledger::tests::sample;

    #[test]
    fn a_mail_is_at_most_72_columns_wide() {
        let it = sample();
        for finding in &it.findings {
            let mail = render(&it, finding, MAIL);
            for line in mail.lines() {
                assert!(line.chars().count() <= usize::from(MAIL), "{line:?}");
                assert_eq!(line, line.trim_end());
            }
        }
    }

    #[test]
    fn no_word_is_wider_than_a_mail() {
        let mut it = sample();
        it.findings[0].parts[0].rows[0].missing = Some(format!("failed at /{}", "x".repeat(200)));
        it.findings[0].claim.source.place = "p".repeat(100);
        let mail = render(&it, &it.findings[0], MAIL);
        assert!(mail.lines().all(|line| line.chars().count() <= usize::from(MAIL)), "{mail}");
    }

    #[test]
    fn a_finding_as_a_mail() {
        let it = sample();
        let mails: Vec<String> = it.findings.iter().map(|finding| render(&it, finding, MAIL)).collect();
        insta::assert_snapshot!(mails.join("\n-- \n\n"));
    }

    #[test]
    fn all_in_a_line_each() {
        insta::assert_snapshot!(summary(&sample(), 100));
    }
}
