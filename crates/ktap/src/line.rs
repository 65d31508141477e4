//! One line.

/// What a line is, its indentation taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// `KTAP version 1`, `TAP version 13`.
    Version,
    /// `1..12`, and what follows `# SKIP`.
    Plan(u32, Option<&'a str>),
    /// `ok 3 - name # SKIP why`.
    Result(Result_<'a>),
    /// `Bail out! why`.
    BailOut(&'a str),
    /// `# Subtest: name`, which opens a level in TAP 14.
    Subtest,
    /// `# words`.
    Diagnostic(&'a str),
    /// Anything else.
    Unknown(&'a str),
}

/// A result line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Result_<'a> {
    pub ok: bool,
    pub number: Option<u32>,
    pub description: &'a str,
    pub directive: Option<Directive>,
    /// What follows the directive, or the hash.
    pub words: &'a str,
}

/// What makes of a result something other than passed or failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Directive {
    Skip,
    /// TODO and XFAIL: known not to work.
    Excused,
}

/// How far a line is indented, and what it is. Only blanks indent.
pub(crate) fn read(line: &str) -> (usize, Line<'_>) {
    let line = line.trim_end();
    let text = line.trim_start_matches(' ');
    (line.len() - text.len(), classify(text))
}

fn classify(text: &str) -> Line<'_> {
    for version in ["KTAP version ", "TAP version "] {
        if text.strip_prefix(version).is_some_and(|number| number.parse::<u32>().is_ok()) {
            return Line::Version;
        }
    }
    if let Some(why) = text.strip_prefix("Bail out!") {
        return Line::BailOut(why.trim());
    }
    if let Some(words) = text.strip_prefix('#') {
        let words = words.trim();
        return if words.starts_with("Subtest:") { Line::Subtest } else { Line::Diagnostic(words) };
    }
    plan(text).or_else(|| result(text)).unwrap_or(Line::Unknown(text))
}

fn plan(text: &str) -> Option<Line<'_>> {
    let rest = text.strip_prefix("1..")?;
    let (number, words) = match rest.split_once('#') {
        Some((number, words)) => (number, Some(words.trim())),
        None => (rest, None),
    };
    let skip = match words {
        Some(words) => match directive(words) {
            (Some(Directive::Skip), why) => Some(why),
            _ => None,
        },
        None => None,
    };
    Some(Line::Plan(number.trim().parse().ok()?, skip))
}

fn result(text: &str) -> Option<Line<'_>> {
    let (ok, rest) = match text.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, text.strip_prefix("ok")?),
    };
    if !rest.is_empty() && !rest.starts_with([' ', '\t']) {
        return None;
    }
    let rest = rest.trim_start();
    let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    let (number, rest) = rest.split_at_checked(digits)?;
    // A number that is no number of a test: the word begins the description.
    let (number, rest) = match number.parse() {
        Ok(number) if rest.is_empty() || rest.starts_with([' ', '\t']) => (Some(number), rest),
        _ if number.is_empty() => (None, rest),
        _ => return None,
    };
    let rest = rest.trim_start();
    let rest = rest.strip_prefix("- ").unwrap_or(rest);
    let (description, after) = match hash(rest) {
        Some(at) => (rest.get(..at)?.trim(), rest.get(at + 1..)?.trim()),
        None => (rest.trim(), ""),
    };
    let (directive, words) = directive(after);
    Some(Line::Result(Result_ { ok, number, description, directive, words }))
}

/// Where the first hash is that begins a directive: at the start, or after a blank. (`\#` is one of a name.)
fn hash(text: &str) -> Option<usize> {
    let blank =
        |at: usize| text.get(..at).is_some_and(|before| before.is_empty() || before.ends_with([' ', '\t']));
    let hashes: Vec<usize> = text.match_indices('#').map(|(at, _)| at).filter(|&at| blank(at)).collect();
    let directs = |&&at: &&usize| text.get(at + 1..).is_some_and(|words| directive(words.trim()).0.is_some());
    // A hash may be a word of the description: the first that a directive follows ends it.
    hashes.iter().find(directs).or_else(|| hashes.first()).copied()
}

fn directive(words: &str) -> (Option<Directive>, &str) {
    let end = words.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(words.len());
    let (word, rest) = words.split_at_checked(end).unwrap_or((words, ""));
    let directive = match word.to_ascii_uppercase().as_str() {
        // TAP 14 takes "SKIP", "skipped" and "Skip:" alike.
        "SKIP" | "SKIPPED" => Directive::Skip,
        "TODO" | "XFAIL" => Directive::Excused,
        _ => return (None, words),
    };
    (Some(directive), rest.trim_start_matches(':').trim())
}
