//! What a person sees: progress on stderr, the answer on stdout, and errors with what to do next.

mod progress;

use std::{
    io::{IsTerminal, Write},
    process::ExitCode,
};

use mthp_judge::exit;

pub use progress::Progress;

/// Prints the command line's error (or help, which is none) and gives the exit code for it.
pub fn usage(error: &clap::Error) -> ExitCode {
    // A closed terminal is no reason to fail differently.
    let _ = error.print();
    if error.use_stderr() { ExitCode::from(exit::USAGE) } else { ExitCode::SUCCESS }
}

/// Prints an error with all its causes and gives its exit code: 2 if what the user gave cannot be used,
/// 69 if the machinery failed.
pub fn failure(error: &anyhow::Error) -> ExitCode {
    say(&format!("error: {error:#}"));
    let usage = error.chain().any(mthp_kernel::is_bad_input);
    ExitCode::from(if usage { exit::USAGE } else { exit::MACHINERY })
}

/// One line (or block) to the person, on stderr.
pub fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

/// The answer, on stdout.
pub fn answer(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes());
    if !text.ends_with('\n') {
        let _ = out.write_all(b"\n");
    }
    let _ = out.flush();
}

/// The terminal's width where it does not tell.
const WIDTH: u16 = 100;

/// Columns of the answer.
pub fn width() -> u16 {
    console::Term::stdout().size_checked().map_or(WIDTH, |(_, columns)| columns.max(80))
}

/// May the answer carry colour? Not without a terminal, nor with `NO_COLOR` set.
pub fn colour() -> bool {
    std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}
