use proptest::prelude::*;
use quick_xml::{Reader, XmlVersion, events::Event};

use super::*;
use crate::{cases::tests as samples, sample};

#[test]
fn a_regression() {
    let report = sample::report(&sample::swapped(sample::demonstration()), &sample::gates());
    insta::assert_snapshot!("regressed", render(&report).unwrap());
}

#[test]
fn every_ending() {
    insta::assert_snapshot!("every-ending", render(&samples::every_ending()).unwrap());
}

#[test]
fn a_patched_kernel_that_panics() {
    insta::assert_snapshot!("panic", render(&samples::a_panic()).unwrap());
}

#[test]
fn an_unfinished_run() {
    insta::assert_snapshot!("unfinished", render(&samples::unfinished()).unwrap());
}

#[test]
fn an_empty_shard() {
    insta::assert_snapshot!("empty", render(&samples::empty()).unwrap());
}

/// How many elements of each name there are, and the names of all test cases. Fails where the text is not XML 1.0.
fn read(xml: &str) -> (Vec<(String, usize)>, Vec<String>) {
    let allowed = |c: char| matches!(c, '\t' | '\n' | '\r' | ' '..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..);
    assert!(xml.chars().all(allowed), "{xml:?}");
    let mut reader = Reader::from_str(xml);
    let (mut counts, mut names) = (Vec::<(String, usize)>::new(), Vec::new());
    let mut depth = 0_usize;
    loop {
        let event = reader.read_event().unwrap();
        match &event {
            Event::Start(element) | Event::Empty(element) => {
                depth += usize::from(matches!(event, Event::Start(_)));
                let name = String::from_utf8(element.name().as_ref().to_vec()).unwrap();
                for attribute in element.attributes() {
                    let attribute = attribute.unwrap();
                    let value = attribute.normalized_value(XmlVersion::Implicit1_0).unwrap().into_owned();
                    if name == "testcase" && attribute.key.as_ref() == b"name" {
                        names.push(value);
                    }
                }
                match counts.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, count)) => *count += 1,
                    None => counts.push((name, 1)),
                }
            }
            Event::End(_) => depth -= 1,
            Event::Text(text) => {
                text.decode().unwrap();
            }
            Event::Eof => break,
            _ => {}
        }
    }
    assert_eq!(depth, 0, "an element is not closed");
    (counts, names)
}

proptest! {
    #[test]
    fn whatever_a_guest_says_it_is_xml_and_nothing_is_lost(report in samples::reports()) {
        let (counts, names) = read(&render(&report).unwrap());
        let cases: Vec<Case> = cases::of(&report).into_iter().flat_map(|group| group.cases).collect();
        let expected: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        prop_assert_eq!(names, expected);
        let endings = |of: fn(&Ending) -> bool| cases.iter().filter(|case| of(&case.ending)).count();
        let count = |name| counts.iter().find(|(known, _)| known == name).map_or(0, |(_, count)| *count);
        prop_assert_eq!(count("failure"), endings(|it| matches!(it, Ending::Failed(_))));
        prop_assert_eq!(count("error"), endings(|it| matches!(it, Ending::Undecided(_))));
        prop_assert_eq!(count("skipped"), endings(|it| matches!(it, Ending::Skipped(_))));
    }
}
