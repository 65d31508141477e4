//! The exit codes of a run. One place, so that scripts have one place to read.
//!
//! | code | meaning |
//! |---|---|
//! | 0 | unchanged or improved; with `--expect`, the verdict is the expected one; the shard asked for has no test |
//! | 1 | regressed or mixed; with `--expect`, the verdict is another one |
//! | 2 | what was given cannot be used: a flag, a patch, a tree, a file |
//! | 3 | inconclusive: the run cannot tell |
//! | 69 | the machinery failed: QEMU, the result stream, the build, neither kernel boots, or something is missing |
//! | 70 | the patched kernel crashed or hung where the base kernel did not |
//!
//! 69 and 70 are `EX_UNAVAILABLE` and `EX_SOFTWARE` of sysexits.h.

use crate::{
    report::{Report, Status},
    verdict::{Expectation, Verdict},
};

/// The same for people, under every command's help.
pub const SUMMARY: &str = "\
Exit codes: 0 unchanged or improved, 1 regressed or mixed, 2 what was given cannot be used,\n\
3 inconclusive, 69 the machinery failed, 70 the patched kernel failed.";

/// Unchanged or improved, or as expected.
pub const OK: u8 = 0;
/// Regressed or mixed, or not as expected.
pub const REGRESSED: u8 = 1;
/// What was given cannot be used.
pub const USAGE: u8 = 2;
/// The run cannot tell.
pub const INCONCLUSIVE: u8 = 3;
/// The machinery failed; nothing is said about the patch.
pub const MACHINERY: u8 = 69;
/// The patched kernel crashed or hung.
pub const PATCHED_KERNEL: u8 = 70;

/// The exit code of a run that left this report, under an expectation if there is one.
///
/// A shard without a test has nothing to say and nothing that is wrong, whatever was expected: a CI that splits a suite
/// over more machines than it has tests must not fail for it.
#[must_use]
pub fn of(report: &Report, expected: Option<Expectation>) -> u8 {
    if report.status == Status::Empty { OK } else { code(report.verdict, expected) }
}

/// The exit code of a run that reached `verdict`, under an expectation if there is one.
///
/// A failure of the machinery stays one whatever was expected: an assertion about a patch must not be
/// settled by a run that did not test it.
#[must_use]
pub fn code(verdict: Verdict, expected: Option<Expectation>) -> u8 {
    match (verdict, expected) {
        (Verdict::MachineryFailed, _) => MACHINERY,
        (_, Some(expected)) => {
            if expected.met_by(verdict) {
                OK
            } else {
                REGRESSED
            }
        }
        (Verdict::Unchanged | Verdict::Improved, None) => OK,
        (Verdict::Regressed | Verdict::Mixed, None) => REGRESSED,
        (Verdict::Inconclusive, None) => INCONCLUSIVE,
        (Verdict::PatchedKernelFailed, None) => PATCHED_KERNEL,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documented_codes() {
        let codes = [
            (Verdict::Unchanged, 0),
            (Verdict::Improved, 0),
            (Verdict::Regressed, 1),
            (Verdict::Mixed, 1),
            (Verdict::Inconclusive, 3),
            (Verdict::MachineryFailed, 69),
            (Verdict::PatchedKernelFailed, 70),
        ];
        for (verdict, expected) in codes {
            assert_eq!(code(verdict, None), expected, "{verdict}");
        }
    }

    #[test]
    fn an_empty_shard_fails_nothing_and_an_unfinished_run_does() {
        let suite = crate::report::SuiteRecord { name: "s".to_owned(), sha256: String::new() };
        let mut report = Report::unfinished("0", "now", suite);
        assert_eq!(of(&report, None), MACHINERY);
        report.give_up(crate::report::Unjudged::Empty, "nothing to do in shard 9/9");
        for expected in [None, "improved".parse().ok()] {
            assert_eq!(of(&report, expected), OK);
        }
    }

    #[test]
    fn an_expectation_asserts_but_never_hides_the_machinery() {
        let regressed = "regressed".parse().ok();
        assert!(regressed.is_some());
        assert_eq!(code(Verdict::Regressed, regressed), OK);
        assert_eq!(code(Verdict::Improved, regressed), REGRESSED);
        assert_eq!(code(Verdict::Inconclusive, regressed), REGRESSED);
        assert_eq!(code(Verdict::PatchedKernelFailed, regressed), REGRESSED);
        assert_eq!(code(Verdict::MachineryFailed, regressed), MACHINERY);
    }
}
