use mthp_judge::compare::TestVerdict;
use mthp_record::{cost::Counts, result::Outcome};

use super::*;
use crate::sample::{self, account, region, test};

const SAME: [(u64, u64); 4] = [(50, 5); 4];

fn attached(regions: Vec<RegionAccount>, names: &[&str]) -> Vec<TestResult> {
    let mut tests: Vec<_> = names.iter().map(|name| test(name)).collect();
    attach(&account(regions), sample::ASKED, &mut tests).unwrap();
    tests
}

fn fault(account: &Account, mut tests: Vec<TestResult>) -> Fault {
    let before = tests.clone();
    let fault = attach(account, sample::ASKED, &mut tests).unwrap_err();
    assert_eq!(tests, before, "a fault changes nothing");
    fault
}

fn value(test: &TestResult, name: &str) -> Option<i64> {
    test.metrics.iter().find(|metric| metric.name == name).map(|metric| metric.value)
}

#[test]
fn a_region_gives_its_test_every_measure_of_every_machine() {
    let tests = attached(vec![region("cost/a", [(7, 1), (8, 2), (9, 3), (10, 4)])], &["cost/a"]);
    let names: Vec<&str> = tests[0].metrics.iter().map(|metric| metric.name.as_str()).collect();
    assert_eq!(
        names[..10],
        [
            "loads",
            "stores",
            "crossings",
            "l1.misses[zen3]",
            "l2.misses[zen3]",
            "l3.misses[zen3]",
            "dtlb.misses[zen3]",
            "walks[zen3]",
            "walk-refs[zen3]",
            "model-cycles[zen3]"
        ]
    );
    assert_eq!(value(&tests[0], "l2.misses[zen3-hashed]"), Some(9));
    assert_eq!(value(&tests[0], "walks[zen3-l2-32way]"), Some(4));
    assert_eq!(value(&tests[0], "walk-refs[small]"), Some(4));
    assert_eq!(value(&tests[0], "l3.misses[small]"), None, "it has no third level");
}

#[test]
fn a_part_has_its_name_before_its_measures() {
    let tests = attached(vec![region("cost/a", SAME), region("cost/a/build/one", SAME)], &["cost/a"]);
    assert_eq!(value(&tests[0], "build/one.l2.misses[zen3]"), Some(50));
    assert_eq!(value(&tests[0], "build/one.loads"), value(&tests[0], "loads"));
}

#[test]
fn the_longest_name_owns_a_region_and_only_at_a_slash() {
    let regions = vec![region("cost/a/b/c", SAME), region("cost/ab", SAME), region("cost/a", SAME)];
    let tests = attached(regions, &["cost/a", "cost/a/b", "cost/ab"]);
    assert_eq!(value(&tests[0], "b/c.walks[zen3]"), None);
    assert_eq!(value(&tests[1], "c.walks[zen3]"), Some(5));
    assert_eq!(value(&tests[2], "walks[zen3]"), Some(5));
    let stray = fault(&account(vec![region("cost/ab", SAME)]), vec![test("cost/a"), test("cost/abc")]);
    assert_eq!(stray, Fault::NoTest { region: "cost/ab".to_owned() });
    let nothing = fault(&account(vec![region("cost/a/", SAME)]), vec![test("cost/a")]);
    assert_eq!(nothing, Fault::NoTest { region: "cost/a/".to_owned() });
}

#[test]
fn a_test_that_did_not_complete_gets_nothing() {
    let crashed = TestResult { outcome: Outcome::Crashed { how: "11".to_owned() }, ..test("cost/a") };
    let mut tests = vec![crashed.clone()];
    attach(&account(vec![region("cost/a", SAME)]), sample::ASKED, &mut tests).unwrap();
    assert_eq!(tests[0], crashed);
    attach(&account(Vec::new()), sample::ASKED, &mut tests).unwrap();
    assert_eq!(tests[0], crashed);
}

/// Why the test's numbers do not count.
fn why(test: &TestResult) -> &str {
    assert!(test.checks.is_empty() && test.metrics.is_empty() && test.agreements.is_empty(), "{test:?}");
    let Outcome::Error { message } = &test.outcome else { panic!("{:?}", test.outcome) };
    message
}

#[test]
fn of_a_test_of_costs_without_a_region_nothing_is_said() {
    let tests = attached(vec![region("placement/one", SAME)], &["cost/a", "placement/one", "placement/two"]);
    assert_eq!(why(&tests[0]), "the emulator's account has no region of the test's");
    assert!(!tests[1].metrics.is_empty());
    assert_eq!(tests[2], test("placement/two"), "other tests need none");
}

#[test]
fn an_account_that_only_one_kernel_has_is_no_difference() {
    let names = ["cost/a"];
    let good = attached(vec![region("cost/a", SAME)], &names);
    let mut bad = vec![test("cost/a")];
    bad[0].checks.push(sample::check("answer-is-right", false));
    refuse("the emulator left no account", &mut bad);
    assert_eq!(why(&bad[0]), "the emulator left no account");
    for (base, patched) in [(&good, &bad), (&bad, &good), (&bad, &bad)] {
        let verdict = &sample::compared(base, patched).tests[0].verdict;
        let TestVerdict::Inconclusive { reason } = verdict else { panic!("{verdict:?}") };
        assert!(reason.contains("left no account"), "{reason}");
    }
    let verdict = &sample::compared_boots(&[good.clone(), bad], &[good.clone(), good]).tests[0].verdict;
    assert!(matches!(verdict, TestVerdict::Inconclusive { .. }), "{verdict:?}");
}

#[test]
fn a_region_without_an_access_says_nothing_either() {
    let empty = RegionAccount { loads: 0, stores: 0, ..region("cost/a/part", SAME) };
    let tests = attached(vec![region("cost/a", SAME), empty], &["cost/a"]);
    assert_eq!(why(&tests[0]), "the emulator's account has no access in the region cost/a/part");
    let stores = RegionAccount { loads: 0, ..region("cost/a", SAME) };
    assert!(!attached(vec![stores], &["cost/a"])[0].metrics.is_empty());
}

#[test]
fn a_test_s_regions_are_those_that_it_names_with_what_it_asks_for_at_least() {
    let of = |regions: Vec<RegionAccount>, asked: &[(&str, i64)]| {
        let mut tests = vec![test("cost/a")];
        tests[0].metrics.extend(asked.iter().map(|(name, value)| sample::metric(name, *value)));
        attach(&account(regions), sample::ASKED, &mut tests).unwrap();
        tests.remove(0)
    };
    let (whole, hot) = (region("cost/a", SAME), region("cost/a/hot", SAME));
    let (loads, stores) = (i64::try_from(whole.loads).unwrap(), i64::try_from(whole.stores).unwrap());
    let both = [("loads-asked", loads), ("stores-asked", stores), ("hot.loads-asked", loads - 1)];
    let good = of(vec![whole.clone(), hot.clone()], &both);
    assert!(good.outcome.is_completed() && value(&good, "hot.l2.misses[zen3]") == Some(50));

    let lacks = of(vec![whole.clone()], &both);
    assert_eq!(why(&lacks), "the emulator's account lacks the region cost/a/hot");
    let stranger = of(vec![whole.clone(), hot], &both[..2]);
    assert!(why(&stranger).ends_with("has the region cost/a/hot, of which the test says nothing"));
    let few = of(vec![whole.clone()], &[("loads-asked", loads + 1)]);
    assert_eq!(why(&few), "cost/a has loads-asked 8294401, and the emulator's account 8294400");
    let few = of(vec![whole.clone()], &[("loads-asked", 1), ("stores-asked", stores + 1)]);
    assert!(why(&few).contains("stores-asked 345601"));
    let absurd = of(vec![whole], &[("loads-asked", -1)]);
    assert!(why(&absurd).contains("loads-asked"));
}

#[test]
fn what_is_wrong_with_an_account_is_said() {
    let tests = || vec![test("cost/a")];
    let good = account(vec![region("cost/a", SAME)]);
    let faults = vec!["the region cost/a never ended".to_owned(), "a name is none".to_owned()];
    let marks = fault(&Account { faults, ..good.clone() }, tests());
    assert_eq!(
        marks.to_string(),
        "failed to use the account of the cost model: the region cost/a never ended; a name is none"
    );
    let twice = account(vec![region("cost/a", SAME), region("cost/a", SAME)]);
    assert_eq!(fault(&twice, tests()), Fault::Twice { region: "cost/a".to_owned() });

    let other =
        |machine: &str| Fault::OtherMachines { region: "cost/a".to_owned(), machine: machine.to_owned() };
    let mut missing = good.clone();
    missing.regions[0].machines.remove("small");
    assert_eq!(fault(&missing, tests()), other("small"));
    let mut many = good.clone();
    many.regions[0].machines.insert("z80".to_owned(), Counts::default());
    assert_eq!(fault(&many, tests()), other("z80"));
    many.machines.push("z80".to_owned());
    let machines = many.machines.clone();
    assert_eq!(fault(&many, tests()), Fault::NotAsked { machines });
    let old = Account { nonce: sample::NONCE + 1, ..good };
    assert_eq!(fault(&old, tests()), Fault::OtherBoot);
}

#[test]
fn a_guest_cannot_say_what_only_the_account_may() {
    let good = account(vec![region("cost/a", SAME)]);
    let mut forged = test("cost/a");
    forged.metrics.push(sample::metric("l2.misses[zen3]", 0));
    let taken = |name: &str| Fault::Taken { test: "cost/a".to_owned(), name: name.to_owned() };
    assert_eq!(fault(&good, vec![forged]), taken("l2.misses[zen3]"));
}
