//! What the runtime logs as errors: its own error values often leave the cause out.

use std::sync::{Arc, Mutex, PoisonError};

use ort::logging::{LogLevel, LoggerFunction};

/// The errors that were logged.
#[derive(Clone, Default)]
pub struct Complaints(Arc<Mutex<Vec<String>>>);

impl Complaints {
    /// A logger that keeps errors and drops the rest.
    pub fn logger(&self) -> LoggerFunction {
        let complaints = self.clone();
        Arc::new(move |level, _category, _id, _location, message| {
            if matches!(level, LogLevel::Error | LogLevel::Fatal) {
                complaints.0.lock().unwrap_or_else(PoisonError::into_inner).push(message.to_owned());
            }
        })
    }

    /// The error with what was logged as its cause, unless it says so itself.
    pub fn explain(&self, error: ort::Error) -> anyhow::Error {
        match self.besides(error.message()) {
            Some(cause) => anyhow::Error::msg(cause).context(error.to_string()),
            None => error.into(),
        }
    }

    fn besides(&self, message: &str) -> Option<String> {
        let complaints = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let others: Vec<&str> = complaints
            .iter()
            .map(|complaint| complaint.trim())
            .filter(|other| !message.contains(other))
            .collect();
        (!others.is_empty()).then(|| others.join("; "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_kept_and_the_rest_is_dropped() {
        let complaints = Complaints::default();
        let logger = complaints.logger();
        logger(LogLevel::Warning, "c", "i", "l", "slow");
        logger(LogLevel::Error, "c", "i", "l", "no library");
        logger(LogLevel::Fatal, "c", "i", "l", "no hope");
        assert_eq!(complaints.besides("failed").as_deref(), Some("no library; no hope"));
        assert_eq!(complaints.besides("failed: no hope").as_deref(), Some("no library"));
        assert_eq!(complaints.besides("no library, no hope"), None);
    }
}
