//! A list of selftests, `configs/selftests/*.toml`: which programs run and how, and which do not and why. Pure.

use std::{collections::BTreeMap, ops::Range};

use mthp_judge::file::{self, FileError};
use mthp_record::selftest::Selftest;
use serde::Deserialize;
use toml::Spanned;

/// One list, as its file declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// The first part of every test's name.
    pub group: String,
    /// The folders of `tools/testing/selftests` that hold them: the first that a tree has.
    pub folders: Vec<String>,
    /// The tests, in the order in which they run.
    pub tests: Vec<Selftest>,
    /// Programs that do not run, with the reason.
    pub skips: Vec<Skip>,
}

/// A program that does not run.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Skip {
    /// Its name.
    pub program: String,
    /// Why a small guest cannot run it.
    pub reason: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Raw {
    group: Spanned<String>,
    folders: Spanned<Vec<String>>,
    #[serde(default, rename = "test")]
    tests: Vec<Spanned<RawTest>>,
    #[serde(default, rename = "skip")]
    skips: Vec<Spanned<Skip>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawTest {
    program: String,
    variant: Option<String>,
    #[serde(default)]
    arguments: Vec<String>,
    #[serde(default)]
    needs: Vec<String>,
    #[serde(default)]
    settings: BTreeMap<String, String>,
    #[serde(default)]
    varies: Vec<String>,
}

impl Spec {
    /// Reads a list.
    ///
    /// # Errors
    /// When the text is not TOML, has a field too many or too few, or declares something that cannot be meant. The
    /// error names the line.
    pub fn parse(text: &str) -> Result<Self, FileError> {
        let raw: Raw = file::parse(text)?;
        let fault = |span: Range<usize>, message: String| FileError::at(text, &span, message);
        let group = raw.group.get_ref();
        if !is_name(group) {
            return Err(fault(raw.group.span(), format!("{group:?} is no name for a group")));
        }
        let folders = raw.folders.get_ref();
        if folders.is_empty() || !folders.iter().all(|folder| is_name(folder)) {
            return Err(fault(
                raw.folders.span(),
                "folders names folders of tools/testing/selftests".to_owned(),
            ));
        }
        if raw.tests.is_empty() {
            return Err(FileError { line: None, message: "a list without tests proves nothing".to_owned() });
        }
        let mut tests: Vec<Selftest> = Vec::new();
        for test in &raw.tests {
            let span = test.span();
            let test = selftest(group, test.get_ref()).map_err(|message| fault(span.clone(), message))?;
            if tests.iter().any(|other| other.name == test.name) {
                return Err(fault(span, format!("a second test named {}", test.name)));
            }
            tests.push(test);
        }
        let mut skips: Vec<Skip> = Vec::new();
        for skip in raw.skips {
            let span = skip.span();
            let skip = skip.into_inner();
            let twice = skips.iter().any(|other| other.program == skip.program)
                || tests.iter().any(|test| test.program == skip.program);
            if twice {
                return Err(fault(span, format!("{} is listed twice", skip.program)));
            }
            if !is_name(&skip.program) || skip.reason.trim().is_empty() {
                return Err(fault(span, "a skip names a program and the reason".to_owned()));
            }
            skips.push(skip);
        }
        Ok(Self { group: group.clone(), folders: folders.clone(), tests, skips })
    }

    /// Does it say of this program whether it runs?
    #[must_use]
    pub fn lists(&self, program: &str) -> bool {
        self.tests.iter().any(|test| test.program == program)
            || self.skips.iter().any(|skip| skip.program == program)
    }
}

fn selftest(group: &str, raw: &RawTest) -> Result<Selftest, String> {
    if !is_name(&raw.program) {
        return Err(format!("{:?} is no program's name", raw.program));
    }
    let name = match &raw.variant {
        Some(variant) if !is_name(variant) => return Err(format!("{variant:?} is no name for a variant")),
        Some(variant) => format!("{group}/{}-{variant}", raw.program),
        None => format!("{group}/{}", raw.program),
    };
    // A list could set the guest's own files on fire.
    let setting = |path: &&String| path.starts_with("/proc/sys/") || path.starts_with("/sys/");
    if let Some(path) = raw.settings.keys().find(|path| !setting(path) || path.contains("..")) {
        return Err(format!("{path}: a setting lies in /proc/sys or /sys"));
    }
    if let Some(path) = raw.needs.iter().find(|path| !path.starts_with('/')) {
        return Err(format!("{path}: a need is a file of the guest, by its whole path"));
    }
    if raw.varies.iter().any(|pattern| pattern.trim().is_empty() || pattern == "*") {
        return Err("varies names points; a program that varies as a whole is a skip".to_owned());
    }
    Ok(Selftest {
        name,
        program: raw.program.clone(),
        arguments: raw.arguments.clone(),
        needs: raw.needs.clone(),
        settings: raw.settings.clone(),
        varies: raw.varies.clone(),
    })
}

/// Is it a plain file's name?
fn is_name(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    !text.is_empty() && text.len() <= 64 && text.chars().all(plain) && !text.starts_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    const MM: &str = include_str!("../../../../configs/selftests/mm.toml");
    const SMALL: &str = "group = \"g\"\nfolders = [\"mm\"]\n\n[[test]]\nprogram = \"a\"\n";

    fn error(more: &str) -> String {
        Spec::parse(&format!("{SMALL}{more}")).unwrap_err().to_string()
    }

    #[test]
    fn the_shipped_list_parses() {
        let spec = Spec::parse(MM).unwrap();
        assert_eq!(spec.group, "kselftest-mm");
        assert!(spec.lists("mremap_test") && spec.lists("virtual_address_range"));
        assert!(spec.tests.iter().all(|test| test.name.starts_with("kselftest-mm/")));
    }

    #[test]
    fn a_problem_is_told_with_its_line() {
        assert_eq!(error("\n[[test]]\nprogram = \"a\"\n"), "line 7: a second test named g/a");
        assert_eq!(error("\n[[skip]]\nprogram = \"a\"\nreason = \"x\"\n"), "line 7: a is listed twice");
        assert_eq!(
            error("\n[[skip]]\nprogram = \"b\"\nreason = \" \"\n"),
            "line 7: a skip names a program and the reason"
        );
        assert!(error("\n[[skip]]\nprogram = \"b\"\n").contains("missing field `reason`"));
        assert!(error("deadline = 3\n").starts_with("line 6: unknown field `deadline`"));
        assert!(Spec::parse("group = \"g\"\nfolders = [\"mm\"]\n").is_err());
        assert!(
            Spec::parse("group = \"g\"\nfolders = [\"../mm\"]\n")
                .unwrap_err()
                .to_string()
                .starts_with("line 2:")
        );
    }

    #[test]
    fn what_cannot_be_meant_is_refused() {
        assert!(error("settings = { \"/etc/passwd\" = \"x\" }\n").contains("/proc/sys or /sys"));
        assert!(error("settings = { \"/sys/../init\" = \"x\" }\n").contains("/proc/sys or /sys"));
        assert!(error("needs = [\"x\"]\n").contains("whole path"));
        assert!(error("varies = [\"*\"]\n").contains("is a skip"));
        assert!(error("variant = \"a/b\"\n").contains("no name for a variant"));
        assert!(error("\n[[test]]\nprogram = \"../init\"\n").contains("no program's name"));
    }

    #[test]
    fn a_variant_is_a_test_of_its_own() {
        let spec = Spec::parse(&format!("{SMALL}\n[[test]]\nprogram = \"a\"\nvariant = \"x\"\n")).unwrap();
        assert_eq!(spec.tests[1].name, "g/a-x");
    }
}
