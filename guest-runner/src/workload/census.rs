//! What a program maps: every address-space call it makes, sorted by size class and phase. Pure.

use std::{fmt::Write, ops::Range};

use mthp_record::workload::Phase;
use nix::libc;

use super::live::Live;
use crate::mem::{PAGE, PMD};

/// One call that came back without an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// `mmap`.
    Map {
        /// Where the caller would like it; 0 for anywhere.
        hint: usize,
        /// Where it came to lie.
        start: usize,
        /// Its length as asked for.
        len: usize,
        /// `MAP_…`.
        flags: i32,
    },
    /// `munmap`.
    Unmap {
        /// From where.
        start: usize,
        /// How much.
        len: usize,
    },
    /// `mremap`.
    Remap {
        /// Where it lay.
        start: usize,
        /// How long it was.
        len: usize,
        /// Where it lies.
        new_start: usize,
        /// How long it is.
        new_len: usize,
    },
    /// `brk`.
    Break {
        /// The heap's end after it.
        end: usize,
    },
    /// `madvise`.
    Advise {
        /// From where.
        start: usize,
        /// How much.
        len: usize,
        /// `MADV_…`.
        advice: i32,
    },
}

/// What the placement rules tell apart, and what is address space rather than memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Below the PMD size: no kernel aligns it.
    Small,
    /// A multiple of the PMD size.
    Multiple,
    /// At least the PMD size and no multiple of it: what the rules disagree on.
    Other,
    /// Taken in advance, whatever its size: allocator arenas (`MAP_NORESERVE`) and stacks (`MAP_STACK`). Most of it
    /// never holds a page, and arenas are aligned by the C library itself.
    Reserved,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Small, Self::Multiple, Self::Other, Self::Reserved];

    /// The class of an anonymous private mapping; `None` for one whose place the kernel was told.
    fn of_map(hint: usize, len: usize, flags: i32) -> Option<Self> {
        let anonymous = flags & libc::MAP_ANONYMOUS != 0 && flags & libc::MAP_TYPE == libc::MAP_PRIVATE;
        let fixed = flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) != 0;
        if !anonymous || fixed {
            return None;
        }
        if flags & (libc::MAP_NORESERVE | libc::MAP_STACK) != 0 {
            return Some(Self::Reserved);
        }
        (hint == 0).then(|| Self::of(len))
    }

    /// The class of a length in bytes, which the kernel rounds up to pages.
    pub fn of(len: usize) -> Self {
        let len = len.next_multiple_of(PAGE);
        match len {
            _ if len < PMD => Self::Small,
            _ if len.is_multiple_of(PMD) => Self::Multiple,
            _ => Self::Other,
        }
    }

    /// Its word in the names of metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Small => "small",
            Self::Multiple => "multiple",
            Self::Other => "other",
            Self::Reserved => "reserved",
        }
    }
}

/// The anonymous mappings of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How many were made.
    pub maps: i64,
    /// Their lengths together.
    pub bytes: usize,
    /// How many of them start at a PMD boundary.
    pub aligned: i64,
}

/// All calls of a program, with the phase in which each was made.
#[derive(Clone, Debug, Default)]
pub struct Census {
    calls: Vec<(Stage, Call)>,
    stage: Stage,
    live: Live,
    /// The heap's first end, and its end now.
    heap: Option<(usize, usize)>,
    inference_heap: usize,
}

/// The three parts of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Up to the last session.
    #[default]
    Loading,
    /// From then to the last inference's end.
    Inferring,
    /// After that.
    Over,
}

impl Census {
    /// The program marked a phase. It may load again after it has loaded: `last` says that it will not.
    pub fn mark(&mut self, phase: Phase, last: bool) {
        self.stage = match phase {
            Phase::Ready => Stage::Loading,
            Phase::Loaded if last => Stage::Inferring,
            Phase::Loaded => Stage::Loading,
            Phase::Inferred => Stage::Inferring,
            Phase::Done => Stage::Over,
        };
    }

    /// A call came back.
    pub fn note(&mut self, call: Call) {
        match call {
            Call::Map { hint, start, len, flags } => {
                let range = start..start + len.next_multiple_of(PAGE);
                match Class::of_map(hint, len, flags) {
                    Some(class) => self.live.add(range, class),
                    None => self.live.remove(&range),
                }
            }
            Call::Unmap { start, len } => self.live.remove(&(start..start + len.next_multiple_of(PAGE))),
            Call::Remap { start, len, new_start, new_len } => self.live.moved(
                &(start..start + len.next_multiple_of(PAGE)),
                new_start..new_start + new_len.next_multiple_of(PAGE),
            ),
            Call::Break { end } => {
                let (start, before) = *self.heap.get_or_insert((end, end));
                if self.stage == Stage::Inferring {
                    self.inference_heap += end.saturating_sub(before);
                }
                self.heap = Some((start, end));
            }
            Call::Advise { .. } => {}
        }
        self.calls.push((self.stage, call));
    }

    /// The anonymous mappings that were made in a stage, by class.
    pub fn maps(&self, stage: Stage, class: Class) -> Count {
        let mut count = Count::default();
        for (_, call) in self.calls.iter().filter(|(at, _)| *at == stage) {
            if let Call::Map { hint, start, len, flags } = *call
                && Class::of_map(hint, len, flags) == Some(class)
            {
                count.maps += 1;
                count.bytes += len.next_multiple_of(PAGE);
                count.aligned += i64::from(start.is_multiple_of(PMD));
            }
        }
        count
    }

    /// How many anonymous mappings of any kind were made, moved or resized in a stage.
    pub fn anonymous_maps(&self, stage: Stage) -> usize {
        let anonymous = |call: &Call| match call {
            Call::Map { flags, .. } => flags & libc::MAP_ANONYMOUS != 0,
            Call::Remap { .. } => true,
            _ => false,
        };
        self.calls.iter().filter(|(at, call)| *at == stage && anonymous(call)).count()
    }

    /// How many unmappings were made in a stage.
    pub fn unmaps(&self, stage: Stage) -> usize {
        self.calls.iter().filter(|(at, call)| *at == stage && matches!(call, Call::Unmap { .. })).count()
    }

    /// By how many bytes the heap (`brk`) is larger now than at first.
    pub fn heap_growth(&self) -> usize {
        self.heap.map_or(0, |(start, end)| end.saturating_sub(start))
    }

    /// By how many bytes the heap grew during inferences; what it gave back is not taken off.
    pub fn inference_heap_growth(&self) -> usize {
        self.inference_heap
    }

    /// The anonymous mappings that are there now.
    pub fn live(&self) -> impl Iterator<Item = (Range<usize>, Class)> + '_ {
        self.live.ranges()
    }

    /// The calls of a PMD and more, and all of the inferences: a line each.
    pub fn log(&self) -> String {
        let mut text = String::new();
        for (stage, call) in &self.calls {
            let (len, line) = match *call {
                Call::Map { start, len, flags, .. } => {
                    let kind = if flags & libc::MAP_ANONYMOUS != 0 { "anonymous" } else { "file" };
                    (len, format!("mmap {start:x} {} KiB {kind} flags {flags:#x}", len / 1024))
                }
                Call::Unmap { start, len } => (len, format!("munmap {start:x} {} KiB", len / 1024)),
                Call::Remap { start, len, new_start, new_len } => (
                    len.max(new_len),
                    format!("mremap {start:x} {} KiB to {new_start:x} {} KiB", len / 1024, new_len / 1024),
                ),
                Call::Break { end } => (0, format!("brk {end:x}")),
                Call::Advise { start, len, advice } => {
                    (len, format!("madvise {start:x} {} KiB advice {advice}", len / 1024))
                }
            };
            if len >= PMD || *stage == Stage::Inferring {
                let _ = writeln!(text, "{stage:?} {line}");
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRIVATE: i32 = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;

    #[test]
    fn lengths_are_classed_as_the_kernel_rounds_them() {
        assert_eq!(Class::of(PMD - PAGE), Class::Small);
        assert_eq!(Class::of(PMD - 1), Class::Multiple);
        assert_eq!(Class::of(PMD), Class::Multiple);
        assert_eq!(Class::of(PMD + 1), Class::Other);
        assert_eq!(Class::of(3 * PMD), Class::Multiple);
    }

    #[test]
    fn only_what_the_kernel_places_is_counted() {
        let mut census = Census::default();
        census.note(Call::Map { hint: 0, start: PMD, len: PMD + PAGE, flags: PRIVATE });
        census.note(Call::Map { hint: 0, start: 7 * PMD + PAGE, len: PMD + PAGE, flags: PRIVATE });
        census.note(Call::Map {
            hint: 4 * PMD,
            start: 4 * PMD,
            len: PMD + PAGE,
            flags: PRIVATE | libc::MAP_FIXED,
        });
        census.note(Call::Map { hint: 0, start: 9 * PMD, len: PMD + PAGE, flags: libc::MAP_PRIVATE });
        let count = census.maps(Stage::Loading, Class::Other);
        assert_eq!(count, Count { maps: 2, bytes: 2 * (PMD + PAGE), aligned: 1 });
        assert_eq!(census.maps(Stage::Loading, Class::Multiple), Count::default());
        assert_eq!(census.live().count(), 2);
    }

    #[test]
    fn each_call_belongs_to_its_stage() {
        let mut census = Census::default();
        let map = Call::Map { hint: 0, start: PMD, len: PAGE, flags: PRIVATE };
        census.note(map);
        census.mark(Phase::Loaded, false);
        census.note(map);
        census.mark(Phase::Loaded, true);
        census.note(map);
        census.mark(Phase::Inferred, true);
        census.note(Call::Unmap { start: PMD, len: PAGE });
        census.mark(Phase::Done, true);
        census.note(map);
        let maps = |stage| census.maps(stage, Class::Small).maps;
        assert_eq!([maps(Stage::Loading), maps(Stage::Inferring), maps(Stage::Over)], [2, 1, 1]);
        assert_eq!((census.unmaps(Stage::Loading), census.unmaps(Stage::Inferring)), (0, 1));
        assert!(census.log().contains("Inferring munmap"), "{}", census.log());
    }

    #[test]
    fn arenas_and_stacks_are_reserved_and_a_hint_is_no_choice_of_the_kernels() {
        let mut census = Census::default();
        census.note(Call::Map { hint: 0, start: PMD, len: 64 * PMD, flags: PRIVATE | libc::MAP_NORESERVE });
        census.note(Call::Map {
            hint: 0,
            start: 99 * PMD,
            len: 4 * PMD + PAGE,
            flags: PRIVATE | libc::MAP_STACK,
        });
        census.note(Call::Map { hint: 300 * PMD, start: 300 * PMD, len: 2 * PMD, flags: PRIVATE });
        let maps = |class| census.maps(Stage::Loading, class).maps;
        assert_eq!(Class::ALL.map(maps), [0, 0, 0, 2]);
    }

    #[test]
    fn the_heap_is_what_lies_between_its_first_and_its_last_end() {
        let mut census = Census::default();
        for end in [1000, 5000, 3000, 4000] {
            census.note(Call::Break { end });
        }
        assert_eq!((census.heap_growth(), census.inference_heap_growth()), (3000, 0));
        census.mark(Phase::Loaded, true);
        for end in [6000, 4000, 4500] {
            census.note(Call::Break { end });
        }
        assert_eq!(census.inference_heap_growth(), 2500);
    }
}
