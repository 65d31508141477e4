//! A claim's finding for a bug tracker, and the page of all claims that README shows.

use std::{collections::BTreeSet, fmt::Write as _};

use super::{
    find::PartFinding,
    ledger::{Finding, Ledger},
    plain::{self, conditions, measured},
};
use crate::table::cell;

/// Columns of the identities.
const WIDTH: u16 = 100;

/// One finding.
#[must_use]
pub fn render(ledger: &Ledger, finding: &Finding) -> String {
    let claim = &finding.claim;
    let mut out = String::new();
    let _ = writeln!(out, "### {}: {}\n", cell(&claim.title), finding.verdict);
    for line in claim.text.trim().lines() {
        let _ = writeln!(out, "> {}", cell(line.trim()));
    }
    let date = claim.source.date.as_ref().map_or(String::new(), |date| format!(", {date}"));
    let _ = writeln!(out, "\n({}, {}{})\n", cell(&claim.source.who), cell(&claim.source.place), cell(&date));
    for part in &finding.parts {
        part_of(&mut out, part);
    }
    let text = plain::render(ledger, finding, WIDTH).replace("```", "'''");
    let _ = writeln!(
        out,
        "<details><summary>Conditions, identities, hashes, how to repeat it</summary>\n\n```text\n{text}```\n</details>"
    );
    out
}

fn part_of(out: &mut String, part: &PartFinding) {
    let _ = writeln!(out, "**{}**: {}\n", cell(&part.about), part.verdict);
    if let Some(why) = &part.why {
        let needs = part.needs.as_ref().map_or(String::new(), |needs| format!(" It takes: {needs}."));
        let _ = writeln!(out, "{}.{}\n", cell(why), cell(&needs));
    }
    if part.rows.is_empty() {
        return;
    }
    out.push_str("| value | kernel | test | finding | claimed | measured |\n|---|---|---|---|---|---|\n");
    for row in &part.rows {
        let value = &row.value;
        let _ = writeln!(
            out,
            "| {} | {} | {} | {} | {} | {} |",
            cell(&value.name),
            cell(&value.kernel),
            cell(&value.test),
            cell(value.what.name()),
            cell(value.claimed.as_deref().unwrap_or("–")),
            cell(&row.missing.clone().unwrap_or_else(|| measured(row)))
        );
    }
    let _ = writeln!(
        out,
        "\nconfirmed if `{}`; refuted if `{}`\n",
        conditions(&part.confirmed),
        conditions(&part.refuted)
    );
}

/// The page of all claims.
#[must_use]
pub fn page(ledger: &Ledger) -> String {
    let mut out = String::from("# Claims, and what can be measured of them\n\n");
    out.push_str("Written by `cargo xtask reproduce --all --record`; do not edit. Each verdict is for its conditions only.\n\n");
    let accelerators: BTreeSet<&str> =
        ledger.findings.iter().filter_map(|it| it.accelerator.as_ref()).map(|it| it.kind.as_str()).collect();
    if let (Some(qemu), false) = (&ledger.qemu, accelerators.is_empty()) {
        let accelerators: Vec<_> = accelerators.into_iter().collect();
        let _ = writeln!(out, "QEMU {} with {}.\n", cell(&qemu.version), cell(&accelerators.join(" and ")));
    }
    out.push_str("| claim | made by | conditions | measured | verdict |\n|---|---|---|---|---|\n");
    for finding in &ledger.findings {
        let claim = &finding.claim;
        for (at, part) in finding.parts.iter().enumerate() {
            let (title, who) = if at == 0 {
                (
                    format!("{}<br>`{}`", cell(&claim.title), cell(&claim.id)),
                    format!("{}, {}", cell(&claim.source.who), cell(&claim.source.place)),
                )
            } else {
                (String::new(), String::new())
            };
            let mut values: Vec<String> = part
                .rows
                .iter()
                .map(|row| format!("{} {}", cell(&row.value.name), cell(&measured(row))))
                .collect();
            values.extend(part.why.as_ref().map(|why| cell(why)));
            values.extend(part.needs.as_ref().map(|needs| format!("it takes: {}", cell(needs))));
            let _ = writeln!(
                out,
                "| {title} | {who} | {} | {} | {} |",
                cell(&part.about),
                values.join("<br>"),
                part.verdict
            );
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claim::ledger::tests::sample;

    #[test]
    fn a_finding_for_a_bug_tracker() {
        let it = sample();
        insta::assert_snapshot!(render(&it, &it.findings[0]));
    }

    #[test]
    fn the_page_has_every_part_of_every_claim() {
        insta::assert_snapshot!(page(&sample()));
    }
}
