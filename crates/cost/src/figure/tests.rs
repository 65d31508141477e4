use std::collections::BTreeMap;

use mthp_judge::compare::Pair;
use mthp_record::cost::Occupancy;
use proptest::prelude::*;
use quick_xml::{Reader, events::Event};

use super::*;
use crate::{
    Machine,
    sample::{self, measured, region},
};

/// All text of a picture that is well formed.
fn texts(svg: &str) -> Vec<String> {
    let forbidden = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{fffe}' | '\u{ffff}');
    assert!(!svg.contains(forbidden), "XML forbids a character of it");
    let mut reader = Reader::from_str(svg);
    let (mut texts, mut text) = (Vec::new(), String::new());
    loop {
        match reader.read_event().unwrap() {
            Event::Text(part) => text.push_str(&part.decode().unwrap()),
            Event::GeneralRef(reference) => text.push_str(&format!("&{};", reference.decode().unwrap())),
            Event::Start(_) => text.clear(),
            Event::End(_) => texts.push(std::mem::take(&mut text).trim().to_owned()),
            Event::Eof => return texts,
            _ => {}
        }
    }
}

/// 24 arrays of 4632 KiB walked side by side: each kernel's places of their first lines.
fn stencil(aligned: bool, sets: u32) -> Occupancy {
    let mut lines: BTreeMap<u32, u32> = BTreeMap::new();
    for array in 0..24u32 {
        let start = if aligned { 0 } else { array * 4632 * 16 };
        for plane in [0, 1, 128, 129, 300, 301, 302] {
            *lines.entry((start + plane) % sets).or_default() += 1;
        }
    }
    // As many as a set holds.
    lines.insert(sets - 4, 8);
    Occupancy { sets, ways: 8, accesses: 65_536, lines: lines.into_iter().collect() }
}

fn drawn(test: &str, machine: &Machine, base: &Occupancy, patched: &Occupancy) -> String {
    let kernels = Pair {
        base: Kernel { name: "6.12.117", occupancy: base },
        patched: Kernel { name: "6.12.117 with <k1>", occupancy: patched },
    };
    occupancy(test, machine, &kernels).unwrap()
}

#[test]
fn aliasing_is_seen() {
    let machine = &sample::machines()[0];
    let svg = drawn("cost/stencil-24x4632KiB", machine, &stencil(false, 1024), &stencil(true, 1024));
    let told = texts(&svg);
    let has = |text: &str| assert!(told.iter().any(|told| told == text), "{text} not in {told:#?}");
    has(
        "patched, 6.12.117 with &lt;k1&gt;: 176 lines in 8 of 1024 sets, 168 of them in 7 sets with more than 8",
    );
    has("8 ways: all");
    insta::assert_snapshot!(svg);
}

#[test]
fn misses_of_all_tests_and_machines() {
    let (base, patched) = sample::demonstration();
    let svg = misses(&sample::compared(&base, &patched), &sample::machines()).unwrap();
    let told = texts(&svg);
    assert!(told.iter().any(|text| text == "346,085 → 4,839,227"), "{told:#?}");
    assert!(told.iter().any(|text| text == "× 13.98"), "{told:#?}");
    assert!(!svg.contains("layout"), "layouts are on the page");
    insta::assert_snapshot!(svg);
}

#[test]
fn the_same_values_give_the_same_bytes() {
    let (base, patched) = sample::demonstration();
    let comparison = sample::compared(&base, &patched);
    let draw = || misses(&comparison, &sample::machines()).unwrap();
    assert_eq!(draw(), draw());
}

#[test]
fn odd_values_can_be_drawn() {
    let machine = &sample::machines()[0];
    let none = Occupancy::default();
    let huge =
        Occupancy { sets: u32::MAX, ways: u32::MAX, accesses: u32::MAX, lines: vec![(u32::MAX, u32::MAX)] };
    let odd = Occupancy { sets: 11, ways: 3, accesses: 1, lines: vec![(10, 4)] };
    for (base, patched) in [(&none, &none), (&huge, &none), (&odd, &huge)] {
        texts(&drawn("cost/a", machine, base, patched));
    }
    let empty = misses(&sample::compared(&[], &[]), &sample::machines()).unwrap();
    assert!(texts(&empty).iter().any(|text| text == "no values of both kernels"));
    let one = |n| measured(vec![region("cost/a", [(n, 0); 4])]);
    let varying = sample::compared_boots(&[one(0), one(u64::MAX)], &[one(3), one(3)]);
    texts(&misses(&varying, &sample::machines()).unwrap());
}

fn named(name: &str) -> String {
    let machine = Machine { name: name.to_owned(), title: name.to_owned(), what_if: true };
    let (base, patched) = (stencil(false, 64), stencil(true, 64));
    let kernel = |occupancy| Kernel { name, occupancy };
    occupancy(name, &machine, &Pair { base: kernel(&base), patched: kernel(&patched) }).unwrap()
}

#[test]
fn what_xml_forbids_is_replaced() {
    let told = texts(&named("a\x1b\0\u{fffe}\u{ffff}<b>&'\"]]>\n"));
    assert_eq!(told[0], "a\u{fffd}\u{fffd}\u{fffd}\u{fffd}&lt;b&gt;&amp;&apos;&quot;]]&gt;");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn no_name_breaks_a_picture(name in prop::collection::vec(any::<char>(), 0..60)) {
        texts(&named(&name.into_iter().collect::<String>()));
    }
}
