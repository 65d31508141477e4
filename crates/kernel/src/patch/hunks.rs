//! Hunks on a file's contents. Pure.

use super::{Hunk, HunkLine};

/// A file with hunks applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Patched {
    pub contents: Vec<u8>,
    /// The most context lines that had to be ignored at a hunk's ends.
    pub fuzz: usize,
}

/// As much context as `patch` ignores by default.
const MAX_FUZZ: usize = 2;

/// Applies hunks in order. A hunk may lie elsewhere than its header says, after the one before it; the
/// nearest place is taken. The error is the hunk's index.
pub(super) fn apply(contents: &[u8], hunks: &[Hunk]) -> Result<Patched, usize> {
    let old: Vec<&[u8]> = contents.split_inclusive(|&byte| byte == b'\n').collect();
    let mut new: Vec<u8> = Vec::with_capacity(contents.len());
    let (mut done, mut drift, mut worst) = (0_usize, 0_isize, 0);
    for (index, hunk) in hunks.iter().enumerate() {
        let shape = Shape::of(hunk);
        // A hunk that removes nothing and has no context names the line it follows.
        let line = if shape.old.is_empty() { hunk.old_start } else { hunk.old_start.saturating_sub(1) };
        let found = (0..=MAX_FUZZ.min(shape.context())).find_map(|fuzz| {
            let at = shape.find(&old, done, line.saturating_add_signed(drift), fuzz)?;
            Some((fuzz, at))
        });
        let (fuzz, (at, before, after)) = found.ok_or(index)?;
        worst = worst.max(fuzz);
        drift = signed(at) - signed(before) - signed(line);
        for line in old.get(done..at).unwrap_or_default() {
            new.extend_from_slice(line);
        }
        let matched = shape.old.len() - before - after;
        // What is ignored of the context stays as the file has it.
        let kept = hunk.lines.get(before..hunk.lines.len() - after).unwrap_or_default();
        for line in kept {
            if let HunkLine::Context(text) | HunkLine::Add(text) = line {
                new.extend_from_slice(text);
            }
        }
        done = at + matched;
    }
    for line in old.get(done..).unwrap_or_default() {
        new.extend_from_slice(line);
    }
    Ok(Patched { contents: new, fuzz: worst })
}

fn signed(number: usize) -> isize {
    isize::try_from(number).unwrap_or(isize::MAX)
}

struct Shape<'a> {
    old: Vec<&'a [u8]>,
    leading: usize,
    trailing: usize,
    start: usize,
}

impl<'a> Shape<'a> {
    fn of(hunk: &'a Hunk) -> Self {
        let old = hunk.lines.iter().filter_map(|line| match line {
            HunkLine::Context(text) | HunkLine::Remove(text) => Some(text.as_slice()),
            HunkLine::Add(_) => None,
        });
        let context = |line: &&HunkLine| matches!(line, HunkLine::Context(_));
        Self {
            old: old.collect(),
            leading: hunk.lines.iter().take_while(context).count(),
            trailing: hunk.lines.iter().rev().take_while(context).count(),
            start: hunk.old_start,
        }
    }

    fn context(&self) -> usize {
        self.leading.max(self.trailing)
    }

    /// Where the lines are, and how many were ignored before and after. The rule is GNU patch's: the longer
    /// side's context shrinks first, and a hunk with less context on one side lies at that end of the file.
    fn find(&self, file: &[&[u8]], from: usize, guess: usize, fuzz: usize) -> Option<(usize, usize, usize)> {
        let ignored = |side: usize| (side + fuzz).saturating_sub(self.context()).min(side);
        let (before, after) = (ignored(self.leading), ignored(self.trailing));
        let wanted = self.old.get(before..self.old.len().checked_sub(after)?)?;
        let last = file.len().checked_sub(wanted.len())?;
        let at_start = self.leading + fuzz < self.context() && self.start <= 1;
        let at_end = self.trailing + fuzz < self.context();
        let fits = |at: usize| {
            (!at_start || at == 0)
                && (!at_end || at == last)
                && file.get(at..at + wanted.len()).is_some_and(|lines| lines == wanted)
        };
        let guess = guess + before;
        let range = from..=last;
        let near = (0..=file.len()).flat_map(|offset| [guess.checked_add(offset), guess.checked_sub(offset)]);
        near.flatten().filter(|at| range.contains(at)).find(|&at| fits(at)).map(|at| (at, before, after))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::patch::diff;

    fn hunks(text: &str) -> Vec<Hunk> {
        let text = format!("--- a/x\n+++ b/x\n{text}");
        diff::parse("x", text.as_bytes(), 1).unwrap().remove(0).hunks
    }

    fn numbered(range: std::ops::Range<usize>) -> String {
        range.map(|number| format!("line {number}\n")).collect()
    }

    const HUNK: &str =
        "@@ -4,7 +4,7 @@\n line 4\n line 5\n line 6\n-line 7\n+LINE 7\n line 8\n line 9\n line 10\n";

    #[test]
    fn where_it_says() {
        let done = apply(numbered(1..20).as_bytes(), &hunks(HUNK)).unwrap();
        assert_eq!(
            String::from_utf8(done.contents).unwrap(),
            numbered(1..20).replace("line 7\n", "LINE 7\n")
        );
        assert_eq!(done.fuzz, 0);
    }

    #[test]
    fn elsewhere() {
        let file = format!("{}{}", "new\n".repeat(30), numbered(1..20));
        let done = apply(file.as_bytes(), &hunks(HUNK)).unwrap();
        assert_eq!(String::from_utf8(done.contents).unwrap(), file.replace("line 7\n", "LINE 7\n"));
        assert_eq!(done.fuzz, 0);
    }

    #[test]
    fn with_a_changed_line_at_its_edge() {
        let file = numbered(1..20).replace("line 4\n", "other\n");
        let done = apply(file.as_bytes(), &hunks(HUNK)).unwrap();
        assert_eq!(String::from_utf8(done.contents).unwrap(), file.replace("line 7\n", "LINE 7\n"));
        assert_eq!(done.fuzz, 1);
    }

    #[test]
    fn not_with_a_changed_line_next_to_the_change() {
        let file = numbered(1..20).replace("line 6\n", "other\n");
        assert_eq!(apply(file.as_bytes(), &hunks(HUNK)), Err(0));
    }

    #[test]
    fn a_later_hunk_follows_the_drift_of_an_earlier_one() {
        let file = format!("new\nnew\n{}{}", numbered(1..20), "same\n".repeat(40));
        let two = format!("{HUNK}@@ -30,1 +30,1 @@\n-same\n+SAME\n");
        let done = apply(file.as_bytes(), &hunks(&two)).unwrap();
        let lines = String::from_utf8(done.contents).unwrap();
        assert_eq!(lines.lines().position(|line| line == "SAME"), Some(31));
    }

    #[test]
    fn a_file_without_a_last_newline() {
        let text = "@@ -1 +1 @@\n-old\n\\ No newline at end of file\n+new\n\\ No newline at end of file\n";
        assert_eq!(apply(b"old", &hunks(text)).unwrap().contents, b"new");
        assert_eq!(apply(b"old\n", &hunks(text)), Err(0));
    }

    #[test]
    fn an_empty_file_and_an_insertion_without_context() {
        assert_eq!(apply(b"", &hunks("@@ -0,0 +1 @@\n+one\n")).unwrap().contents, b"one\n");
        assert_eq!(apply(b"1\n2\n", &hunks("@@ -1,0 +2 @@\n+x\n")).unwrap().contents, b"1\nx\n2\n");
    }

    proptest! {
        #[test]
        fn a_change_and_its_reverse_give_the_file_back(
            before in 0_usize..40, after in 0_usize..40, drift in 0_usize..10,
        ) {
            let file = format!("{}{}{}", "x\n".repeat(before + drift), numbered(4..11), "y\n".repeat(after));
            let hunks = hunks(HUNK);
            let forward = apply(file.as_bytes(), &hunks);
            if let Ok(forward) = forward {
                let back: Vec<Hunk> = hunks.iter().map(|hunk| {
                    let file = crate::patch::FilePatch { hunks: vec![hunk.clone()], ..Default::default() };
                    file.reversed().hunks.remove(0)
                }).collect();
                prop_assert_eq!(apply(&forward.contents, &back).unwrap().contents, file.into_bytes());
            }
        }
    }
}
