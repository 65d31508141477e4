//! A backtest as the page that README shows.

use std::fmt::Write as _;

use super::{backtest::Backtest, text};
use crate::table::cell;

/// The page.
#[must_use]
pub fn render(it: &Backtest) -> String {
    let mut out = String::from("# What the suite catches, and what it leaves alone\n\n");
    out.push_str("Written by `cargo xtask backtest`; with `--record` it is the page that README shows. Do not edit.\n\n");
    let _ = writeln!(out, "{}.\n", text::headline(it));
    let kernels: Vec<String> = it
        .bases
        .iter()
        .map(|(name, kernel)| {
            let package = kernel.source.package_version.as_deref().unwrap_or(&kernel.source.version);
            format!("{name} ({package})")
        })
        .collect();
    let _ = writeln!(
        out,
        "Kernels: {}. Suite `{}`, {} boots of each kernel in a run{}. A bug's cost is its build from the base's objects \
         and one run's boots.\n",
        kernels.join(", "),
        it.suite.name,
        it.boots,
        it.accelerator.as_ref().map_or(String::new(), |accelerator| format!(", under {}", accelerator.kind)),
    );
    out.push_str(
        "| bug | what a user loses | cured by | checks that must turn | result |\n|---|---|---|---|---|\n",
    );
    for trial in &it.bugs {
        let entry = &trial.subject;
        let turns: Vec<String> =
            entry.turns.iter().map(|turn| format!("`{}: {}`", turn.test, turn.check)).collect();
        let _ = writeln!(
            out,
            "| {} | {} | {} {} ({}; {}) | {} | {} |",
            cell(&entry.id),
            cell(&entry.harm),
            cell(&entry.fix.commit),
            cell(&entry.fix.subject),
            cell(&entry.fix.author),
            cell(&entry.fix.fixed_in.join(", ")),
            turns.join("<br>"),
            cell(&text::result(trial, "caught")),
        );
    }
    out.push_str("\n| harmless | what it does | result |\n|---|---|---|\n");
    for trial in &it.harmless {
        let _ = writeln!(
            out,
            "| {} | {} | {} |",
            cell(&trial.subject.id),
            cell(&trial.subject.subject),
            cell(&text::result(trial, "quiet"))
        );
    }
    for trial in &it.itself {
        let _ = writeln!(
            out,
            "| {} | nothing: the same kernel on both sides | {} |",
            cell(&trial.subject),
            cell(&text::result(trial, "quiet"))
        );
    }
    let _ = writeln!(out, "\n## The matrix\n\n```text\n{}```\n", text::matrix(it).replace("```", "'''"));
    out.push_str("## The tests\n\n| test | the promise it checks |\n|---|---|\n");
    for (test, contract) in &it.contracts {
        let _ = writeln!(out, "| {} | {} |", cell(test), cell(contract));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::backtest::tests::sample;

    #[test]
    fn the_page_names_every_bug_and_its_checks() {
        insta::assert_snapshot!(render(&sample()));
    }
}
