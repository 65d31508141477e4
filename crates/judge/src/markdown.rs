//! A report as Markdown, for a job summary or a comment on a patch.

use crate::{
    report::Report,
    terminal::{self, Style},
};

/// Renders a report: the verdict as a heading, the terminal's text in a fence that nothing in it can close.
#[must_use]
pub fn render(report: &Report, report_path: &str) -> String {
    let style = Style { width: 100, color: false, report: report_path.to_owned() };
    let text = terminal::render(report, &style);
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    format!("### {}\n\n{fence}text\n{text}{fence}\n", report.verdict)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn nothing_inside_closes_the_fence() {
        let mut report = sample::report(&sample::demonstration(), &[]);
        report.notes.push("```` <script>".to_owned());
        let markdown = render(&report, "r");
        assert!(markdown.starts_with("### improved\n\n`````text\n"), "{markdown}");
        assert!(markdown.ends_with("`````\n"));
    }
}
