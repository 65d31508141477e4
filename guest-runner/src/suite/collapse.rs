//! `MADV_COLLAPSE` over maps that were filled with small pages.

use anyhow::Result;
use serde::{Deserialize, Serialize};

use super::layout::{self, Layout};
use crate::mem::{self, Area, PMD};

/// What came of it.
#[derive(Debug, Serialize, Deserialize)]
pub struct Collapsed {
    /// Blocks that became huge.
    pub ok: i64,
    /// Blocks that hold a part of a map and could not.
    pub failed: i64,
    /// How the maps lie afterwards.
    pub layout: Layout,
}

/// Fills `count` maps with small pages, then asks for a huge page in every PMD-sized block from the first boundary
/// in the maps to the end of the highest.
///
/// # Errors
/// When a system call other than the collapse fails.
pub fn measure(len: usize, count: usize) -> Result<Collapsed> {
    mem::pin_gap(0)?;
    let areas = (0..count).map(|_| mem::map(mem::Kind::Private, len)).collect::<Result<Vec<_>>>()?;
    mem::forbid_thp(true)?;
    areas.iter().for_each(Area::touch);
    mem::forbid_thp(false)?;
    let ranges: Vec<_> = areas.iter().map(Area::range).collect();
    let span = layout::span(&ranges);
    let blocks = (span.start.next_multiple_of(PMD)..span.end).step_by(PMD);
    let (mut ok, mut failed) = (0, 0);
    for block in blocks.filter(|block| ranges.iter().any(|map| map.start < block + PMD && *block < map.end)) {
        if mem::collapse(block) { ok += 1 } else { failed += 1 }
    }
    Ok(Collapsed { ok, failed, layout: Layout::of(&areas)? })
}
