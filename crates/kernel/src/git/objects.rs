//! What commits hold, read without a checkout.

use std::{
    collections::{BTreeMap, BTreeSet},
    io::{BufRead, BufReader, Read, Write},
    path::Path,
    process::Stdio,
    thread,
};

use anyhow::{Context, Result, bail};

use super::command;
use crate::{patch::Node, process};

/// How many names go on one command line.
const CHUNK: usize = 500;
/// A folder within a commit, and a commit of another repository (a submodule): neither is a file.
const NO_FILES: [u32; 2] = [0o040_000, 0o160_000];

/// The files that differ between two commits; git looks for their objects in `others` too.
pub(crate) fn changed(repository: &Path, others: Option<&Path>, from: &str, to: &str) -> Result<Vec<String>> {
    let mut diff = command(repository);
    if let Some(others) = others {
        diff.env("GIT_ALTERNATE_OBJECT_DIRECTORIES", others);
    }
    diff.args(["diff-tree", "-r", "-z", "--no-renames", "--name-only", from, to]);
    let output = process::capture(&mut diff)?;
    output.split(|&byte| byte == 0).filter(|name| !name.is_empty()).map(name).collect()
}

/// Files and links of a commit, of those names that it has.
pub(crate) fn nodes(
    repository: &Path,
    commit: &str,
    names: &BTreeSet<String>,
) -> Result<BTreeMap<String, Node>> {
    let names: Vec<&String> = names.iter().collect();
    let mut nodes = BTreeMap::new();
    for names in names.chunks(CHUNK) {
        let entries = entries(repository, commit, names)?;
        let objects: Vec<&str> = entries.iter().map(|entry| entry.object.as_str()).collect();
        let contents = blobs(repository, &objects)?;
        nodes.extend(
            entries
                .into_iter()
                .zip(contents)
                .map(|(entry, contents)| (entry.name, Node { contents, mode: entry.mode })),
        );
    }
    Ok(nodes)
}

struct Entry {
    name: String,
    mode: u32,
    object: String,
}

fn entries(repository: &Path, commit: &str, names: &[&String]) -> Result<Vec<Entry>> {
    let mut list = command(repository);
    // A name is a name: without this, one that begins with a colon would be a pattern.
    list.env("GIT_LITERAL_PATHSPECS", "1").args(["ls-tree", "-z", "--full-tree", commit, "--"]).args(names);
    let output = process::capture(&mut list)?;
    let mut entries = Vec::new();
    for line in output.split(|&byte| byte == 0).filter(|line| !line.is_empty()) {
        let entry = entry(line).with_context(|| {
            format!("failed to understand git ls-tree: {}", String::from_utf8_lossy(line))
        })?;
        if !NO_FILES.contains(&entry.mode) {
            entries.push(entry);
        }
    }
    Ok(entries)
}

/// `MODE TYPE OBJECT<tab>NAME`
fn entry(line: &[u8]) -> Result<Entry> {
    let tab = line.iter().position(|&byte| byte == b'\t').context("no tab")?;
    let (head, rest) = line.split_at(tab);
    let head = String::from_utf8_lossy(head);
    let mut words = head.split(' ');
    let mode = u32::from_str_radix(words.next().unwrap_or_default(), 8).context("no mode")?;
    let object = words.nth(1).context("no object")?.to_owned();
    Ok(Entry { name: name(rest.get(1..).unwrap_or_default())?, mode, object })
}

/// The contents of objects, in their order.
fn blobs(repository: &Path, objects: &[&str]) -> Result<Vec<Vec<u8>>> {
    if objects.is_empty() {
        return Ok(Vec::new());
    }
    let mut child = command(repository)
        .args(["cat-file", "--batch"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .context("failed to start git cat-file")?;
    let mut input = child.stdin.take().context("failed to write to git cat-file")?;
    let output = child.stdout.take().context("failed to read from git cat-file")?;
    let asked = objects.join("\n") + "\n";
    // Beside the reading: both pipes are short.
    let writer = thread::spawn(move || input.write_all(asked.as_bytes()));
    let mut output = BufReader::new(output);
    let contents: Result<Vec<Vec<u8>>> = objects.iter().map(|object| blob(&mut output, object)).collect();
    drop(output);
    let status = child.wait().context("failed to wait for git cat-file")?;
    let _ = writer.join();
    let contents = contents?;
    if !status.success() {
        bail!("git cat-file in {} ended with {status}", repository.display());
    }
    Ok(contents)
}

/// `OBJECT blob SIZE`, the contents, and a line's end.
fn blob(output: &mut impl BufRead, object: &str) -> Result<Vec<u8>> {
    let failed = || {
        format!(
            "failed to read the git object {object} (a partial clone has not all; only a whole one will do)"
        )
    };
    let mut head = String::new();
    output.read_line(&mut head).with_context(failed)?;
    let size = head
        .strip_prefix(object)
        .and_then(|rest| rest.trim_end().strip_prefix(" blob "))
        .and_then(|size| size.parse::<u64>().ok())
        .with_context(failed)?;
    let mut contents = Vec::new();
    output.take(size + 1).read_to_end(&mut contents).with_context(failed)?;
    if contents.pop().is_none() || contents.len() as u64 != size {
        bail!(failed());
    }
    Ok(contents)
}

/// A file's name, which must lie in the tree it is to be written into.
fn name(bytes: &[u8]) -> Result<String> {
    let name = String::from_utf8(bytes.to_owned())
        .with_context(|| format!("failed to take the file {}", String::from_utf8_lossy(bytes)))?;
    if name.split('/').any(|part| matches!(part, "" | "." | ".." | ".git")) {
        bail!("failed to take the file {name}: its name reaches outside the tree");
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_ls_tree() {
        let found = entry(b"100755 blob 0123abcd\tscripts/a\tb.sh").unwrap();
        assert_eq!(
            (found.mode, found.object.as_str(), found.name.as_str()),
            (0o100_755, "0123abcd", "scripts/a\tb.sh")
        );
        for line in [
            "100644 blob 01",
            "x blob 01\ta",
            "100644 blob\ta",
            "100644 blob 01\t../a",
            "100644 blob 01\t.git/a",
        ] {
            assert!(entry(line.as_bytes()).is_err(), "{line}");
        }
        assert!(entry(b"100644 blob 01\t\xff").is_err());
    }

    #[test]
    fn an_answer_of_cat_file() {
        let mut output: &[u8] = b"01 blob 3\na\nb\n02 blob 0\n\n03 missing\n04 blob 9\nshort\n";
        assert_eq!(blob(&mut output, "01").unwrap(), b"a\nb");
        assert_eq!(blob(&mut output, "02").unwrap(), b"");
        assert!(blob(&mut output, "03").is_err());
        assert!(blob(&mut output, "04").is_err());
        assert!(blob(&mut output, "05").is_err());
    }
}
