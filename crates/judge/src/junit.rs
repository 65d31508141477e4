//! A report as JUnit's XML, for the CI systems that read it. [`crate::cases`] says what becomes what.

use quick_junit::{NonSuccessKind, SerializeError, TestCase, TestCaseStatus, TestSuite};

use crate::{
    cases::{self, Case, Ending, Group, line},
    report::Report,
};

/// The file in the report's folder.
pub const FILE: &str = "junit.xml";

/// Renders a report: a `testsuite` for the verdict and one for each test, in it a `testcase` for each check and each
/// gated metric.
///
/// # Errors
/// When the writer of XML fails; nothing in a report makes it do so.
pub fn render(report: &Report) -> Result<String, SerializeError> {
    let mut xml = quick_junit::Report::new(format!("mthp-regress {}", line(&report.suite.name)));
    let mut suites: Vec<TestSuite> = cases::of(report).into_iter().map(suite).collect();
    if let Some(verdict) = suites.first_mut() {
        let properties = [
            ("verdict", report.verdict.to_string()),
            ("created", line(&report.created)),
            ("tool-version", line(&report.tool_version)),
        ];
        for (name, value) in properties {
            verdict.add_property((name, value.as_str()));
        }
    }
    xml.add_test_suites(suites);
    xml.to_string()
}

fn suite(group: Group) -> TestSuite {
    let mut suite = TestSuite::new(group.name.as_str());
    suite.add_test_cases(group.cases.into_iter().map(|case| test_case(&group.name, case)));
    suite
}

fn test_case(group: &str, Case { name, ending, details }: Case) -> TestCase {
    let details = details.join("\n");
    let (mut status, why) = match ending {
        Ending::Passed => {
            let mut case = TestCase::new(name, TestCaseStatus::success());
            case.set_classname(group);
            if !details.is_empty() {
                case.set_system_out(details);
            }
            return case;
        }
        Ending::Failed(why) => (TestCaseStatus::non_success(NonSuccessKind::Failure), why),
        Ending::Undecided(why) => (TestCaseStatus::non_success(NonSuccessKind::Error), why),
        Ending::Skipped(why) => (TestCaseStatus::skipped(), why),
    };
    status.set_message(why).set_description(details);
    let mut case = TestCase::new(name, status);
    case.set_classname(group);
    case
}

#[cfg(test)]
mod tests;
