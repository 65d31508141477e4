//! How long each phase took.

use std::time::Instant;

use mthp_judge::report::PhaseTiming;

/// Collects the phases of one run.
#[derive(Debug, Default)]
pub struct Timings(Vec<PhaseTiming>);

impl Timings {
    /// Runs a phase and notes how long it took.
    pub fn time<T>(&mut self, name: &str, run: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = run();
        self.note(name, started, None);
        result
    }

    /// Notes a phase that began at `started` and ends now.
    pub fn note(&mut self, name: &str, started: Instant, cpu_millis: Option<u64>) {
        let wall_millis = u64::try_from(started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.push(PhaseTiming { name: name.to_owned(), wall_millis, cpu_millis });
    }

    /// All of them.
    #[must_use]
    pub fn into_vec(self) -> Vec<PhaseTiming> {
        self.0
    }
}
