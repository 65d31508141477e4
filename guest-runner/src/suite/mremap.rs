//! Memory that is moved: what of it is locked, and what its old place can become a part of.

use std::ops::Range;

use anyhow::{Context, Result};

use super::{Findings, Test};
use crate::{
    isolate::isolated,
    mem::{
        KIB, PAGE, Reserved, lock,
        remap::{self, Old},
    },
    proc, smaps,
};

/// Moves with and without `MREMAP_DONTUNMAP`.
pub const TESTS: &[Test] = &[
    test("mremap/locked-part", LOCK, |f| {
        let area = 4 * PART..7 * PART;
        for (name, part) in [
            ("whole", 0..3 * PART),
            ("start", 0..PART),
            ("middle", PART..2 * PART),
            ("end", 2 * PART..3 * PART),
        ] {
            locked(f, name, Lock::Present, &area, part, 9 * PART)?;
        }
        Ok(())
    }),
    test("mremap/locked-neighbour", LOCK, |f| {
        let area = 4 * PART..5 * PART;
        for (place, offset) in [("above", 5 * PART), ("below", 3 * PART), ("elsewhere", 9 * PART)] {
            for (state, lock) in [("present", Lock::Present), ("on-fault", Lock::OnFault)] {
                locked(f, &format!("{place}-{state}"), lock, &area, 0..PART, offset)?;
            }
        }
        Ok(())
    }),
    test("mremap/old-place-merges", MERGE, old_place_merges),
];

const LOCK: &str =
    "mremap(2): locked memory stays locked when it is relocated, and what is locked may change";
const MERGE: &str =
    "mremap(2): after MREMAP_DONTUNMAP the old range is as a new mapping, which merges as any other";

const fn test(name: &'static str, contract: &'static str, run: fn(&mut Findings) -> Result<()>) -> Test {
    Test { name, contract, needs: &[], randomised: false, run }
}

/// What is moved, at least.
const PART: usize = 4 * PAGE;
/// The addresses that a case may use.
const ROOM: usize = 16 * PART;

/// How memory is locked.
#[derive(Clone, Copy, Debug)]
enum Lock {
    /// All of it is present.
    Present,
    /// Nothing of it is.
    OnFault,
}

fn locked_kib() -> Result<i64> {
    proc::kib("/proc/self/status", "VmLck:")
}

/// What is marked as locked (lo) in these addresses.
fn marked_kib(range: Range<usize>) -> Result<i64> {
    let marked: usize = smaps::of(&[range])?
        .iter()
        .filter(|vma| vma.flags.iter().any(|flag| flag == "lo"))
        .map(|vma| vma.range.len() / KIB)
        .sum();
    Ok(i64::try_from(marked)?)
}

/// Moves a part of a locked area with each kind of move; both are offsets, `part` in the area.
fn locked(
    findings: &mut Findings,
    case: &str,
    lock: Lock,
    area: &Range<usize>,
    part: Range<usize>,
    offset: usize,
) -> Result<()> {
    for (kind, old) in [("moved", Old::Free), ("moved-kept", Old::Mapped)] {
        let len = i64::try_from(part.len() / KIB)?;
        let (counted, marked, of_moved, left) = isolated(|| {
            let before = locked_kib()?;
            let reserved = Reserved::anywhere(ROOM)?;
            let whole = reserved.start()..reserved.start() + ROOM;
            let area = reserved.map_fixed(area.start, area.len())?;
            match lock {
                Lock::Present => lock::lock(&area),
                Lock::OnFault => lock::lock_on_fault(&area.range()),
            }
            .context("failed to lock an area")?;
            let moved = remap::move_part(area, part.clone(), &reserved, offset, old)
                .context("failed to move a part of an area")?;
            let (counted, marked) = (locked_kib()? - before, marked_kib(whole)?);
            // An area of the kernel may hold more than what was moved.
            let of_moved = marked_kib(moved.range())?.min(i64::try_from(moved.range().len() / KIB)?);
            reserved.punch(0, ROOM)?;
            Ok((counted, marked, of_moved, locked_kib()? - before))
        })?;
        let mut check = |what: &str, promise: &str, observed: i64, expected: i64| {
            findings.check(&format!("{case}-{kind}-{what}"), promise, observed, expected);
        };
        check("stays-locked", "what was locked and is moved is still marked as locked (KiB)", of_moved, len);
        check("counted", "VmLck counts what is marked as locked, no more and no less (KiB)", counted, marked);
        check("nothing-left", "memory that is unmapped is no longer counted as locked (KiB)", left, 0);
    }
    Ok(())
}

/// Maps neighbours to what a move left mapped, which holds nothing.
fn old_place_merges(findings: &mut Findings) -> Result<()> {
    for (state, touched) in [("untouched", false), ("touched", true)] {
        for (past, moves) in [("at-first-place", 0), ("moved-before", 1)] {
            let vmas = isolated(|| {
                let reserved = Reserved::anywhere(ROOM)?;
                let mut area = reserved.map_fixed(PART, PART)?;
                if touched {
                    area.touch();
                }
                let mut place = PART;
                for _ in 0..moves {
                    place += 4 * PART;
                    area = remap::move_part(area, 0..PART, &reserved, place, Old::Free)
                        .context("failed to move an area")?;
                }
                let old = area.range();
                remap::move_part(area, 0..PART, &reserved, place + 6 * PART, Old::Mapped)
                    .context("failed to move an area away from its mapping")?;
                reserved.map_fixed(place - PART, PART)?;
                reserved.map_fixed(place + PART, PART)?;
                let around = old.start - PART..old.end + PART;
                Ok(smaps::of(std::slice::from_ref(&around))?.len())
            })?;
            findings.check(
                &format!("{state}-{past}"),
                "empty memory and the maps beside it, all of one kind, are one area",
                vmas,
                1,
            );
        }
    }
    Ok(())
}
