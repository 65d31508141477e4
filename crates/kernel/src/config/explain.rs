//! Why Kconfig did not give a symbol the value asked for: a reading of Kconfig files that is rough, and enough
//! to point at the line that decides.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, io,
    path::Path,
};

/// All definitions in a tree.
#[derive(Debug, Default)]
pub(super) struct Definitions(BTreeMap<String, Vec<Definition>>);

/// One `config NAME`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Definition {
    file: String,
    line: usize,
    /// Conditions: its own `depends on`, those of the menus and ifs around it, and its prompt's `if`.
    depends: Vec<String>,
    prompt: bool,
}

impl Definitions {
    /// Reads a tree's Kconfig files; of the architectures, x86's.
    pub(super) fn read(tree: &Path) -> io::Result<Self> {
        let mut all = Self::default();
        let mut folders = vec![tree.to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let entry = entry?;
                let (path, kind, name) = (entry.path(), entry.file_type()?, entry.file_name());
                let name = name.to_string_lossy();
                let relative = path.strip_prefix(tree).unwrap_or(&path);
                if kind.is_dir() {
                    let foreign = folder.ends_with("arch") && name != "x86" && folder.parent() == Some(tree);
                    // Selftests of Kconfig itself define symbols of their own.
                    let skipped =
                        ["Documentation", "tools", ".git", "scripts"].contains(&&*name) && folder == tree;
                    if !foreign && !skipped && name != "build" {
                        folders.push(path);
                    }
                } else if kind.is_file() && name.starts_with("Kconfig") {
                    let text = fs::read(&path)?;
                    all.parse(&relative.display().to_string(), &String::from_utf8_lossy(&text));
                }
            }
        }
        Ok(all)
    }

    fn parse(&mut self, file: &str, text: &str) {
        let mut around: Vec<Vec<String>> = Vec::new();
        let mut current: Option<(String, Definition)> = None;
        let mut help_indent: Option<usize> = None;
        let joined = text.replace("\\\n", " \u{1}");
        let mut number = 0;
        for raw in joined.lines() {
            let line_number = number + 1;
            number += 1 + raw.matches('\u{1}').count();
            let raw = raw.replace('\u{1}', " ");
            let indent = raw.len() - raw.trim_start().len();
            let line = raw.split(" #").next().unwrap_or_default().trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            if let Some(least) = help_indent {
                // Help lasts as long as its lines are indented as its first one.
                if least == usize::MAX && indent > 0 {
                    help_indent = Some(indent);
                    continue;
                }
                if indent >= least {
                    continue;
                }
                help_indent = None;
            }
            let mut words = line.splitn(2, char::is_whitespace);
            let (word, rest) = (words.next().unwrap_or_default(), words.next().unwrap_or_default().trim());
            match word {
                "config" | "menuconfig" => {
                    self.add(current.take());
                    let depends = around.iter().flatten().cloned().collect();
                    let definition =
                        Definition { file: file.to_owned(), line: line_number, depends, prompt: false };
                    current = Some((rest.to_owned(), definition));
                }
                "if" | "menu" | "choice" => {
                    self.add(current.take());
                    around.push(if word == "if" { vec![rest.to_owned()] } else { Vec::new() });
                }
                "endif" | "endmenu" | "endchoice" => {
                    self.add(current.take());
                    around.pop();
                }
                "source" | "comment" | "mainmenu" => self.add(current.take()),
                "depends" => {
                    let condition = rest.strip_prefix("on").unwrap_or(rest).trim().to_owned();
                    match (&mut current, around.last_mut()) {
                        (Some((_, definition)), _) => definition.depends.push(condition),
                        (None, Some(block)) => block.push(condition),
                        (None, None) => {}
                    }
                }
                "bool" | "tristate" | "string" | "int" | "hex" | "prompt"
                    if rest.starts_with(['"', '\'']) =>
                {
                    if let Some((_, definition)) = &mut current {
                        definition.prompt = true;
                        if let Some((_, condition)) = rest.rsplit_once(" if ") {
                            definition.depends.push(condition.trim().to_owned());
                        }
                    }
                }
                "help" | "---help---" => help_indent = Some(usize::MAX),
                _ => {}
            }
        }
        self.add(current);
    }

    fn add(&mut self, definition: Option<(String, Definition)>) {
        if let Some((name, definition)) = definition {
            self.0.entry(name).or_default().push(definition);
        }
    }

    pub(super) fn knows(&self, symbol: &str) -> bool {
        self.0.contains_key(symbol)
    }

    /// Why a symbol is not what was asked for, in words.
    pub(super) fn explain(&self, symbol: &str, wanted: &str, values: &BTreeMap<&str, &str>) -> String {
        let Some(definitions) = self.0.get(symbol) else {
            return "the tree does not know it (mark it with \"# optional\" if that is fine)".to_owned();
        };
        let places =
            definitions.iter().map(|one| format!("{}:{}", one.file, one.line)).collect::<Vec<_>>().join(", ");
        let set = |name: &str| values.get(name).is_some_and(|value| *value != "n");
        if wanted == "n" {
            return format!("something selects it, or it has no prompt ({places})");
        }
        let depends: BTreeSet<&str> =
            definitions.iter().flat_map(|one| one.depends.iter().map(String::as_str)).collect();
        let unset: BTreeSet<&str> = depends
            .iter()
            .flat_map(|condition| names(condition))
            // One that is asked to be unset (!X) and is set stands in the way as well.
            .filter(|(name, negated)| set(name) == *negated)
            .map(|(name, _)| name)
            .collect();
        if !unset.is_empty() {
            let parts: Vec<String> = unset
                .iter()
                .map(|name| format!("{name}, which is {}", if set(name) { "set" } else { "not set" }))
                .collect();
            let conditions = depends.into_iter().collect::<Vec<_>>().join("; ");
            return format!("it depends on {} ({places}: {conditions})", parts.join(" and "));
        }
        if definitions.iter().any(|one| one.prompt) {
            return format!(
                "another member of its choice is set, or the value is out of its range ({places})"
            );
        }
        format!("it has no prompt: only other symbols select it ({places})")
    }
}

/// The symbols in a condition, and whether each is negated.
fn names(condition: &str) -> impl Iterator<Item = (&str, bool)> {
    fn is_name(byte: char) -> bool {
        byte.is_ascii_alphanumeric() || byte == '_'
    }
    condition.split(|byte: char| !is_name(byte) && byte != '!' && byte != '$' && byte != '"').filter_map(
        |word| {
            let negated = word.starts_with('!');
            let name = word.trim_start_matches('!');
            let symbol = name.starts_with(|first: char| first.is_ascii_uppercase() || first.is_ascii_digit())
                && name.chars().all(is_name)
                && name.chars().any(|byte| byte.is_ascii_uppercase());
            symbol.then_some((name, negated))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"
menu "Memory"
	depends on MMU

config THP
	bool "Transparent" if EXPERT
	depends on HAVE_THP && \
		!RT
	help
	  config NOT_A_SYMBOL
	  depends on NOTHING

if THP
config THP_FILE
	bool "file"
endif

config HIDDEN
	bool
endmenu

config AFTER
	int "n"
"#;

    fn explain(symbol: &str, set: &[&'static str]) -> String {
        let mut all = Definitions::default();
        all.parse("mm/Kconfig", TEXT);
        all.explain(symbol, "y", &set.iter().map(|name| (*name, "y")).collect())
    }

    #[test]
    fn what_is_unset_or_in_the_way_is_named() {
        let text = explain("THP", &["MMU", "EXPERT", "RT"]);
        assert!(
            text.starts_with("it depends on HAVE_THP, which is not set and RT, which is set (mm/Kconfig:5"),
            "{text}"
        );
        let text = explain("THP_FILE", &["MMU"]);
        assert!(text.contains("THP, which is not set"), "{text}");
    }

    #[test]
    fn what_nobody_can_set_is_named() {
        assert!(explain("HIDDEN", &["MMU"]).contains("no prompt"));
        assert!(explain("AFTER", &[]).contains("out of its range"));
        assert!(explain("NOT_A_SYMBOL", &[]).contains("does not know it"));
    }
}
