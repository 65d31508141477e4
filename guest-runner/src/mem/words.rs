//! What memory holds, word by word.

use anyhow::{Result, ensure};

use super::Area;

/// One word.
const WORD: usize = size_of::<u64>();

impl Area {
    /// Writes one word at every `step` bytes: a value that no other place gets.
    ///
    /// # Errors
    /// When the steps leave no room for words.
    pub fn fill_words(&self, step: usize) -> Result<()> {
        for offset in self.words(step)? {
            self.write_word(offset, value_at(offset))?;
        }
        Ok(())
    }

    /// How many of the words that [`Area::fill`] wrote are no longer there.
    ///
    /// # Errors
    /// When the steps leave no room for words.
    pub fn lost_words(&self, step: usize) -> Result<usize> {
        let mut lost = 0;
        for offset in self.words(step)? {
            lost += usize::from(self.read_word(offset)? != value_at(offset));
        }
        Ok(lost)
    }

    /// Writes one word.
    ///
    /// # Errors
    /// When it does not lie in the area, or across words.
    pub fn write_word(&self, offset: usize, value: u64) -> Result<()> {
        let address = self.word(offset)?;
        // SAFETY: the word lies in this mapping, which is writable while `self` lives, and is aligned; nothing else
        // in the process refers to its bytes.
        unsafe { std::ptr::write_volatile(std::ptr::with_exposed_provenance_mut(address), value) };
        Ok(())
    }

    /// Reads one word.
    ///
    /// # Errors
    /// When it does not lie in the area, or across words.
    pub fn read_word(&self, offset: usize) -> Result<u64> {
        let address = self.word(offset)?;
        // SAFETY: the word lies in this mapping, which is readable while `self` lives, and is aligned.
        Ok(unsafe { std::ptr::read_volatile(std::ptr::with_exposed_provenance(address)) })
    }

    fn words(&self, step: usize) -> Result<impl Iterator<Item = usize>> {
        ensure!(step >= WORD && step.is_multiple_of(WORD), "words cannot be {step} bytes apart");
        Ok((0..self.range().len()).step_by(step))
    }

    fn word(&self, offset: usize) -> Result<usize> {
        ensure!(offset.is_multiple_of(WORD), "the word at {offset:#x} lies across words");
        ensure!(offset + WORD <= self.range().len(), "the word at {offset:#x} lies outside of the area");
        Ok(self.start() + offset)
    }
}

fn value_at(offset: usize) -> u64 {
    // Never zero, and different in each page and in each word of it.
    0x6d74_6870_0000_0000 ^ (offset as u64)
}

#[cfg(test)]
mod tests {
    use crate::mem::{self, Kind, PAGE};

    #[test]
    fn what_was_written_is_there_and_what_was_overwritten_is_lost() {
        let area = mem::map(Kind::Private, 4 * PAGE).unwrap();
        assert_eq!(area.lost_words(PAGE / 2).unwrap(), 8);
        area.fill_words(PAGE / 2).unwrap();
        assert_eq!(area.lost_words(PAGE / 2).unwrap(), 0);
        area.write_word(PAGE, 0).unwrap();
        assert_eq!(area.lost_words(PAGE / 2).unwrap(), 1);
    }

    #[test]
    fn no_word_lies_outside() {
        let area = mem::map(Kind::Private, PAGE).unwrap();
        assert!(area.read_word(PAGE).is_err());
        assert!(area.read_word(4).is_err());
        assert!(area.write_word(PAGE - 4, 1).is_err());
        assert!(area.fill_words(4).is_err());
    }
}
