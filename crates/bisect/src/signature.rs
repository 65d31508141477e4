//! How a kernel failed, in a form that two revisions can share.

use std::fmt;

use mthp_judge::text;
use mthp_record::boot::{BootOutcome, BootRecord, KernelFailure, Phase};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A kernel's failure without what differs from build to build: numbers, addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Signature {
    /// What the kernel did: the console's kind of failure; `None` where it fell silent or left.
    pub failure: Option<KernelFailure>,
    /// The console's line with each run of digits as `#`; empty where the console said nothing.
    pub line: String,
    /// Where the guest was.
    pub place: Phase,
}

impl Signature {
    /// Of a boot that the kernel failed; `None` of any other.
    #[must_use]
    pub fn of(boot: &BootRecord) -> Option<Self> {
        match &boot.outcome {
            BootOutcome::KernelFailed { failure, line } => {
                Some(Self { failure: Some(*failure), line: masked(line), place: place(boot) })
            }
            BootOutcome::SilentHang { phase, .. } | BootOutcome::EndedEarly { phase } => {
                Some(Self { failure: None, line: String::new(), place: phase.clone() })
            }
            _ => None,
        }
    }

    /// The test that runs while it fails.
    #[must_use]
    pub fn test(&self) -> Option<&str> {
        match &self.place {
            Phase::Test(name) => Some(name),
            Phase::Boot | Phase::Shutdown => None,
        }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = match &self.place {
            Phase::Boot => "before the first test".to_owned(),
            Phase::Test(name) => format!("in {name}"),
            Phase::Shutdown => "after the last test".to_owned(),
        };
        match self.failure {
            Some(_) => write!(f, "\"{}\" {place}", text::clean(&self.line)),
            None => write!(f, "silence {place}"),
        }
    }
}

/// A console's line does not say which test ran: the first that was announced and has no result.
fn place(boot: &BootRecord) -> Phase {
    if boot.identity.is_none() {
        return Phase::Boot;
    }
    match boot.announced.get(boot.tests.len()) {
        Some(name) => Phase::Test(name.clone()),
        None => Phase::Shutdown,
    }
}

/// Line numbers, addresses, times and process numbers differ from revision to revision.
fn masked(line: &str) -> String {
    // The kernel's clock, in brackets before each line.
    let said =
        line.trim_start().strip_prefix('[').and_then(|rest| rest.split_once(']')).map(|(_, said)| said);
    let mut out = String::new();
    for word in said.unwrap_or(line).split_whitespace() {
        let hex = word.len() >= 8 && word.chars().all(|c| c.is_ascii_hexdigit());
        if !out.is_empty() {
            out.push(' ');
        }
        if hex {
            out.push('#');
            continue;
        }
        let mut digits = false;
        for c in word.chars() {
            if !c.is_ascii_digit() {
                out.push(c);
            } else if !digits {
                out.push('#');
            }
            digits = c.is_ascii_digit();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_build_to_build_is_masked() {
        assert_eq!(
            masked("[    1.234567] kernel BUG at mm/mremap.c:1042! ffff888003a41000 PID: 71"),
            "kernel BUG at mm/mremap.c:#! # PID: #"
        );
        assert_eq!(masked("[   12.5] BUG: a  b"), "BUG: a b");
        assert_eq!(masked(""), "");
    }
}
