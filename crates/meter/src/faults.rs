//! What was wrong, in words.

/// The most that are told, each once: a guest may do wrong as often as it likes.
const MAX_FAULTS: usize = 64;

/// What was wrong. It only ever grows, so that what was lost makes no account look whole.
#[derive(Debug, Default)]
pub(crate) struct Faults(Vec<String>);

impl Faults {
    pub(crate) fn tell(&mut self, what: String) {
        if self.0.len() <= MAX_FAULTS && !self.0.contains(&what) {
            let last = self.0.len() == MAX_FAULTS;
            self.0.push(if last { "there is more that was wrong".to_owned() } else { what });
        }
    }

    /// All that was told.
    pub(crate) fn told(&self) -> Vec<String> {
        self.0.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_told_once_and_no_more_than_can_be_read() {
        let mut faults = Faults::default();
        for number in (0..64).chain(0..64) {
            faults.tell(format!("{number}"));
        }
        assert_eq!(faults.told().len(), 64);
        for number in 64..1000 {
            faults.tell(format!("{number}"));
        }
        assert_eq!(faults.told().len(), 65);
        assert_eq!(faults.told()[63..], ["63", "there is more that was wrong"]);
    }
}
