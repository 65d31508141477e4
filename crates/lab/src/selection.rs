//! Which tests and which scenarios a run is made of. Pure.

use anyhow::Error;
use mthp_judge::{compare::KERNEL_TEST, suite::Suite, text};
use mthp_kernel::BadInput;
use mthp_record::{job::selects, workload::Scenario};
use mthp_workload::spec::Case;

use crate::shard::{NothingToDo, Shard};

/// What a suite and the user's patterns select.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    /// Names of the runner's tests.
    pub tests: Vec<String>,
    /// The workload's scenarios.
    cases: Vec<Case>,
    /// Names of the kernel's own selftests.
    pub selftests: Vec<String>,
    /// Did the user name them?
    named: bool,
    /// The part of them that this is, and how many all parts have together.
    shard: Option<(Shard, usize)>,
}

impl Selection {
    /// The suite's tests among those the runner knows, the workload's cases (the modelled ones where the suite names
    /// machines, else the others) and the selftests, that one of the patterns selects;
    /// all of them without a pattern.
    ///
    /// # Errors
    /// When a pattern selects nothing (the error lists what there is), nothing is left, or a scenario or a selftest has the
    /// name of a test.
    pub fn of(
        suite: &Suite,
        known: &[String],
        cases: &[Case],
        selftests: &[String],
        patterns: &[String],
    ) -> Result<Self, BadInput> {
        // The guest would run the test in its place.
        let taken = |name: &String| known.contains(name) || name == KERNEL_TEST;
        if let Some(case) = cases.iter().find(|case| taken(&case.scenario.name)) {
            return Err(BadInput(format!(
                "failed to use the workload: {} is a memory test's name; give the workload another",
                case.scenario.name
            )));
        }
        let scenario = |name: &String| cases.iter().any(|case| case.scenario.name == *name);
        if let Some(name) = selftests.iter().find(|name| taken(name) || scenario(name)) {
            return Err(BadInput(format!("failed to use the selftests: {name} is another test's name")));
        }
        // A modelled scenario is one of suites whose regions are modelled, and the only kind they have. In others it tells
        // nothing: there it must be named in full.
        let cases = cases.iter().filter(|case| {
            case.scenario.is_modelled() != suite.machines.is_empty() || patterns.contains(&case.scenario.name)
        });
        let cases: Vec<&Case> = cases.collect();
        let of_suite: Vec<&String> = known.iter().filter(|name| suite.selects(name)).collect();
        let names: Vec<&str> = cases
            .iter()
            .map(|case| case.scenario.name.as_str())
            .chain(selftests.iter().map(String::as_str))
            .chain(of_suite.iter().map(|name| name.as_str()))
            .collect();
        if let Some(pattern) =
            patterns.iter().find(|pattern| !names.iter().any(|name| selects(pattern, name)))
        {
            return Err(BadInput(format!(
                "failed to find a test for '{pattern}' in the suite {}; there are: {}",
                suite.name,
                names.join(", ")
            )));
        }
        if names.is_empty() {
            return Err(BadInput(format!("failed to find a test of the suite {} in the guest", suite.name)));
        }
        let wanted =
            |name: &str| patterns.is_empty() || patterns.iter().any(|pattern| selects(pattern, name));
        Ok(Self {
            tests: of_suite.into_iter().filter(|name| wanted(name)).cloned().collect(),
            cases: cases.into_iter().filter(|case| wanted(&case.scenario.name)).cloned().collect(),
            selftests: selftests.iter().filter(|name| wanted(name)).cloned().collect(),
            named: !patterns.is_empty(),
            shard: None,
        })
    }

    /// One part of them. Scenarios that may be left out for being slow are dealt out last, so that no part gets only such
    /// while others have two that run.
    ///
    /// # Errors
    /// When that part has none.
    pub(crate) fn shard(mut self, shard: Option<Shard>) -> Result<Self, NothingToDo> {
        let Some(shard) = shard else { return Ok(self) };
        let mut all = 0;
        let mut taken = || {
            all += 1;
            shard.takes(all - 1)
        };
        let (mut slow, mut cases): (Vec<Case>, Vec<Case>) =
            self.cases.into_iter().partition(|case| case.slow);
        cases.retain(|_| taken());
        self.selftests.retain(|_| taken());
        self.tests.retain(|_| taken());
        slow.retain(|_| taken());
        cases.append(&mut slow);
        self.cases = cases;
        self.shard = Some((shard, all));
        if self.len() == 0 {
            return Err(NothingToDo { shard, why: format!("{} in all", text::count(all, "test")) });
        }
        Ok(self)
    }

    fn len(&self) -> usize {
        self.cases.len() + self.selftests.len() + self.tests.len()
    }

    /// What a reader of the report must know of a part: that it is one.
    pub(crate) fn note(&self) -> Option<String> {
        self.shard
            .map(|(shard, all)| format!("shard {shard}: {} of {}", self.len(), text::count(all, "test")))
    }

    /// The end of a run of which nothing is left but scenarios too slow for emulation: in a shard there is nothing to do,
    /// otherwise the user must name one.
    pub(crate) fn only_slow(&self, left_out: &[String]) -> Error {
        let names = left_out.join(", ");
        match self.shard {
            Some((shard, _)) => {
                NothingToDo { shard, why: format!("left out, since emulation is slow: {names}") }.into()
            }
            None => BadInput(format!(
                "failed to find a scenario that is not slow, for emulation; name one with --test: {names}"
            ))
            .into(),
        }
    }

    /// Is a scenario among them?
    #[must_use]
    pub fn has_scenarios(&self) -> bool {
        !self.cases.is_empty()
    }

    /// The scenarios to run, and the names of those left out because emulation is too slow for them and the user
    /// did not name them.
    #[must_use]
    pub fn scenarios(&self, emulated: bool) -> (Vec<Scenario>, Vec<String>) {
        let (out, run): (Vec<&Case>, Vec<&Case>) =
            self.cases.iter().partition(|case| case.slow && emulated && !self.named);
        (
            run.into_iter().map(|case| case.scenario.clone()).collect(),
            out.into_iter().map(|case| case.scenario.name.clone()).collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use mthp_workload::Spec;

    use super::*;

    const SUITE: &str = include_str!("../../../configs/suites/all.toml");
    const WORKLOAD: &str = include_str!("../../../configs/workloads/yolov5.toml");

    fn select(patterns: &[&str]) -> Result<Selection, BadInput> {
        let suite = Suite::parse(SUITE).unwrap();
        let cases = Spec::parse(WORKLOAD, Path::new("")).unwrap().cases;
        let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
        Selection::of(
            &suite,
            &["placement/2MiB".to_owned()],
            &cases,
            &["kselftest-mm/mkdirty".to_owned()],
            &patterns,
        )
    }

    fn names(scenarios: &[Scenario]) -> Vec<&str> {
        scenarios.iter().map(|scenario| scenario.name.as_str()).collect()
    }

    #[test]
    fn what_is_slow_is_left_out_under_emulation_unless_it_is_named() {
        let all = select(&[]).unwrap();
        let (run, out) = all.scenarios(true);
        assert!(names(&run).contains(&"yolov5/160") && !names(&run).contains(&"yolov5/640"));
        assert!(out.contains(&"yolov5/640".to_owned()));
        assert_eq!(all.scenarios(false).1, [""; 0]);
        let named = select(&["yolov5/640"]).unwrap();
        assert_eq!(names(&named.scenarios(true).0), ["yolov5/640"]);
        assert_eq!(named.tests, [""; 0]);
    }

    #[test]
    fn a_modelled_scenario_is_one_of_suites_with_machines_or_is_named_in_full() {
        let modelled = "yolov5/160-modelled";
        let with = |machines: &[&str], patterns: &[&str]| {
            let machines = machines.iter().map(|&name| name.to_owned()).collect();
            let suite = Suite { machines, ..Suite::parse(SUITE).unwrap() };
            let cases = Spec::parse(WORKLOAD, Path::new("")).unwrap().cases;
            let patterns: Vec<String> = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
            let selection = Selection::of(&suite, &["placement/2MiB".to_owned()], &cases, &[], &patterns)?;
            let names = selection.scenarios(true).0.into_iter().map(|scenario| scenario.name);
            Ok::<Vec<String>, BadInput>(names.collect())
        };
        assert_eq!(with(&["zen3"], &[]).unwrap(), [modelled]);
        let all = with(&["zen3"], &["yolov5/*"]).unwrap();
        assert!(all.len() > 1 && all.iter().all(|name| name.ends_with("-modelled")), "{all:?}");
        for patterns in [[].as_slice(), &["yolov5/*"], &["yolov5/160-mod*", "yolov5/160"]] {
            assert!(
                !with(&[], patterns).is_ok_and(|names| names.contains(&modelled.to_owned())),
                "{patterns:?}"
            );
        }
        assert_eq!(with(&[], &[modelled]).unwrap(), [modelled]);
        assert_eq!(with(&["zen3"], &["yolov5/320"]).unwrap(), ["yolov5/320"], "so it is for the others");
    }

    #[test]
    fn a_scenario_does_not_hide_behind_a_tests_name() {
        let suite = Suite::parse(SUITE).unwrap();
        let cases = Spec::parse(WORKLOAD, Path::new("")).unwrap().cases;
        let error = Selection::of(&suite, &["yolov5/160".to_owned()], &cases, &[], &[]).unwrap_err();
        assert!(error.0.contains("yolov5/160 is a memory test's name"), "{}", error.0);
    }

    #[test]
    fn patterns_reach_selftests_and_no_two_tests_share_a_name() {
        let found = select(&["kselftest-mm/*"]).unwrap();
        assert_eq!(found.selftests, ["kselftest-mm/mkdirty"]);
        assert!(found.tests.is_empty() && !found.has_scenarios());
        assert!(select(&["placement/*"]).unwrap().selftests.is_empty());
        let suite = Suite::parse(SUITE).unwrap();
        let name = ["placement/2MiB".to_owned()];
        let error = Selection::of(&suite, &name, &[], &name, &[]).unwrap_err();
        assert!(error.0.contains("placement/2MiB is another test's name"), "{}", error.0);
    }

    #[test]
    fn patterns_reach_tests_and_scenarios_and_an_idle_one_is_refused() {
        let both = select(&["placement/*", "yolov5/160"]).unwrap();
        assert_eq!((both.tests.len(), both.scenarios(true).0.len()), (1, 1));
        let error = select(&["yolov5/161"]).unwrap_err();
        assert!(error.0.contains("yolov5/161") && error.0.contains("placement/2MiB"), "{}", error.0);
    }

    /// All names of a selection, in the order in which they are dealt out.
    fn all(selection: &Selection) -> Vec<String> {
        let cases = selection.cases.iter().map(|case| case.scenario.name.clone());
        cases.chain(selection.selftests.clone()).chain(selection.tests.clone()).collect()
    }

    #[test]
    fn every_test_is_in_exactly_one_shard() {
        let whole = all(&select(&[]).unwrap());
        for of in 1..=whole.len() + 3 {
            let parts = Shard::all(u32::try_from(of).unwrap()).map(|it| select(&[]).unwrap().shard(Some(it)));
            let (parts, empty): (Vec<_>, Vec<_>) = parts.partition(Result::is_ok);
            assert_eq!(empty.len(), of.saturating_sub(whole.len()));
            let mut found: Vec<String> = parts.into_iter().flat_map(|part| all(&part.unwrap())).collect();
            found.sort();
            let mut expected = whole.clone();
            expected.sort();
            assert_eq!(found, expected, "{of} shards");
        }
    }

    #[test]
    fn a_shard_says_that_it_is_one_and_an_empty_one_that_there_is_nothing_to_do() {
        let whole = select(&["placement/2MiB", "yolov5/160"]).unwrap();
        let part = whole.clone().shard("1/2".parse().ok()).unwrap();
        assert_eq!(part.note().unwrap(), "shard 1/2: 1 of 2 tests");
        assert_eq!(whole.clone().shard(None).unwrap().note(), None);
        let empty = whole.shard("3/3".parse().ok()).unwrap_err();
        assert_eq!(empty.to_string(), "nothing to do in shard 3/3: 2 tests in all");
    }

    #[test]
    fn slow_scenarios_alone_are_nothing_to_do_in_a_shard_and_a_mistake_without() {
        let left_out = ["yolov5/640".to_owned()];
        let whole = select(&["yolov5/*"]).unwrap();
        assert!(whole.only_slow(&left_out).is::<BadInput>());
        let part = whole.shard("2/2".parse().ok()).unwrap();
        let error = part.only_slow(&left_out);
        assert!(error.is::<NothingToDo>() && error.to_string().contains("yolov5/640"), "{error}");
    }
}
