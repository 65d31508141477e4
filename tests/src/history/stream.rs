//! What `git fast-import` reads.

use std::{
    fs,
    io::Write,
    os::unix::{ffi::OsStrExt, fs::PermissionsExt},
    path::Path,
};

use anyhow::{Context, Result, ensure};

use mthp_kernel::files;

use super::compose::Composed;

/// When the base was committed: any time will do, if it stays. Each commit is an hour after the one before.
const EPOCH: usize = 1_700_000_000;
const WHO: &str = "mthp-regress authors <mthp-regress@localhost>";

impl Composed {
    /// The stream that makes these commits on top of one that is there.
    pub(super) fn stream(&self, base: &str) -> Vec<u8> {
        let mut out = format!("reset refs/tags/base\nfrom {base}\n\n").into_bytes();
        for (index, commit) in self.commits.iter().enumerate() {
            head(&mut out, index + 1, index + 1, &commit.subject);
            for (word, parent) in ["from", "merge"].into_iter().zip(&commit.parents) {
                let name = parent.map_or_else(|| base.to_owned(), |parent| format!(":{}", parent + 1));
                out.extend_from_slice(format!("{word} {name}\n").as_bytes());
            }
            for file in &commit.files {
                let mode = if file.executable { "100755" } else { "100644" };
                entry(&mut out, mode, file.name.as_bytes(), &file.contents);
            }
            out.push(b'\n');
        }
        out
    }
}

/// A commit's beginning. Whatever line it is on, the branch ends at the last one.
fn head(out: &mut Vec<u8>, mark: usize, hours: usize, subject: &str) {
    let time = EPOCH + 3600 * hours;
    let message = format!("{subject}\n");
    let text = format!(
        "commit refs/heads/main\nmark :{mark}\nauthor {WHO} {time} +0000\ncommitter {WHO} {time} +0000\ndata {}\n{message}\n",
        message.len()
    );
    out.extend_from_slice(text.as_bytes());
}

fn entry(out: &mut Vec<u8>, mode: &str, name: &[u8], contents: &[u8]) {
    out.extend_from_slice(format!("M {mode} inline ").as_bytes());
    out.extend_from_slice(name);
    out.extend_from_slice(format!("\ndata {}\n", contents.len()).as_bytes());
    out.extend_from_slice(contents);
    out.push(b'\n');
}

/// Writes the stream that makes the base: every file of a tree, whatever its `.gitignore` says.
pub(super) fn base(out: &mut dyn Write, tree: &Path, message: &str) -> Result<()> {
    let mut text = Vec::new();
    head(&mut text, 1, 0, message);
    for name in files::walk(tree)? {
        let path = tree.join(&name);
        let failed = || format!("failed to read {}", path.display());
        let metadata = path.symlink_metadata().with_context(failed)?;
        let bytes = name.as_os_str().as_bytes();
        // Git would take a name in quotes for one with escapes, and a line's end for the name's.
        ensure!(!bytes.starts_with(b"\"") && !bytes.contains(&b'\n'), "failed to import the name {name:?}");
        if metadata.is_symlink() {
            entry(
                &mut text,
                "120000",
                bytes,
                fs::read_link(&path).with_context(failed)?.as_os_str().as_bytes(),
            );
        } else {
            let executable = metadata.permissions().mode() & 0o111 != 0;
            let mode = if executable { "100755" } else { "100644" };
            entry(&mut text, mode, bytes, &fs::read(&path).with_context(failed)?);
        }
        out.write_all(&text).context("failed to write to git fast-import")?;
        text.clear();
    }
    out.write_all(b"reset refs/tags/base\nfrom :1\n\n").context("failed to write to git fast-import")
}
