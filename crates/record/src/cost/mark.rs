//! How a guest's program speaks to the plugin: by an instruction that does nothing, and by where it looks next.
//!
//! A mark is a long NOP, `nopl DISPLACEMENT(%rax)`, whose displacement says which one it is: compilers emit that
//! form with a displacement of zero only, and no register or memory changes. What a mark is about is told by the
//! address of the next access in user space: so no version of the plugin's interface must let a plugin read the
//! guest's registers or memory.

/// The first bytes of `nopl disp32(%rax)`; the displacement follows, the lowest byte first.
pub const OPCODE: [u8; 3] = [0x0f, 0x1f, 0x80];
/// The length of the whole instruction in bytes.
pub const LENGTH: usize = 7;
/// The upper bytes of every mark's displacement: "MTH" in ASCII.
const MAGIC: u32 = 0x4d54_4800;

/// The longest name of a region, in bytes.
pub const MAX_NAME: usize = 96;

/// What a program can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Mark {
    /// The next access's address, its lowest 8 bits, is a byte of the name of the region that begins next.
    Letter = MAGIC | 1,
    /// A region begins in this thread, inside those it is in already. Its name are the letters said since.
    Begin = MAGIC | 2,
    /// The thread's innermost region ends.
    End = MAGIC | 3,
    /// The 2 MiB around the next access's address are mapped by one entry of a page middle directory.
    Huge = MAGIC | 4,
    /// Forget all that was said by [`Mark::Huge`]. A fault in a task that is in a region.
    Small = MAGIC | 5,
}

impl Mark {
    const ALL: [Self; 5] = [Self::Letter, Self::Begin, Self::End, Self::Huge, Self::Small];

    /// The instruction's displacement.
    #[must_use]
    pub const fn displacement(self) -> u32 {
        self as u32
    }

    /// The mark that an instruction's bytes are, if they are one.
    #[must_use]
    pub fn decode(instruction: &[u8]) -> Option<Self> {
        Self::of(instruction.strip_prefix(&OPCODE)?.try_into().ok().map(u32::from_le_bytes)?)
    }

    /// The mark of a displacement, if it is one's.
    #[must_use]
    pub fn of(displacement: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|mark| mark.displacement() == displacement)
    }

    /// Is it about the address of the next access?
    #[must_use]
    pub const fn looks_ahead(self) -> bool {
        matches!(self, Self::Letter | Self::Huge)
    }
}

/// May a region be called so? Letters, digits and `-+./` only, at most [`MAX_NAME`] of them.
#[must_use]
pub fn is_name(name: &str) -> bool {
    let known = |byte: u8| byte.is_ascii_alphanumeric() || b"-+./".contains(&byte);
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_is_read_back_from_its_instruction() {
        for mark in Mark::ALL {
            let mut bytes = OPCODE.to_vec();
            bytes.extend(mark.displacement().to_le_bytes());
            assert_eq!(bytes.len(), LENGTH);
            assert_eq!(Mark::decode(&bytes), Some(mark));
            bytes.push(0x90);
            assert_eq!(Mark::decode(&bytes), None, "a longer instruction is none");
        }
    }

    #[test]
    fn what_compilers_pad_with_is_no_mark() {
        assert_eq!(Mark::decode(&[0x0f, 0x1f, 0x80, 0, 0, 0, 0]), None);
        assert_eq!(Mark::decode(&[0x90]), None);
        assert_eq!(Mark::decode(&[]), None);
    }

    #[test]
    fn a_name_is_short_and_plain() {
        assert!(is_name("cost/stencil-24x4632KiB/sweep"));
        assert!(!is_name(""));
        assert!(!is_name("a b"));
        assert!(!is_name("a[b]"));
        assert!(!is_name(&"a".repeat(MAX_NAME + 1)));
    }
}
