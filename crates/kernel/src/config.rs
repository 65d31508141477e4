//! Kconfig fragments: what is asked for, and whether the tree gave it.

mod explain;

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use crate::error::bad_input;

/// Symbols that a kernel is asked to have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fragment {
    symbols: BTreeMap<String, Wanted>,
}

/// What is asked of one symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Wanted {
    /// As in a `.config`; `n` where it is to be unset.
    value: String,
    /// Whether a tree may not know the symbol.
    optional: bool,
    /// Where it was asked for.
    place: String,
}

impl Fragment {
    /// Reads fragments; a later one overrides an earlier one.
    ///
    /// # Errors
    /// [`BadInput`](crate::BadInput) when one cannot be read or has a malformed line.
    pub fn read(paths: &[PathBuf]) -> Result<Self> {
        let mut all = Self::default();
        for path in paths {
            let text = fs::read_to_string(path).map_err(|error| {
                bad_input(format!("failed to read the fragment {}: {error}", path.display()))
            })?;
            all.symbols.extend(Self::parse(&path.display().to_string(), &text)?.symbols);
        }
        Ok(all)
    }

    /// Parses a fragment: `CONFIG_X=y`, `# CONFIG_X is not set`, comments; `# optional` behind a symbol marks one
    /// that a tree may not know.
    ///
    /// # Errors
    /// [`BadInput`](crate::BadInput) with the line that is malformed.
    pub fn parse(name: &str, text: &str) -> Result<Self> {
        let mut symbols = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let place = format!("{name}:{}", index + 1);
            let bad = |why: &str| bad_input(format!("failed to read the fragment: {place}: {why}: {line}"));
            let line = line.trim();
            let unset = line.strip_prefix("# CONFIG_").and_then(|rest| rest.split_once(" is not set"));
            let (symbol, value, rest) = if let Some((symbol, rest)) = unset {
                (symbol, "n", rest)
            } else if line.is_empty() || line.starts_with('#') {
                continue;
            } else {
                let (symbol, right) = line
                    .strip_prefix("CONFIG_")
                    .and_then(|rest| rest.split_once('='))
                    .ok_or_else(|| bad("neither CONFIG_NAME=value nor a comment"))?;
                let end = value_end(right).ok_or_else(|| bad("a quote is not closed"))?;
                let (value, rest) = right.split_at(end);
                (symbol, value, rest)
            };
            if symbol.is_empty() || !symbol.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
                return Err(bad("no name of a symbol"));
            }
            if value.is_empty() {
                return Err(bad("no value"));
            }
            let comment = rest.trim();
            if !comment.is_empty() && !comment.starts_with('#') {
                return Err(bad("something follows the value"));
            }
            let mut words =
                comment.split(|byte: char| !byte.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
            let optional = words.next() == Some("optional");
            symbols.insert(symbol.to_owned(), Wanted { value: value.to_owned(), optional, place });
        }
        Ok(Self { symbols })
    }

    /// The fragment as Kconfig reads it, in one order whatever files it came from.
    #[must_use]
    pub fn text(&self) -> String {
        self.symbols.iter().fold(String::new(), |mut text, (symbol, wanted)| {
            let _ = match wanted.value.as_str() {
                "n" => writeln!(text, "# CONFIG_{symbol} is not set"),
                value => writeln!(text, "CONFIG_{symbol}={value}"),
            };
            text
        })
    }

    /// Compares what was asked for with the `.config` that came out; `tree` is read for the reasons.
    ///
    /// # Errors
    /// [`BadInput`](crate::BadInput) that lists each symbol that is not as asked, where it was asked for, and why it is
    /// not: the tree does not know it, or what it depends on is unset.
    pub fn check(&self, config: &str, tree: &Path) -> Result<()> {
        let values = values(config);
        let differs: Vec<(&String, &Wanted)> = self
            .symbols
            .iter()
            .filter(|(symbol, wanted)| values.get(symbol.as_str()).copied().unwrap_or("n") != wanted.value)
            .collect();
        if differs.is_empty() {
            return Ok(());
        }
        let definitions =
            explain::Definitions::read(tree).context("failed to read the tree's Kconfig files")?;
        let mut complaints = Vec::new();
        for (symbol, wanted) in differs {
            let known = definitions.knows(symbol);
            if !known && wanted.optional {
                continue;
            }
            let found = values.get(symbol.as_str()).copied().unwrap_or("n");
            complaints.push(format!(
                "CONFIG_{symbol}={} ({}): it became {found}: {}",
                wanted.value,
                wanted.place,
                definitions.explain(symbol, &wanted.value, &values)
            ));
        }
        if complaints.is_empty() {
            return Ok(());
        }
        Err(bad_input(format!("failed to configure the kernel as asked:\n  {}", complaints.join("\n  "))))
    }
}

/// Where a value ends: behind its quotes, or before a blank.
fn value_end(text: &str) -> Option<usize> {
    if !text.starts_with('"') {
        return Some(text.find(char::is_whitespace).unwrap_or(text.len()));
    }
    let mut escaped = false;
    text.char_indices().skip(1).find_map(|(at, character)| {
        let end = character == '"' && !escaped;
        escaped = character == '\\' && !escaped;
        end.then_some(at + 1)
    })
}

/// The set symbols of a `.config`.
fn values(config: &str) -> BTreeMap<&str, &str> {
    config.lines().filter_map(|line| line.strip_prefix("CONFIG_")?.split_once('=')).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "# a comment\nCONFIG_A=y\n# CONFIG_B is not set\nCONFIG_C=\"a # \\\"b\\\"\" # why\n\
        CONFIG_D=12 # optional: new in 6.8\n# CONFIG_E is not set # optional\n";

    #[test]
    fn each_form_of_a_line() {
        let fragment = Fragment::parse("f", TEXT).unwrap();
        let all: Vec<(&str, &str, bool)> = fragment
            .symbols
            .iter()
            .map(|(name, one)| (name.as_str(), one.value.as_str(), one.optional))
            .collect();
        assert_eq!(
            all,
            [
                ("A", "y", false),
                ("B", "n", false),
                ("C", "\"a # \\\"b\\\"\"", false),
                ("D", "12", true),
                ("E", "n", true)
            ]
        );
        assert_eq!(Fragment::parse("g", &fragment.text()).unwrap().text(), fragment.text());
    }

    #[test]
    fn malformed_lines_are_named() {
        for (text, words) in [
            ("CONFIG_A=y\nB=y\n", "f:2: neither"),
            ("CONFIG_A=\n", "f:1: no value"),
            ("CONFIG_A=\"x\n", "f:1: a quote"),
            ("CONFIG_A=y z\n", "f:1: something follows"),
            ("CONFIG_=y\n", "f:1: no name"),
        ] {
            let error = Fragment::parse("f", text).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
    }

    #[test]
    fn what_came_out_is_compared() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(
            folder.path().join("Kconfig"),
            "config A\n\tbool \"a\"\n\tdepends on Z\nconfig Z\n\tbool \"z\"\n",
        )
        .unwrap();
        let check = |text: &str, config: &str| {
            Fragment::parse("f", text)
                .unwrap()
                .check(config, folder.path())
                .map_err(|error| error.to_string())
        };
        check("CONFIG_A=y\n# CONFIG_B is not set\n", "CONFIG_A=y\n").unwrap();
        let error = check("CONFIG_A=y\n", "# CONFIG_A is not set\n").unwrap_err();
        assert!(
            error.contains("CONFIG_A=y (f:1): it became n: it depends on Z, which is not set"),
            "{error}"
        );
        let error = check("CONFIG_NEW=y\n", "").unwrap_err();
        assert!(error.contains("the tree does not know it"), "{error}");
        check("CONFIG_NEW=y # optional\n", "").unwrap();
        let error = check("CONFIG_A=y # optional\n", "").unwrap_err();
        assert!(error.contains("depends on Z"), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(CONFIG_|[A-Z]|=|\"|\\\\|#| |\n| is not set|ä){0,60}") {
            let _ = Fragment::parse("f", &text);
        }
    }
}
