use mthp_record::result::Outcome;
use proptest::prelude::*;

use super::*;
use crate::sample::{self, measured, metric, region};

#[test]
fn the_page_answers_first() {
    let (mut base, mut patched) = sample::demonstration();
    for (tests, cycles) in [(&mut base, 100), (&mut patched, 130)] {
        tests[0].metrics.push(metric("pmu.cycles", cycles));
        tests[0].metrics.push(metric("pmu.llc-misses", 7));
        let mut crashed = sample::test("cost/malloc1");
        crashed.outcome = Outcome::NotApplicable { reason: "no memory | at <all>".to_owned() };
        tests.push(crashed);
    }
    insta::assert_snapshot!(render(&sample::compared(&base, &patched), &sample::machines()));
}

#[test]
fn where_nothing_differs_there_is_nothing_to_lose() {
    let (base, _) = sample::demonstration();
    insta::assert_snapshot!(render(&sample::compared(&base[..2], &base[..2]), &sample::machines()));
}

#[test]
fn layouts_may_be_parts_of_a_test() {
    let tests = |misses: [u64; 3]| {
        let regions = (0u64..)
            .zip(misses)
            .map(|(n, misses)| region(&format!("cost/layouts-a/layout-{n}"), [(misses, 1); 4]));
        let mut tests = vec![sample::test("cost/layouts-a")];
        crate::attach(&sample::account(regions.collect()), sample::ASKED, &mut tests).unwrap();
        tests
    };
    let page =
        render(&sample::compared(&tests([10, 12, 11]), &tests([20, 12, 33])), &sample::machines()[..1]);
    assert!(
        page.contains("| `cost/layouts-a` | zen3 | 10 → 20 | 1–2 | 11–12 | 12–33 | 1.00–3.00 | overlap |"),
        "{page}"
    );
    assert!(!page.contains("Without numbers"), "{page}");
}

#[test]
fn what_varies_between_boots_has_no_factor() {
    let one = |n| measured(vec![region("cost/a", [(n, 1); 4])]);
    let comparison = sample::compared_boots(&[one(1), one(3)], &[one(10), one(10)]);
    let page = render(&comparison, &sample::machines()[..1]);
    assert!(page.contains("| `cost/a` | 1–3 → 10 | varies | 1 | same |"), "{page}");
    assert!(page.contains("L2 misses varying between boots in 1; page walks alike in 1;"), "{page}");
    assert!(!page.contains("Largest"), "{page}");
}

#[test]
fn a_run_without_numbers_says_so() {
    let nothing = sample::compared(&[], &[]);
    let page = render(&nothing, &sample::machines());
    assert!(
        page.starts_with("# What the patch costs in the cost model\n\nThe model has no numbers"),
        "{page}"
    );
    let mut tests = vec![sample::test("cost/a")];
    crate::attach(&sample::account(Vec::new()), sample::ASKED, &mut tests).unwrap();
    let page = render(&sample::compared(&tests, &tests), &sample::machines());
    assert!(
        page.contains("## Without numbers\n\n- `cost/a`: both kernels: could not do its work (the emulator"),
        "{page}"
    );
}

proptest! {
    #[test]
    fn a_name_ends_neither_its_cell_nor_its_row(name in "\\PC{0,30}") {
        let there = cell(&name);
        prop_assert!(!there.contains('\n') && !there.contains('<'));
        prop_assert_eq!(there.replace("\\\\", "").replace("\\|", "").matches('|').count(), 0);
        let code = code(&name);
        prop_assert_eq!(code.matches('`').count(), 2);
        prop_assert_eq!(code.replace("\\|", "").matches('|').count(), 0);
    }
}
