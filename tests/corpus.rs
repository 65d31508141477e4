//! The corpus of known bugs as it is shipped: what it names exists, and the page that README shows is of it.

use std::fs;

use anyhow::{Context, Result, ensure};
use kernel_tests::shared;
use libtest_mimic::{Arguments, Failed, Trial};
use mthp_lab::{backtest, guest_tests};

fn main() {
    let arguments = Arguments::from_args();
    let trials = vec![
        Trial::test("every-bug-names-tests-that-exist", || bugs().map_err(failed)),
        Trial::test("every-test-has-a-suite-of-its-own", || suites().map_err(failed)),
        Trial::test("the-recorded-matrix-is-of-this-corpus-and-all-is-right", || matrix().map_err(failed)),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err gives it")]
fn failed(error: anyhow::Error) -> Failed {
    Failed::from(format!("{error:#}"))
}

fn bugs() -> Result<()> {
    let project = shared::lab()?.project();
    let tests = guest_tests(project)?;
    let (suite, _) = project.suite(backtest::SUITE)?;
    let bugs = project.corpus()?;
    ensure!(!bugs.is_empty(), "the corpus is empty");
    for bug in bugs {
        project.kernel(&bug.kernel)?;
        ensure!(bug.patch.is_file(), "{}: there is no {}", bug.id, bug.patch.display());
        for turn in &bug.turns {
            let known = tests.contains(&turn.test) && suite.selects(&turn.test);
            ensure!(known, "{}: the suite {} has no test {}", bug.id, suite.name, turn.test);
        }
    }
    Ok(())
}

/// `memory` and `all` run everything; a reviewer wants what a patch is about.
fn suites() -> Result<()> {
    let project = shared::lab()?.project();
    let mut own = Vec::new();
    for name in project.suites()? {
        if name != backtest::SUITE && name != "all" {
            own.push(project.suite(&name)?.0);
        }
    }
    for test in guest_tests(project)? {
        ensure!(own.iter().any(|suite| suite.selects(&test)), "{test} is in no suite of its own");
    }
    for suite in own.iter().filter(|suite| suite.workload.is_none() && suite.selftests.is_none()) {
        let selected = guest_tests(project)?.iter().any(|test| suite.selects(test));
        ensure!(selected, "the suite {} selects no test", suite.name);
    }
    Ok(())
}

fn matrix() -> Result<()> {
    let project = shared::lab()?.project();
    let place = project.matrix();
    let page = fs::read_to_string(&place).with_context(|| format!("failed to read {}", place.display()))?;
    let row = |name: &str| {
        page.lines()
            .find(|line| line.starts_with(&format!("| {name} |")))
            .with_context(|| format!("{name} is not in {}: record it anew", place.display()))
    };
    let ends_right =
        |row: &str, word: &str| row.rsplit('|').nth(1).is_some_and(|cell| cell.trim().starts_with(word));
    for bug in project.corpus()? {
        let row = row(&bug.id)?;
        ensure!(ends_right(row, "caught") && !row.contains("caught by others"), "{row}");
        for turn in &bug.turns {
            ensure!(row.contains(&format!("`{}: {}`", turn.test, turn.check)), "{row}: no {}", turn.check);
        }
    }
    for (name, _) in project.harmless()? {
        ensure!(ends_right(row(&name)?, "quiet"), "{}", row(&name)?);
    }
    Ok(())
}
