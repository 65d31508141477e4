//! The guest's side of [`mthp_record::cost::mark`]: marks as instructions.
//!
//! Without a plugin they do nothing and cost a few nanoseconds.

pub mod huge;
pub mod pagemap;

use std::arch::asm;

use mthp_record::cost::{Mark, mark::is_name};

/// Its bytes are never looked at: only where they lie matters.
#[repr(C, align(256))]
struct Alphabet([u8; 256]);

static ALPHABET: Alphabet = Alphabet([0; 256]);

/// A region that has begun; it ends where this goes.
#[derive(Debug)]
#[must_use = "a region ends where its guard goes"]
pub struct Region(());

impl Region {
    /// Begins a region in this thread, inside those it is in already. A name that [`is_name`] refuses is said
    /// all the same, cut short: the plugin tells the fault.
    pub fn begin(name: &str) -> Self {
        debug_assert!(is_name(name), "{name:?}");
        for byte in name.bytes() {
            let letter = &raw const ALPHABET.0[usize::from(byte)];
            // SAFETY: the NOP touches nothing, and the byte behind the pointer is part of a static.
            unsafe {
                asm!(
                    ".byte 0x0f, 0x1f, 0x80",
                    ".long {mark}",
                    "movb ({letter}), {scratch}",
                    mark = const Mark::Letter.displacement(),
                    letter = in(reg) letter,
                    scratch = out(reg_byte) _,
                    options(att_syntax, nostack, readonly, preserves_flags)
                );
            }
        }
        // SAFETY: as above. The jumps give an emulator that translates anew the chance to begin.
        unsafe {
            asm!(
                ".byte 0x0f, 0x1f, 0x80",
                ".long {mark}",
                "jmp 2f",
                "2: jmp 3f",
                "3:",
                mark = const Mark::Begin.displacement(),
                options(att_syntax, nostack, preserves_flags)
            );
        }
        Self(())
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        let mut control = 0_u16;
        // The store of the FPU's control word is an instruction that QEMU makes by a helper: it ends the callbacks of
        // an earlier one that QEMU before 8.0 leaves in place, and that would be called when the translation they
        // belong to is gone, which the end of a region brings about. The store counts as one of the region's.
        // SAFETY: the store is to a variable, the NOP touches nothing. It is no `nomem`: accesses before it stay
        // before it.
        unsafe {
            asm!(
                "fnstcw ({control})",
                ".byte 0x0f, 0x1f, 0x80",
                ".long {mark}",
                "jmp 2f",
                "2: jmp 3f",
                "3:",
                control = in(reg) &raw mut control,
                mark = const Mark::End.displacement(),
                options(att_syntax, nostack, preserves_flags)
            );
        }
    }
}

/// Tells that the addresses in `huge`, one in each 2 MiB block, are mapped by huge pages, and no others are.
/// Each is read once. [`huge::blocks`] finds them.
///
/// # Safety
/// Each address is readable.
pub unsafe fn tell_huge(huge: impl IntoIterator<Item = usize>) {
    // SAFETY: the NOP touches nothing.
    unsafe {
        asm!(
            ".byte 0x0f, 0x1f, 0x80",
            ".long {mark}",
            mark = const Mark::Small.displacement(),
            options(att_syntax, nostack, preserves_flags)
        );
    }
    for address in huge {
        // SAFETY: the NOP touches nothing; the caller vouches for the address.
        unsafe {
            asm!(
                ".byte 0x0f, 0x1f, 0x80",
                ".long {mark}",
                "movb ({address}), {scratch}",
                mark = const Mark::Huge.displacement(),
                address = in(reg) address,
                scratch = out(reg_byte) _,
                options(att_syntax, nostack, readonly, preserves_flags)
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_plugin_nothing_happens() {
        let value = Box::new(7);
        let outer = Region::begin("a/b");
        {
            let _inner = Region::begin("a/b/c");
            // SAFETY: a box's own address is readable.
            unsafe { tell_huge([&raw const *value as usize]) };
        }
        drop(outer);
        assert_eq!(*value, 7);
    }
}
