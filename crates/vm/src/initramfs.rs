//! Builds a guest's initramfs in process: a `newc` archive that depends on nothing but its content.

use std::io::Write;

use anyhow::{Context, Result};
use cpio::newc::{Builder, ModeFileType, trailer};
use mthp_record::job::{JOB_PATH, Job};

/// The kernel reads archives in these units.
const BLOCK: usize = 512;

/// Something that lies in an initramfs.
#[derive(Clone, Copy, Debug)]
pub enum Member<'a> {
    /// An empty folder.
    Folder {
        /// Its path, with or without a leading `/`.
        path: &'a str,
    },
    /// A file.
    File {
        /// Its path; its folder goes before it.
        path: &'a str,
        /// Its permissions, for example `0o755`.
        permissions: u32,
        /// Its content.
        content: &'a [u8],
    },
    /// A symbolic link.
    Link {
        /// Its path.
        path: &'a str,
        /// Where it points.
        target: &'a str,
    },
    /// A character device.
    Device {
        /// Its path.
        path: &'a str,
        /// Its numbers.
        major: u32,
        /// The second of them.
        minor: u32,
    },
}

/// The initramfs of a job: the runner as `/init`, the job, the folders and the console the runner needs.
///
/// # Errors
/// When the job or the archive cannot be written.
pub fn build(runner: &[u8], job: &Job) -> Result<Vec<u8>> {
    build_with(runner, job, &[])
}

/// As [`build`], with more members.
///
/// # Errors
/// When the job or the archive cannot be written.
pub fn build_with(runner: &[u8], job: &Job, more: &[Member<'_>]) -> Result<Vec<u8>> {
    let job = serde_json::to_vec(job).context("failed to write the job as JSON")?;
    let mut members: Vec<Member<'_>> =
        ["dev", "proc", "sys", "tmp", "run"].map(|path| Member::Folder { path }).into();
    members.extend([
        Member::Device { path: "dev/console", major: 5, minor: 1 },
        Member::File { path: "init", permissions: 0o755, content: runner },
        Member::File { path: JOB_PATH, permissions: 0o444, content: &job },
    ]);
    members.extend_from_slice(more);
    archive(&members)
}

/// An archive of these members, in this order.
///
/// # Errors
/// When a member is too large for the format.
pub fn archive(members: &[Member<'_>]) -> Result<Vec<u8>> {
    let mut out = Vec::new();
    for (number, member) in (1..).zip(members) {
        out = append(out, number, member)?;
    }
    let mut out = trailer(out).context("failed to end the initramfs")?;
    out.resize(out.len().next_multiple_of(BLOCK), 0);
    Ok(out)
}

fn append(out: Vec<u8>, number: u32, member: &Member<'_>) -> Result<Vec<u8>> {
    let (path, kind, permissions, content): (_, _, _, &[u8]) = match *member {
        Member::Folder { path } => (path, ModeFileType::Directory, 0o755, &[]),
        Member::File { path, permissions, content } => (path, ModeFileType::Regular, permissions, content),
        Member::Link { path, target } => (path, ModeFileType::Symlink, 0o777, target.as_bytes()),
        Member::Device { path, .. } => (path, ModeFileType::Char, 0o600, &[]),
    };
    let path = path.trim_start_matches('/');
    let mut entry = Builder::new(path).ino(number).mode(permissions).set_mode_file_type(kind);
    if let Member::Device { major, minor, .. } = *member {
        entry = entry.rdev_major(major).rdev_minor(minor);
    }
    let size = u32::try_from(content.len()).with_context(|| format!("failed to pack {path}: too large"))?;
    let mut writer = entry.write(out, size);
    writer.write_all(content).with_context(|| format!("failed to pack {path}"))?;
    writer.finish().with_context(|| format!("failed to pack {path}"))
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use cpio::newc::Reader;

    use super::*;

    fn job() -> Job {
        Job {
            nonce: 7,
            tests: vec!["placement/*".to_owned()],
            scenarios: Vec::new(),
            selftests: Vec::new(),
            test_deadline_secs: 60,
            misbehave: None,
        }
    }

    #[test]
    fn the_archive_holds_the_runner_and_the_job() {
        let more = [
            Member::Folder { path: "data" },
            Member::File { path: "/data/shard", permissions: 0o644, content: b"abc" },
            Member::Link { path: "/data/link", target: "/data/shard" },
        ];
        let bytes = build_with(b"\x7fELF", &job(), &more).unwrap();
        assert_eq!(bytes.len() % 512, 0);
        let mut seen = Vec::new();
        let mut rest = bytes.as_slice();
        loop {
            let mut reader = Reader::new(rest).unwrap();
            if reader.entry().is_trailer() {
                break;
            }
            let mut content = Vec::new();
            reader.read_to_end(&mut content).unwrap();
            let entry = reader.entry();
            assert_eq!(entry.mtime(), 0);
            seen.push((entry.name().to_owned(), entry.mode(), entry.ino(), content));
            rest = reader.finish().unwrap();
        }
        let names: Vec<_> = seen.iter().map(|(name, mode, ..)| format!("{mode:06o} {name}")).collect();
        assert_eq!(
            names,
            [
                "040755 dev",
                "040755 proc",
                "040755 sys",
                "040755 tmp",
                "040755 run",
                "020600 dev/console",
                "100755 init",
                "100444 job.json",
                "040755 data",
                "100644 data/shard",
                "120777 data/link",
            ]
        );
        assert_eq!(seen[10].3, b"/data/shard");
        assert_eq!(seen[6].3, b"\x7fELF");
        assert_eq!(serde_json::from_slice::<Job>(&seen[7].3).unwrap(), job());
        assert_eq!(seen.iter().map(|(.., ino, _)| *ino).collect::<Vec<_>>(), (1..=11).collect::<Vec<_>>());
    }

    #[test]
    fn the_same_content_gives_the_same_bytes() {
        assert_eq!(build(b"x", &job()).unwrap(), build(b"x", &job()).unwrap());
    }
}
