//! Repositories, filled by `git fast-import`.

use std::{
    fs,
    io::{BufWriter, Read, Seek, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context, Result, bail};
use mthp_kernel::process;

/// A bare repository that is being made.
pub(super) struct Repository {
    path: PathBuf,
}

/// In the repository: what each commit's number in the stream became.
const MARKS: &str = "marks";

impl Repository {
    /// Makes an empty one, which may borrow the objects of another.
    pub(super) fn create(path: &Path, lender: Option<&Path>) -> Result<Self> {
        let mut init = git();
        init.args([
            "init",
            "--quiet",
            "--bare",
            "--template=",
            "--object-format=sha1",
            "--initial-branch=main",
        ]);
        process::capture(init.arg(path))?;
        if let Some(lender) = lender {
            let folder = path.join("objects/info");
            let text = format!("{}\n", lender.join("objects").display());
            fs::create_dir_all(&folder)
                .and_then(|()| fs::write(folder.join("alternates"), text))
                .with_context(|| format!("failed to write {}", folder.display()))?;
        }
        // It is packed as well as it will ever be.
        process::capture(git().arg("-C").arg(path).args(["config", "gc.auto", "0"]))?;
        Ok(Self { path: path.to_owned() })
    }

    /// Imports the stream that `write` writes.
    pub(super) fn import(&self, write: impl FnOnce(&mut dyn Write) -> Result<()>) -> Result<()> {
        let mut said = tempfile::tempfile().context("failed to make a file for git's words")?;
        let mut import = git();
        // Fast rather than small: no deltas, the least compression, and one pack whatever its size.
        import.arg("-C").arg(&self.path).args(["-c", "core.compression=1", "-c", "fastimport.unpackLimit=1"]);
        import.args(["fast-import", "--quiet", "--done", "--depth=0"]);
        import.arg(format!("--export-marks={MARKS}"));
        import.stdin(Stdio::piped()).stdout(Stdio::null());
        import.stderr(said.try_clone().context("failed to share git's words")?);
        let mut child = import.spawn().context("failed to start git fast-import")?;
        let input = child.stdin.take().context("failed to write to git fast-import")?;
        let mut out = BufWriter::with_capacity(1 << 20, input);
        let written =
            write(&mut out).and_then(|()| Ok(out.write_all(b"done\n")?)).and_then(|()| Ok(out.flush()?));
        // Without the last word git ends, and with an error, which tells more than a broken pipe.
        drop(out);
        let status = child.wait().context("failed to wait for git fast-import")?;
        if !status.success() {
            let mut text = String::new();
            said.rewind()
                .and_then(|()| said.read_to_string(&mut text))
                .context("failed to read git's words")?;
            let error = anyhow::anyhow!("git fast-import ended with {status}: {}", text.trim_end());
            return match written {
                Err(cause) => Err(cause.context(error)),
                Ok(()) => Err(error),
            };
        }
        written
    }
}

/// The commits of a stream by their numbers, from 1.
pub(super) fn marks(repository: &Path) -> Result<Vec<String>> {
    let path = repository.join(MARKS);
    let text = fs::read_to_string(&path).with_context(|| format!("failed to read {}", path.display()))?;
    let mut marks = Vec::new();
    for line in text.lines() {
        let mark = line.strip_prefix(':').and_then(|line| line.split_once(' '));
        match mark.and_then(|(number, id)| Some((number.parse::<usize>().ok()?, id))) {
            Some((number, id)) => marks.push((number, id.to_owned())),
            None => bail!("failed to read {}: '{line}' is no mark", path.display()),
        }
    }
    marks.sort();
    Ok(marks.into_iter().map(|(_, id)| id).collect())
}

/// `git` that heeds no setting of the user's: hashes must repeat, and a hook's variables point elsewhere.
pub(super) fn git() -> Command {
    let mut git = Command::new("git");
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"] {
        git.env_remove(name);
    }
    git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1").env("LC_ALL", "C");
    git
}
