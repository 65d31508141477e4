//! Finds QEMU and learns which one it is.

use std::{
    env,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::mpsc,
    thread,
    time::Duration,
};

use anyhow::{Context, Result, bail};
use nix::{
    sys::signal::{Signal, killpg},
    unistd::Pid,
};

use crate::{machine::in_option, plan::MachineKind, text::printable};

/// For a question that QEMU answers at once.
const ANSWER_DEADLINE: Duration = Duration::from_secs(10);
const PROGRAM: &str = "qemu-system-x86_64";
const OLDEST: (u32, u32) = (7, 2);

/// A QEMU that can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Qemu {
    /// Where it lies.
    pub binary: PathBuf,
    /// Its version as it says it, for example `7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)`.
    pub version: String,
    /// The first number of its version.
    pub major: u32,
    /// The second.
    pub minor: u32,
    /// The machines of ours that it has, the fastest first.
    pub machines: Vec<MachineKind>,
}

impl Qemu {
    /// Finds QEMU: the file at `path`, or the one on `PATH`. Nothing is installed.
    ///
    /// # Errors
    /// When there is none, it does not answer, is older than 7.2, or has none of our machines.
    pub fn find(path: Option<&Path>) -> Result<Self> {
        let binary = match path {
            Some(path) if path.is_file() => path.to_owned(),
            Some(path) => bail!("failed to find QEMU at {}", path.display()),
            None => on_path().with_context(|| {
                format!("failed to find {PROGRAM} on PATH; on Debian: sudo apt-get install qemu-system-x86")
            })?,
        };
        let said = answer(&binary, &["--version"])?;
        let (version, major, minor) = parse_version(&said)
            .with_context(|| format!("failed to read a version in what {} says", binary.display()))?;
        if (major, minor) < OLDEST {
            bail!(
                "failed to find a usable QEMU: {} is {version}, the oldest supported is {}.{}; \
                 on Debian: sudo apt-get install qemu-system-x86",
                binary.display(),
                OLDEST.0,
                OLDEST.1
            );
        }
        let machines = parse_machines(&answer(&binary, &["-machine", "help"])?);
        if machines.is_empty() {
            bail!("failed to find the machines microvm or q35 in {}", binary.display());
        }
        Ok(Self { binary, version, major, minor, machines })
    }

    /// Can it load the plugin in this file, which then says `ready` on standard error and ends it?
    ///
    /// # Errors
    /// Why it cannot, in QEMU's own words where it has any.
    pub fn takes_plugin(&self, file: &Path, ready: &str) -> Result<(), String> {
        let option = in_option(&format!("file={}", file.display()));
        let arguments = ["-nodefaults", "-machine", "none", "-display", "none", "-plugin", &option];
        let output = output_within(ANSWER_DEADLINE, &self.binary, &arguments);
        took_plugin(&output.map_err(|error| format!("{error:#}"))?, ready)
    }

    /// The machine to use where the user asks for none.
    #[must_use]
    pub fn default_machine(&self) -> MachineKind {
        self.machines.first().copied().unwrap_or(MachineKind::Q35)
    }
}

fn took_plugin(output: &Output, ready: &str) -> Result<(), String> {
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains(ready) {
        return Ok(());
    }
    let said = printable(said.trim());
    Err(if said.is_empty() { format!("it loads no plugin ({})", output.status) } else { said })
}

fn on_path() -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(PROGRAM)).find(|file| file.is_file())
}

fn answer(binary: &Path, arguments: &[&str]) -> Result<String> {
    answer_within(ANSWER_DEADLINE, binary, arguments)
}

fn answer_within(deadline: Duration, binary: &Path, arguments: &[&str]) -> Result<String> {
    let output = output_within(deadline, binary, arguments)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = if said.trim().is_empty() { "it said nothing" } else { said.trim() };
        bail!("failed to run {}: {}: {said}", question(binary, arguments), output.status);
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn question(binary: &Path, arguments: &[&str]) -> String {
    format!("{} {}", binary.display(), arguments.join(" "))
}

fn output_within(deadline: Duration, binary: &Path, arguments: &[&str]) -> Result<Output> {
    let question = question(binary, arguments);
    let child = Command::new(binary)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .process_group(0)
        .spawn()
        .with_context(|| format!("failed to run {question}"))?;
    let group = Pid::from_raw(i32::try_from(child.id()).context("failed to read a process's number")?);
    let (sender, receiver) = mpsc::channel();
    // It outlives the deadline only until its child, killed, has ended.
    thread::spawn(move || sender.send(child.wait_with_output()));
    let Ok(output) = receiver.recv_timeout(deadline) else {
        // One that ended meanwhile needs no killing.
        let _ = killpg(group, Signal::SIGKILL);
        bail!("failed to run {question}: no answer within {deadline:?}");
    };
    output.with_context(|| format!("failed to run {question}"))
}

/// `QEMU emulator version 7.2.22 (Debian …)` → the version and its first two numbers.
fn parse_version(text: &str) -> Option<(String, u32, u32)> {
    let version = text.lines().next()?.strip_prefix("QEMU emulator version ")?.trim();
    let mut numbers = version.split(|c: char| !c.is_ascii_digit());
    let (major, minor) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    Some((version.to_owned(), major, minor))
}

fn parse_machines(help: &str) -> Vec<MachineKind> {
    let has = |kind: MachineKind| {
        help.lines().any(|line| line.split_whitespace().next() == Some(kind.to_string().as_str()))
    };
    [MachineKind::Microvm, MachineKind::Q35].into_iter().filter(|kind| has(*kind)).collect()
}

#[cfg(test)]
mod tests {
    use std::{os::unix::process::ExitStatusExt, process::ExitStatus};

    use super::*;

    #[test]
    fn a_qemu_that_never_answers_has_a_deadline() {
        let error = answer_within(Duration::from_millis(50), Path::new("/bin/sh"), &["-c", "kill -STOP $$"]);
        let error = match error {
            Ok(said) => panic!("it answered {said:?}"),
            Err(error) => format!("{error:#}"),
        };
        assert!(error.contains("no answer within 50ms"), "{error}");
    }

    #[test]
    fn a_plugin_is_taken_only_by_a_qemu_that_runs_it() {
        const READY: &str = "the plugin can be used";
        // In QEMU's words (plugins/loader.c).
        const OLD: &str = "Could not load plugin p.so: plugin requires API version 1, but this QEMU supports only a \
                           minimum version of 2";
        for (status, said, taken) in [
            (0x100, "the plugin can be used\n", Ok(())),
            (0x100, "qemu: -plugin: invalid option\n", Err("qemu: -plugin: invalid option")),
            (0x100, OLD, Err(OLD)),
            (0x100, "", Err("it loads no plugin (exit status: 1)")),
            (0, "", Err("it loads no plugin (exit status: 0)")),
            (11, " \n", Err("it loads no plugin (signal: 11 (SIGSEGV))")),
        ] {
            let status = ExitStatus::from_raw(status);
            let output = Output { status, stdout: READY.into(), stderr: said.into() };
            assert_eq!(took_plugin(&output, READY), taken.map_err(str::to_owned), "{said:?}");
        }
    }

    #[test]
    fn a_qemu_that_fails_without_a_word_is_told_as_such() {
        let error = format!("{:#}", answer(Path::new("/bin/false"), &["--version"]).unwrap_err());
        assert!(error.ends_with("it said nothing"), "{error}");
    }

    #[test]
    fn versions_of_debian_12_and_13_are_read() {
        let text = "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)\nCopyright (c)\n";
        let (version, major, minor) = parse_version(text).unwrap();
        assert_eq!(version, "7.2.22 (Debian 1:7.2+dfsg-7+deb12u18+b3)");
        assert_eq!((major, minor), (7, 2));
        let (_, major, minor) = parse_version("QEMU emulator version 10.0.2\n").unwrap();
        assert_eq!((major, minor), (10, 0));
        assert_eq!(parse_version("GNU bash, version 5"), None);
    }

    #[test]
    fn machines_are_taken_from_the_list() {
        let help = "Supported machines are:\nmicrovm              microvm (i386)\n\
                    q35                  Standard PC (Q35 + ICH9, 2009) (alias of pc-q35-7.2)\npc-q35-7.2 x\n";
        assert_eq!(parse_machines(help), [MachineKind::Microvm, MachineKind::Q35]);
        assert_eq!(parse_machines("pc-q35-7.2  Standard PC\nq35 x"), [MachineKind::Q35]);
    }

    #[test]
    fn a_missing_qemu_is_named() {
        let error = Qemu::find(Some(Path::new("/nonexistent/qemu"))).unwrap_err();
        assert_eq!(error.to_string(), "failed to find QEMU at /nonexistent/qemu");
    }
}
