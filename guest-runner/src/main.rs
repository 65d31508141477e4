//! PID 1 of a guest: reads its job, runs each test in a process of its own, sends what they found over
//! a virtio-serial port, and ends the machine.

mod init;
mod isolate;
mod ksm;
mod mem;
mod misbehave;
mod needs;
mod port;
mod proc;
mod random;
mod runner;
mod selftest;
mod session;
mod smaps;
mod snapshot;
mod suite;
mod thp;
mod tidy;
mod workload;

use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [_, "--test", name] => runner::as_test(name),
        [_, "--list"] => session::list(),
        [_, "--hog"] => misbehave::hog(),
        _ if std::process::id() == 1 => session::as_init(),
        _ => ExitCode::from(2),
    }
}
