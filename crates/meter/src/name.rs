//! What a guest says in place of a region's name: any bytes.

use std::fmt;

use mthp_record::cost::mark::{MAX_NAME, is_name};

/// The most characters that are shown of what is no name.
const SHOWN: usize = 40;

/// The letters of the name that comes next.
#[derive(Debug, Default)]
pub(crate) struct Letters(Vec<u8>);

impl Letters {
    /// One too many is kept, so that a name is seen to be too long.
    pub(crate) fn push(&mut self, byte: u8) {
        if self.0.len() <= MAX_NAME {
            self.0.push(byte);
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The name said so far; the next one starts anew.
    pub(crate) fn take(&mut self) -> Name {
        let said = std::mem::take(&mut self.0);
        match std::str::from_utf8(&said) {
            Ok(name) if is_name(name) => Name::Plain(name.to_owned()),
            _ => Name::Odd(shown(&said)),
        }
    }
}

/// A region's name. Its text is short, of printable characters of ASCII.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    /// As [`is_name`] wants it.
    Plain(String),
    /// What was said is no name: its beginning, quoted.
    Odd(String),
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(name) | Self::Odd(name) => f.write_str(name),
        }
    }
}

fn shown(said: &[u8]) -> String {
    let text = said.escape_ascii().to_string();
    match text.get(..SHOWN) {
        Some(start) if start.len() < text.len() => format!("\"{start}\"..."),
        _ => format!("\"{text}\""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(bytes: &[u8]) -> Name {
        let mut letters = Letters::default();
        bytes.iter().for_each(|byte| letters.push(*byte));
        let name = letters.take();
        assert!(letters.is_empty());
        name
    }

    #[test]
    fn a_name_is_what_was_said() {
        let longest = "x".repeat(MAX_NAME);
        for name in ["cost/a", "x", longest.as_str()] {
            assert_eq!(said(name.as_bytes()), Name::Plain(name.to_owned()));
        }
    }

    #[test]
    fn what_is_no_name_is_shown_short_and_in_ascii() {
        let long = [b'x'; 10 * MAX_NAME];
        let nulls = [0; MAX_NAME];
        for (bytes, shown) in [
            (&b""[..], r#""""#),
            (b"a b", r#""a b""#),
            (b"\x1b[2J\"\n\\", r#""\x1b[2J\"\n\\""#),
            ("naïve\u{202e}".as_bytes(), r#""na\xc3\xafve\xe2\x80\xae""#),
            (&long, &format!("\"{}\"...", "x".repeat(40))),
            (&nulls, &format!("\"{}\"...", r"\x00".repeat(10))),
        ] {
            assert_eq!(said(bytes), Name::Odd(shown.to_owned()), "{bytes:?}");
        }
    }
}
