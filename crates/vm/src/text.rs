//! Makes a guest's text fit to show: no control characters, no escape sequences, no invisible ones.

use std::collections::BTreeMap;

use mthp_record::{
    message::{GuestIdentity, Message, Snapshot},
    result::{Agreement, Check, Metric, Outcome, TestResult},
};

/// One line of a guest's text without anything a terminal would obey: escape sequences and control
/// characters go, line ends and tabs become blanks.
#[must_use]
pub fn printable(text: &str) -> String {
    clean(text, false)
}

/// As [`printable`], for text of several lines: line ends and tabs stay.
#[must_use]
pub fn printable_text(text: &str) -> String {
    clean(text, true)
}

fn clean(text: &str, lines: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.peek() {
                Some('[') => {
                    chars.next();
                    skip_csi(&mut chars);
                }
                // A string sequence (OSC, DCS, SOS, PM, APC) ends with BEL or ESC \.
                Some(']' | 'P' | 'X' | '^' | '_') => {
                    chars.next();
                    skip_string(&mut chars);
                }
                Some(' '..='~') => {
                    chars.next();
                }
                _ => {}
            },
            '\u{9b}' => skip_csi(&mut chars),
            '\n' | '\t' if lines => out.push(c),
            '\n' | '\t' => out.push(' '),
            c if c.is_control() || is_invisible(c) => {}
            c => out.push(c),
        }
    }
    out
}

type Chars<'a> = std::iter::Peekable<std::str::Chars<'a>>;

fn skip_csi(chars: &mut Chars<'_>) {
    while chars.next_if(|c| matches!(c, ' '..='?')).is_some() {}
    chars.next_if(|c| matches!(c, '@'..='~'));
}

/// A string that never ends is not believed: it must not swallow the lines that follow it.
fn skip_string(chars: &mut Chars<'_>) {
    while let Some(c) = chars.next_if(|c| *c != '\n') {
        match c {
            '\u{7}' | '\u{9c}' => return,
            '\u{1b}' => {
                chars.next_if_eq(&'\\');
                return;
            }
            _ => {}
        }
    }
}

/// Characters that change how others are shown: zero width, direction marks and overrides, line separators.
fn is_invisible(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// A test's result with every string made printable.
#[must_use]
pub fn sanitize(result: TestResult) -> TestResult {
    TestResult {
        name: printable(&result.name),
        outcome: match result.outcome {
            Outcome::Completed => Outcome::Completed,
            Outcome::NotApplicable { reason } => Outcome::NotApplicable { reason: printable(&reason) },
            Outcome::Crashed { how } => Outcome::Crashed { how: printable(&how) },
            Outcome::TimedOut { after_secs } => Outcome::TimedOut { after_secs },
            Outcome::Error { message } => Outcome::Error { message: printable(&message) },
        },
        checks: result
            .checks
            .into_iter()
            .map(|check| Check {
                name: printable(&check.name),
                promise: printable(&check.promise),
                passed: check.passed,
                observed: printable(&check.observed),
                expected: printable(&check.expected),
            })
            .collect(),
        metrics: result
            .metrics
            .into_iter()
            .map(|metric| Metric { name: printable(&metric.name), ..metric })
            .collect(),
        agreements: result
            .agreements
            .into_iter()
            .map(|agreement| Agreement {
                name: printable(&agreement.name),
                promise: printable(&agreement.promise),
                value: printable(&agreement.value),
            })
            .collect(),
        evidence: texts(result.evidence),
    }
}

/// A whole message with every string made printable.
#[must_use]
pub fn sanitize_message(message: Message) -> Message {
    match message {
        Message::Hello { nonce, tests, identity, before } => Message::Hello {
            nonce,
            tests: tests.iter().map(|name| printable(name)).collect(),
            identity: GuestIdentity {
                version: printable(&identity.version),
                cmdline: printable(&identity.cmdline),
                thp_enabled: identity.thp_enabled.as_deref().map(printable),
                ..identity
            },
            before: Snapshot(texts(before.0)),
        },
        Message::Started { name } => Message::Started { name: printable(&name) },
        Message::Test { result } => Message::Test { result: sanitize(result) },
        Message::Bye { tests, tainted, after } => {
            Message::Bye { tests, tainted, after: Snapshot(texts(after.0)) }
        }
    }
}

fn texts(map: BTreeMap<String, String>) -> BTreeMap<String, String> {
    map.into_iter().map(|(name, text)| (printable(&name), printable_text(&text))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_go_and_the_text_stays() {
        assert_eq!(printable("\x1b[31;1mred\x1b[0m"), "red");
        assert_eq!(printable("\x1b]0;title\x07after"), "after");
        assert_eq!(printable("\x1b]8;;http://x\x1b\\link"), "link");
        assert_eq!(printable("\x1bPq~~\x1b\\x\x1bc"), "x");
        assert_eq!(printable("\u{9b}2Jx"), "x");
        assert_eq!(printable("a\rb\x08c\0\x7f"), "abc");
        assert_eq!(printable("a\tb\nc"), "a b c");
        assert_eq!(printable("ab\u{202e}cd\u{200b}"), "abcd");
        assert_eq!(printable("größe ≤ 4 KiB"), "größe ≤ 4 KiB");
    }

    #[test]
    fn a_sequence_without_an_end_swallows_no_line() {
        assert_eq!(printable_text("\x1b]0;never\nnext\tline"), "\nnext\tline");
        assert_eq!(printable_text("\x1b["), "");
        assert_eq!(printable_text("\x1b"), "");
    }

    #[test]
    fn every_string_of_a_result_is_cleaned() {
        let evil = || "\x1b[2Jx".to_owned();
        let result = TestResult {
            name: evil(),
            outcome: Outcome::Crashed { how: evil() },
            checks: vec![Check {
                name: evil(),
                promise: evil(),
                passed: true,
                observed: evil(),
                expected: evil(),
            }],
            metrics: vec![Metric {
                name: evil(),
                value: 1,
                unit: mthp_record::result::Unit::Count,
                polarity: mthp_record::result::Polarity::Lower,
            }],
            agreements: vec![Agreement { name: evil(), promise: evil(), value: evil() }],
            evidence: BTreeMap::from([(evil(), "a\x1b[mb\nc".to_owned())]),
        };
        let json = serde_json::to_string(&sanitize(result)).unwrap();
        assert!(!json.contains("u001b") && !json.contains("[2J"), "{json}");
        assert!(json.contains("ab\\nc"), "{json}");
    }
}
