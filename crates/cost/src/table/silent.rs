//! Tests of costs of which there are no numbers, and why.

use std::fmt::Write as _;

use mthp_judge::compare::{Comparison, TestComparison, TestVerdict};

use super::{cell, code};
use mthp_record::cost::is_modelled;

use crate::summary::Row;

pub(super) fn render(comparison: &Comparison, rows: &[Row<'_>]) -> String {
    let is_silent =
        |test: &&TestComparison| is_modelled(&test.name) && !rows.iter().any(|row| row.test == test.name);
    let mut out = String::new();
    for test in comparison.tests.iter().filter(is_silent) {
        let _ = writeln!(out, "- {}: {}", code(&test.name), cell(&why(test)));
    }
    if out.is_empty() { out } else { format!("\n## Without numbers\n\n{out}") }
}

fn why(test: &TestComparison) -> String {
    match &test.verdict {
        TestVerdict::Inconclusive { reason } | TestVerdict::NotApplicable { reason } => reason.clone(),
        verdict => verdict.to_string(),
    }
}
