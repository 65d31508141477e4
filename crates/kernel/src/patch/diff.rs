//! Unified diffs, plain and git's. Pure.

use super::PatchError;

/// What a patch does to one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FilePatch {
    /// The file before; none if it is created.
    pub old: Option<String>,
    /// The file after; none if it is deleted.
    pub new: Option<String>,
    /// Its mode before, if told.
    pub old_mode: Option<u32>,
    /// Its mode after, if told.
    pub new_mode: Option<u32>,
    /// Whether the old file stays where its name changes.
    pub copy: bool,
    /// The changes.
    pub hunks: Vec<Hunk>,
}

impl FilePatch {
    /// The file's name for people.
    #[must_use]
    pub fn name(&self) -> &str {
        self.new.as_deref().or(self.old.as_deref()).unwrap_or_default()
    }

    /// The same change the other way round.
    #[must_use]
    pub fn reversed(&self) -> Self {
        Self {
            old: self.new.clone(),
            // What was copied is only removed: the original stayed.
            new: self.old.clone().filter(|_| !self.copy),
            old_mode: self.new_mode,
            new_mode: self.old_mode,
            copy: self.copy,
            hunks: self.hunks.iter().map(Hunk::reversed).collect(),
        }
    }
}

/// One `@@ … @@` with its lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// Its line in the patch, from 1.
    pub line: usize,
    /// Where it begins in the old file, from 1 (0 for an empty one).
    pub old_start: usize,
    /// Where it begins in the new file.
    pub new_start: usize,
    /// Its lines.
    pub lines: Vec<HunkLine>,
}

/// A line of a hunk, with its line's end (which the last of a file may lack).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HunkLine {
    /// In both.
    Context(Vec<u8>),
    /// In the old file only.
    Remove(Vec<u8>),
    /// In the new file only.
    Add(Vec<u8>),
}

impl Hunk {
    fn reversed(&self) -> Self {
        let lines = self.lines.iter().cloned().map(|line| match line {
            HunkLine::Context(text) => HunkLine::Context(text),
            HunkLine::Remove(text) => HunkLine::Add(text),
            HunkLine::Add(text) => HunkLine::Remove(text),
        });
        Self { line: self.line, old_start: self.new_start, new_start: self.old_start, lines: lines.collect() }
    }
}

/// All file patches in a text; `strip` folders are taken off each name (`-p1`).
pub(super) fn parse(name: &str, text: &[u8], strip: usize) -> Result<Vec<FilePatch>, PatchError> {
    let lines: Vec<&[u8]> = text.split_inclusive(|&byte| byte == b'\n').collect();
    let mut parser = Parser { name, lines, at: 0, strip, files: Vec::new() };
    parser.run()?;
    Ok(parser.files)
}

struct Parser<'a> {
    name: &'a str,
    lines: Vec<&'a [u8]>,
    at: usize,
    strip: usize,
    files: Vec<FilePatch>,
}

impl<'a> Parser<'a> {
    fn peek(&self, ahead: usize) -> &'a [u8] {
        self.lines.get(self.at + ahead).copied().unwrap_or_default()
    }

    fn malformed(&self, why: impl Into<String>) -> PatchError {
        PatchError::Malformed { name: self.name.to_owned(), line: self.at + 1, why: why.into() }
    }

    fn run(&mut self) -> Result<(), PatchError> {
        while self.at < self.lines.len() {
            let line = self.peek(0);
            if line.starts_with(b"diff --git ") {
                self.git()?;
            } else if line.starts_with(b"--- ")
                && self.peek(1).starts_with(b"+++ ")
                && self.peek(2).starts_with(b"@@ -")
            {
                let mut file = FilePatch::default();
                self.names(&mut file, false)?;
                self.hunks(&mut file)?;
                self.files.push(file);
            } else if line.starts_with(b"Binary files ") && trimmed(line).ends_with(b" differ") {
                return Err(self.binary(&lossy(line)));
            } else if line.starts_with(b"diff --cc ") || line.starts_with(b"diff --combined ") {
                return Err(self.malformed("a combined diff (of a merge) cannot be applied"));
            } else if line.starts_with(b"*** ")
                && self.peek(1).starts_with(b"--- ")
                && self.peek(2).starts_with(b"****")
            {
                return Err(self.malformed("a context diff is not supported; make a unified one (diff -u)"));
            } else if line.starts_with(b"@@ -") && parse_header(trimmed(line)).is_some() {
                return Err(self.malformed("a hunk without the names of its file (--- and +++)"));
            } else {
                self.at += 1;
            }
        }
        Ok(())
    }

    fn binary(&self, file: &str) -> PatchError {
        PatchError::Binary { name: self.name.to_owned(), file: file.trim().to_owned() }
    }

    fn git(&mut self) -> Result<(), PatchError> {
        let header = trimmed(self.peek(0).get(11..).unwrap_or_default());
        let mut file = FilePatch::default();
        if let Some((old, new)) = same_names(header) {
            file.old = Some(self.path(&old)?);
            file.new = Some(self.path(&new)?);
        }
        let (mut created, mut deleted) = (false, false);
        self.at += 1;
        while self.at < self.lines.len() {
            let line = trimmed(self.peek(0));
            let rest = |prefix: &str| line.strip_prefix(prefix.as_bytes());
            if let Some(mode) = rest("old mode ") {
                file.old_mode = Some(self.mode(mode)?);
            } else if let Some(mode) = rest("new mode ") {
                file.new_mode = Some(self.mode(mode)?);
            } else if let Some(mode) = rest("new file mode ") {
                file.new_mode = Some(self.mode(mode)?);
                created = true;
            } else if let Some(mode) = rest("deleted file mode ") {
                file.old_mode = Some(self.mode(mode)?);
                deleted = true;
            } else if let Some(name) = rest("rename from ") {
                file.old = Some(self.checked(unquote(name), 0)?);
            } else if let Some(name) = rest("rename to ") {
                file.new = Some(self.checked(unquote(name), 0)?);
            } else if let Some(name) = rest("copy from ") {
                file.old = Some(self.checked(unquote(name), 0)?);
                file.copy = true;
            } else if let Some(name) = rest("copy to ") {
                file.new = Some(self.checked(unquote(name), 0)?);
            } else if line.starts_with(b"GIT binary patch") || line.starts_with(b"Binary files ") {
                return Err(self.binary(file.name()));
            } else if !["index ", "similarity index ", "dissimilarity index "]
                .iter()
                .any(|one| rest(one).is_some())
            {
                break;
            }
            self.at += 1;
        }
        if self.peek(0).starts_with(b"--- ") && self.peek(1).starts_with(b"+++ ") {
            let renamed = file.old != file.new;
            let mut named = FilePatch::default();
            self.names(&mut named, true)?;
            if !renamed || file.old.is_none() {
                (file.old, file.new) = (named.old, named.new);
            }
            self.hunks(&mut file)?;
        }
        if created {
            file.old = None;
        }
        if deleted {
            file.new = None;
        }
        if file.old.is_none() && file.new.is_none() {
            return Err(self.malformed("a change without a file's name"));
        }
        self.files.push(file);
        Ok(())
    }

    /// `---` and `+++`. A plain diff often compares x.orig with x: there, the new name is the file's.
    fn names(&mut self, file: &mut FilePatch, git: bool) -> Result<(), PatchError> {
        let old = header_name(self.peek(0).get(4..).unwrap_or_default());
        let new = header_name(self.peek(1).get(4..).unwrap_or_default());
        file.old =
            if old == b"/dev/null" { None } else { Some(old) }.map(|name| self.path(&name)).transpose()?;
        file.new =
            if new == b"/dev/null" { None } else { Some(new) }.map(|name| self.path(&name)).transpose()?;
        if file.old.is_none() && file.new.is_none() {
            return Err(self.malformed("both names are /dev/null"));
        }
        if !git && file.old.is_some() && file.new.is_some() {
            // `diff -N` names a file that is not there too; only the empty range tells.
            let header = parse_header(trimmed(self.peek(2)));
            let creates = header.is_some_and(|[old_start, old_len, ..]| old_start == 0 && old_len == 0);
            let deletes = header.is_some_and(|[.., new_start, new_len]| new_start == 0 && new_len == 0);
            if deletes && epoch(self.peek(1)) {
                file.new = None;
            } else {
                file.old = if creates && epoch(self.peek(0)) { None } else { file.new.clone() };
            }
        }
        self.at += 2;
        Ok(())
    }

    fn hunks(&mut self, file: &mut FilePatch) -> Result<(), PatchError> {
        while self.peek(0).starts_with(b"@@ -") {
            let Some([old_start, mut old_len, new_start, mut new_len]) = parse_header(trimmed(self.peek(0)))
            else {
                return Err(self.malformed("the hunk's header is malformed"));
            };
            let mut hunk = Hunk { line: self.at + 1, old_start, new_start, lines: Vec::new() };
            self.at += 1;
            while old_len > 0 || new_len > 0 {
                let line = self.peek(0);
                if line.is_empty() {
                    return Err(self.malformed("the patch breaks off in the middle of a hunk"));
                }
                let (mark, rest) = line.split_at(1);
                let short = || self.malformed("the hunk has other lengths than its header says");
                let text = rest.to_vec();
                let parsed = match mark {
                    b"+" => {
                        new_len = new_len.checked_sub(1).ok_or_else(short)?;
                        HunkLine::Add(text)
                    }
                    b"-" => {
                        old_len = old_len.checked_sub(1).ok_or_else(short)?;
                        HunkLine::Remove(text)
                    }
                    // Mailers cut the blank off an empty context line.
                    b" " | b"\n" => {
                        old_len = old_len.checked_sub(1).ok_or_else(short)?;
                        new_len = new_len.checked_sub(1).ok_or_else(short)?;
                        HunkLine::Context(if mark == b"\n" { b"\n".to_vec() } else { text })
                    }
                    b"\\" => {
                        cut_newline(hunk.lines.last_mut());
                        self.at += 1;
                        continue;
                    }
                    _ => return Err(self.malformed("a line in a hunk begins with none of ' ', '+', '-'")),
                };
                hunk.lines.push(parsed);
                self.at += 1;
            }
            if self.peek(0).starts_with(b"\\") {
                cut_newline(hunk.lines.last_mut());
                self.at += 1;
            }
            file.hunks.push(hunk);
        }
        if file.hunks.is_empty() {
            return Err(self.malformed("names of a file, and no hunk after them"));
        }
        Ok(())
    }

    fn mode(&self, text: &[u8]) -> Result<u32, PatchError> {
        u32::from_str_radix(&lossy(text), 8).map_err(|_| self.malformed("a file's mode is malformed"))
    }

    fn path(&self, name: &[u8]) -> Result<String, PatchError> {
        self.checked(name.to_vec(), self.strip)
    }

    fn checked(&self, name: Vec<u8>, strip: usize) -> Result<String, PatchError> {
        let name = String::from_utf8(name).map_err(|_| self.malformed("a file's name is not UTF-8"))?;
        let outside = |why: &str| PatchError::Outside {
            name: self.name.to_owned(),
            file: name.clone(),
            why: why.into(),
        };
        if name.starts_with('/') {
            return Err(outside("it is an absolute path"));
        }
        let parts: Vec<&str> = name.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") {
            return Err(outside("it climbs with .."));
        }
        let Some(kept) = parts.get(strip..).filter(|kept| !kept.is_empty()) else {
            return Err(self.malformed(format!("nothing is left of the name {name} with -p{strip}")));
        };
        if kept.iter().any(|part| part.eq_ignore_ascii_case(".git")) {
            return Err(outside("it is git's own"));
        }
        if name.contains('\0') {
            return Err(self.malformed("a file's name holds a zero byte"));
        }
        Ok(kept.join("/"))
    }
}

fn cut_newline(line: Option<&mut HunkLine>) {
    let Some(HunkLine::Context(text) | HunkLine::Remove(text) | HunkLine::Add(text)) = line else { return };
    if text.last() == Some(&b'\n') {
        text.pop();
    }
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.trim_ascii_end()
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The name in a `---` line: up to a tab, or in quotes.
fn header_name(line: &[u8]) -> Vec<u8> {
    let name = line.split(|&byte| byte == b'\t').next().unwrap_or_default();
    unquote(trimmed(name))
}

/// Did `diff` print the time that it gives to a file that is not there?
fn epoch(line: &[u8]) -> bool {
    let line = lossy(line);
    line.split_once('\t')
        .is_some_and(|(_, time)| time.starts_with("1970-01-01") || time.starts_with("1969-12-31"))
}

/// `[old start, old length, new start, new length]` of `@@ -a,b +c,d @@`.
fn parse_header(line: &[u8]) -> Option<[usize; 4]> {
    let line = std::str::from_utf8(line.get(..line.len().min(80))?).ok().or_else(|| {
        // What follows the second @@ is a line of the file, in any encoding.
        let end = line.windows(3).position(|window| window == b" @@")?;
        std::str::from_utf8(line.get(..end + 3)?).ok()
    })?;
    let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
    let (old, new) = ranges.split_once(" +")?;
    let range = |text: &str| -> Option<(usize, usize)> {
        let (start, length) = text.split_once(',').unwrap_or((text, "1"));
        // A longer file than this is none, and sums stay far from overflow.
        let number = |text: &str| text.parse::<u32>().ok().and_then(|number| usize::try_from(number).ok());
        Some((number(start)?, number(length)?))
    };
    let ((old_start, old_len), (new_start, new_len)) = (range(old)?, range(new)?);
    Some([old_start, old_len, new_start, new_len])
}

/// The two names of a `diff --git` line, if they differ in their first folder only; otherwise other lines tell.
fn same_names(header: &[u8]) -> Option<(Vec<u8>, Vec<u8>)> {
    if header.starts_with(b"\"") {
        let end = header.windows(2).position(|window| window == b"\" ")?;
        return Some((unquote(header.get(..=end)?), unquote(header.get(end + 2..)?)));
    }
    let middle = header.len() / 2;
    let (old, new) = (header.get(..middle)?, header.get(middle + 1..)?);
    let base = |name: &[u8]| {
        name.iter().position(|&byte| byte == b'/').and_then(|at| name.get(at..).map(<[u8]>::to_vec))
    };
    (header.get(middle) == Some(&b' ') && base(old).is_some() && base(old) == base(new))
        .then(|| (old.to_vec(), new.to_vec()))
}

/// Takes C's quotes off a name, as git puts them on.
fn unquote(name: &[u8]) -> Vec<u8> {
    let Some(inner) = name.strip_prefix(b"\"").and_then(|name| name.strip_suffix(b"\"")) else {
        return name.to_vec();
    };
    let mut plain = Vec::new();
    let mut bytes = inner.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            plain.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b't') => plain.push(b'\t'),
            Some(b'n') => plain.push(b'\n'),
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    if let Some(digit @ b'0'..=b'7') = bytes.peek().copied() {
                        value = value * 8 + u32::from(digit - b'0');
                        bytes.next();
                    }
                }
                plain.push(u8::try_from(value & 0xff).unwrap_or_default());
            }
            Some(other) => plain.push(other),
            None => {}
        }
    }
    plain
}

#[cfg(test)]
mod tests;
