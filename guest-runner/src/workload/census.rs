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

/// The three sizes that the placement rules tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// Below the PMD size: no kernel aligns it.
    Small,
    /// A multiple of the PMD size.
    Multiple,
    /// At least the PMD size and no multiple of it: what the rules disagree on.
    Other,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Small, Self::Multiple, Self::Other];

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
    heap_end: Option<usize>,
    heap: [usize; 3],
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
            Call::Map { start, len, flags } => {
                let range = start..start + len.next_multiple_of(PAGE);
                if chosen_by_kernel(flags) {
                    self.live.add(range, Class::of(len));
                } else {
                    self.live.remove(&range);
                }
            }
            Call::Unmap { start, len } => self.live.remove(&(start..start + len.next_multiple_of(PAGE))),
            Call::Remap { start, len, new_start, new_len } => self.live.moved(
                &(start..start + len.next_multiple_of(PAGE)),
                new_start..new_start + new_len.next_multiple_of(PAGE),
            ),
            Call::Break { end } => {
                if let Some(before) = self.heap_end
                    && let Some(sum) = self.heap.get_mut(self.stage as usize)
                {
                    *sum += end.saturating_sub(before);
                }
                self.heap_end = Some(end);
            }
            Call::Advise { .. } => {}
        }
        self.calls.push((self.stage, call));
    }

    /// The anonymous mappings that were made in a stage, by class.
    pub fn maps(&self, stage: Stage, class: Class) -> Count {
        let mut count = Count::default();
        for (_, call) in self.calls.iter().filter(|(at, _)| *at == stage) {
            if let Call::Map { start, len, flags } = *call
                && chosen_by_kernel(flags)
                && Class::of(len) == class
            {
                count.maps += 1;
                count.bytes += len.next_multiple_of(PAGE);
                count.aligned += i64::from(start.is_multiple_of(PMD));
            }
        }
        count
    }

    /// How many unmappings were made in a stage.
    pub fn unmaps(&self, stage: Stage) -> usize {
        self.calls.iter().filter(|(at, call)| *at == stage && matches!(call, Call::Unmap { .. })).count()
    }

    /// By how many bytes the heap grew in a stage (`brk`; what it gave back is not taken off).
    pub fn heap_growth(&self, stage: Stage) -> usize {
        self.heap.get(stage as usize).copied().unwrap_or(0)
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
                Call::Map { start, len, flags } => {
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

/// Anonymous, private, and where the kernel likes.
fn chosen_by_kernel(flags: i32) -> bool {
    flags & libc::MAP_ANONYMOUS != 0
        && flags & libc::MAP_TYPE == libc::MAP_PRIVATE
        && flags & (libc::MAP_FIXED | libc::MAP_FIXED_NOREPLACE) == 0
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
        census.note(Call::Map { start: PMD, len: PMD + PAGE, flags: PRIVATE });
        census.note(Call::Map { start: 7 * PMD + PAGE, len: PMD + PAGE, flags: PRIVATE });
        census.note(Call::Map { start: 4 * PMD, len: PMD + PAGE, flags: PRIVATE | libc::MAP_FIXED });
        census.note(Call::Map { start: 9 * PMD, len: PMD + PAGE, flags: libc::MAP_PRIVATE });
        let count = census.maps(Stage::Loading, Class::Other);
        assert_eq!(count, Count { maps: 2, bytes: 2 * (PMD + PAGE), aligned: 1 });
        assert_eq!(census.maps(Stage::Loading, Class::Multiple), Count::default());
        assert_eq!(census.live().count(), 2);
    }

    #[test]
    fn each_call_belongs_to_its_stage() {
        let mut census = Census::default();
        let map = Call::Map { start: PMD, len: PAGE, flags: PRIVATE };
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
    fn the_heap_grows_from_its_first_end() {
        let mut census = Census::default();
        for end in [1000, 5000, 3000, 4000] {
            census.note(Call::Break { end });
        }
        assert_eq!(census.heap_growth(Stage::Loading), 5000);
        assert_eq!(census.heap_growth(Stage::Inferring), 0);
    }
}
