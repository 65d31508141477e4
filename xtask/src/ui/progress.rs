//! Progress on stderr: bars on a terminal, plain lines in a log.

use std::{
    collections::BTreeMap,
    io::IsTerminal,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use mthp_lab::Event;

use super::say;

/// Consumes the events of an experiment; may be called from several threads.
#[derive(Debug)]
pub struct Progress {
    terminal: Option<Bars>,
}

#[derive(Debug)]
struct Bars {
    all: MultiProgress,
    /// What is going on now, by its label.
    running: Mutex<BTreeMap<String, ProgressBar>>,
}

impl Progress {
    /// Bars if stderr is a terminal that can draw them, plain lines otherwise.
    #[must_use]
    pub fn new() -> Self {
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let terminal = (std::io::stderr().is_terminal() && !dumb)
            .then(|| Bars { all: MultiProgress::new(), running: Mutex::default() });
        Self { terminal }
    }

    /// Shows one event.
    pub fn on(&self, event: &Event) {
        match event {
            Event::Began { label, what } => self.began(label, what),
            Event::Now { label, what } => self.now(label, what),
            Event::Ended { label, what } => self.ended(label, what),
        }
    }

    fn began(&self, label: &str, what: &str) {
        match &self.terminal {
            Some(bars) => {
                let bar = bars.all.add(ProgressBar::new_spinner());
                if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {wide_msg} {elapsed}") {
                    bar.set_style(style);
                }
                bar.set_prefix(label.to_owned());
                bar.set_message(what.to_owned());
                bar.enable_steady_tick(Duration::from_millis(120));
                bars.running.lock().unwrap_or_else(PoisonError::into_inner).insert(label.to_owned(), bar);
            }
            None => say(&format!("{label}: {what}")),
        }
    }

    /// Small steps are for a bar only: a log would drown in them.
    fn now(&self, label: &str, what: &str) {
        if let Some(bars) = &self.terminal
            && let Some(bar) = bars.running.lock().unwrap_or_else(PoisonError::into_inner).get(label)
        {
            bar.set_message(what.to_owned());
        }
    }

    fn ended(&self, label: &str, what: &str) {
        match &self.terminal {
            Some(bars) => {
                if let Some(bar) = bars.running.lock().unwrap_or_else(PoisonError::into_inner).remove(label) {
                    bar.finish_and_clear();
                }
                // A terminal that went away takes no more lines; the run goes on.
                let _ = bars.all.println(format!("{label}: {what}"));
            }
            None => say(&format!("{label}: {what}")),
        }
    }
}
