//! What both kernels have in the model, sorted for those who show it.

use std::collections::BTreeMap;

use mthp_judge::compare::{Comparison, Pair, TestComparison};

use crate::{
    Machine,
    measure::{Measure, MeasureName},
    number::{Range, exact},
};

/// A difference below that is not spoken of: in percent of the smaller value.
pub(crate) const NOTABLE: i64 = 5;

/// One region on one machine.
#[derive(Clone, Debug)]
pub(crate) struct Row<'a> {
    pub test: &'a str,
    pub part: Option<&'a str>,
    /// The test whose region it repeats with another physical layout, and the layout's number. A part `layout-N`
    /// repeats its own test, a test `…-layout-N` the one without the ending.
    pub layout_of: Option<(&'a str, u32)>,
    pub machine: &'a Machine,
    pub values: BTreeMap<Measure, Pair<Range>>,
}

/// Which way a value went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    More,
    Fewer,
    Alike,
    /// It varies between the boots of a kernel.
    Unclear,
}

/// Every region of every test that was compared, on each of the machines: by machine, then as the tests ran.
pub(crate) fn rows<'a>(comparison: &'a Comparison, machines: &'a [Machine]) -> Vec<Row<'a>> {
    let of =
        |machine| comparison.tests.iter().flat_map(move |test| of_test(test, machine, &comparison.tests));
    machines.iter().flat_map(of).collect()
}

fn of_test<'a>(
    test: &'a TestComparison,
    machine: &'a Machine,
    all: &'a [TestComparison],
) -> impl Iterator<Item = Row<'a>> {
    let mut parts: BTreeMap<Option<&str>, BTreeMap<Measure, Pair<Range>>> = BTreeMap::new();
    for metric in &test.metrics {
        if let Some(name) = MeasureName::parse(&metric.name).filter(|name| name.machine == machine.name) {
            let sides = metric.sides.map(|values| values.range());
            parts.entry(name.part).or_default().insert(name.measure, sides);
        }
    }
    let own = layout(&test.name).filter(|(of, _)| all.iter().any(|other| other.name == *of));
    parts.into_iter().map(move |(part, values)| {
        let layout_of = part.and_then(layout_part).map(|number| (test.name.as_str(), number)).or(own);
        Row { test: &test.name, part, layout_of, machine, values }
    })
}

/// The test that `…-layout-N` repeats, and N.
fn layout(test: &str) -> Option<(&str, u32)> {
    let (of, number) = test.rsplit_once("-layout-")?;
    Some((of, number.parse().ok()?))
}

fn layout_part(part: &str) -> Option<u32> {
    part.strip_prefix("layout-")?.parse().ok()
}

/// What is counted and drawn of a machine: the whole of each test, or its parts where there is no whole, since a
/// part's accesses are the whole's as well. No layouts.
pub(crate) fn main<'r, 'a>(rows: &'r [Row<'a>], machine: &'r Machine) -> impl Iterator<Item = &'r Row<'a>> {
    let rows = rows.iter().filter(move |row| row.machine == machine && row.layout_of.is_none());
    let all = rows.clone();
    rows.filter(move |row| {
        row.part.is_none() || !all.clone().any(|whole| whole.test == row.test && whole.part.is_none())
    })
}

impl Row<'_> {
    /// The test, and which part of it.
    pub(crate) fn region(&self) -> String {
        self.part.map_or_else(|| self.test.to_owned(), |part| format!("{}/{part}", self.test))
    }

    pub(crate) fn get(&self, measure: Measure) -> Option<&Pair<Range>> {
        self.values.get(&measure)
    }

    pub(crate) fn way(&self, measure: Measure) -> Option<Way> {
        self.get(measure).map(way)
    }
}

/// Which way the value went, if by [`NOTABLE`] percent or more.
pub(crate) fn way(sides: &Pair<Range>) -> Way {
    let (Some(base), Some(patched)) = (exact(sides.base), exact(sides.patched)) else { return Way::Unclear };
    let (low, high) = (i128::from(base.min(patched)), i128::from(base.max(patched)));
    match 100 * high >= i128::from(100 + NOTABLE) * low && low != high {
        false => Way::Alike,
        true if patched > base => Way::More,
        true => Way::Fewer,
    }
}

/// The machine that a what-if changes: the longest name that goes on behind a hyphen in its name.
pub(crate) fn changed_from<'a>(what_if: &Machine, machines: &'a [Machine]) -> Option<&'a Machine> {
    let is = |other: &&Machine| {
        let rest = what_if.name.strip_prefix(other.name.as_str());
        !other.what_if && rest.is_some_and(|rest| rest.starts_with('-'))
    };
    machines.iter().filter(is).max_by_key(|other| other.name.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample;

    #[test]
    fn rows_are_sorted_by_machine_and_parts_follow_their_test() {
        let (base, patched) = sample::demonstration();
        let (comparison, machines) = (sample::compared(&base, &patched), sample::machines());
        let rows = rows(&comparison, &machines);
        assert_eq!(rows.len(), 8 * machines.len());
        let names: Vec<_> = rows.iter().take(8).map(|row| (row.machine.name.as_str(), row.part)).collect();
        assert_eq!(names[4], ("zen3", Some("build")));
        let stencil = Some(("cost/stencil-24x4632KiB", 1));
        assert_eq!((rows[5].layout_of, rows[0].layout_of), (stencil, None));
        assert_eq!(rows[0].way(Measure::L2Misses), Some(Way::More));
        assert_eq!(rows[0].get(Measure::L3Misses).unwrap().patched, (2_419_613, 2_419_613));
    }

    #[test]
    fn a_repeat_of_no_test_is_a_test() {
        let tests = sample::measured(vec![sample::region("cost/a-layout-1", [(1, 1); 4])]);
        let (comparison, machines) = (sample::compared(&tests, &tests), sample::machines());
        assert_eq!(rows(&comparison, &machines)[0].layout_of, None);
        assert_eq!(layout("cost/a-layout-x"), None);
    }

    #[test]
    fn parts_stand_for_a_test_without_a_whole() {
        let of = |name: &str| sample::region(name, [(1, 1); 4]);
        let regions =
            vec![of("cost/a"), of("cost/a/x"), of("cost/b/x"), of("cost/b/y"), of("cost/b/layout-2")];
        let mut tests = vec![sample::test("cost/a"), sample::test("cost/b")];
        crate::attach(&sample::account(regions), sample::ASKED, &mut tests).unwrap();
        let (comparison, machines) = (sample::compared(&tests, &tests), sample::machines());
        let rows = rows(&comparison, &machines);
        let names: Vec<_> = main(&rows, &machines[0]).map(Row::region).collect();
        assert_eq!(names, ["cost/a", "cost/b/x", "cost/b/y"]);
        assert!(rows.iter().any(|row| row.layout_of == Some(("cost/b", 2))));
    }

    #[test]
    fn a_small_difference_is_none() {
        let pair = |base, patched| Pair { base: (base, base), patched: (patched, patched) };
        for (base, patched, expected) in [
            (100, 105, Way::More),
            (100, 104, Way::Alike),
            (105, 100, Way::Fewer),
            (0, 0, Way::Alike),
            (0, 1, Way::More),
            (i64::MAX, 0, Way::Fewer),
        ] {
            assert_eq!(way(&pair(base, patched)), expected, "{base} {patched}");
        }
        assert_eq!(way(&Pair { base: (1, 2), patched: (5, 5) }), Way::Unclear);
    }

    #[test]
    fn a_what_if_is_of_the_machine_that_it_is_named_after() {
        let machines = sample::machines();
        assert_eq!(changed_from(&machines[2], &machines), Some(&machines[0]));
        let other = Machine { name: "zen30-hashed".to_owned(), ..machines[2].clone() };
        assert_eq!(changed_from(&other, &machines), None);
    }
}
