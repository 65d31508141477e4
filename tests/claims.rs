//! Claims whose verdicts are known beforehand, as a user measures them; and the shipped files of all of them.

use std::fs;

use anyhow::{Context, Result, ensure};
use kernel_tests::shared;
use libtest_mimic::{Arguments, Failed, Trial};
use mthp_lab::reproduce;
use mthp_ledger::claim::{
    ledger::Ledger,
    measured::Verdict::{self, Confirmed, Refuted},
    plain::{self, MAIL},
};
use mthp_vm::accel::AccelChoice;

/// What each claim must come to, part by part.
const KNOWN: &[(&str, Expected)] = &[
    // Maps below 2 MiB lie alike by every rule.
    ("maps-under-2mib-fragmented", Expected::Every(Refuted)),
    // By the rule of 6.8 to 6.11 all lengths of 2 MiB and more were aligned.
    ("maps-of-2mib-are-aligned", Expected::Every(Confirmed)),
    // Shared memory has a placement function of its own.
    ("shared-maps-affected", Expected::Every(Refuted)),
    // More when touched once all maps exist, fewer when each is touched at once.
    ("page-faults-went-up", Expected::Parts(&[Confirmed, Refuted])),
];

#[derive(Clone, Copy)]
enum Expected {
    Every(Verdict),
    Parts(&'static [Verdict]),
}

fn main() {
    let arguments = Arguments::from_args();
    let trials = vec![
        Trial::test("known-claims-come-out-as-they-must", || known().map_err(failed)),
        Trial::test("every-shipped-claim-fits-a-mail", || mails().map_err(failed)),
        Trial::test("every-shipped-claim-is-in-the-ledger", || recorded().map_err(failed)),
    ];
    libtest_mimic::run(&arguments, trials).exit();
}

#[expect(clippy::needless_pass_by_value, reason = "as map_err gives it")]
fn failed(error: anyhow::Error) -> Failed {
    Failed::from(format!("{error:#}"))
}

fn known() -> Result<()> {
    let lab = shared::lab()?;
    let folder = tempfile::tempdir()?;
    let request = reproduce::Request {
        only: KNOWN.iter().map(|(claim, _)| (*claim).to_owned()).collect(),
        boots: None,
        accel: AccelChoice::Tcg,
        folder: Some(folder.path().to_owned()),
    };
    let ledger = reproduce::run(lab, &request, &|_| {})?.ledger;
    for (claim, expected) in KNOWN {
        let finding = ledger
            .findings
            .iter()
            .find(|finding| finding.claim.id == *claim)
            .with_context(|| format!("nothing was found of {claim}"))?;
        let verdicts: Vec<Verdict> = finding.parts.iter().map(|part| part.verdict).collect();
        let right = match expected {
            Expected::Every(verdict) => !verdicts.is_empty() && verdicts.iter().all(|it| it == verdict),
            Expected::Parts(parts) => verdicts == *parts,
        };
        ensure!(right, "{claim}: {verdicts:?}\n{}", plain::render(&ledger, finding, MAIL));
        let mail = plain::render(&ledger, finding, MAIL);
        let wide = mail.lines().find(|line| line.chars().count() > usize::from(MAIL));
        ensure!(wide.is_none(), "{claim}: wider than a mail: {wide:?}");
    }
    Ok(())
}

/// A long word in a claim's file would break the width of every reply made of it.
fn mails() -> Result<()> {
    for (claim, _) in reproduce::claims(shared::lab()?.project(), &[])? {
        let finding = reproduce::unmeasured(claim);
        let mail = plain::render(&Ledger::unfinished("0", "now"), &finding, MAIL);
        let wide = mail.lines().find(|line| line.chars().count() > usize::from(MAIL));
        ensure!(wide.is_none(), "{}: wider than a mail: {wide:?}", finding.claim.id);
    }
    Ok(())
}

/// A claim whose parts or words were changed after the last record has no verdict there.
fn recorded() -> Result<()> {
    let project = shared::lab()?.project();
    let path = project.ledger();
    let page = fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
    for (claim, _) in reproduce::claims(project, &[])? {
        let words = [&claim.title, &claim.id].into_iter().chain(claim.parts.iter().map(|part| &part.about));
        for word in words {
            ensure!(
                page.contains(word.as_str()),
                "{}: {} does not say {word:?}; cargo xtask reproduce --all --record writes it",
                claim.id,
                path.display()
            );
        }
    }
    Ok(())
}
