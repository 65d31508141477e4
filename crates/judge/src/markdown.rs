//! A report as Markdown, for a job summary or a comment on a patch.

use crate::{
    report::Report,
    terminal::{self, Style},
    text,
};

/// Renders a report: the verdict as a heading, the terminal's text in a fence that nothing in it can close.
#[must_use]
pub fn render(report: &Report, report_path: &str) -> String {
    let style = Style { width: 100, color: false, report: report_path.to_owned() };
    let text = terminal::render(report, &style);
    format!("### {}\n\n{}", report.verdict, text::fenced(&text))
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
