//! A machine's shape, and where each of its figures comes from.

mod check;

use serde::Deserialize;

pub use check::MachineError;

/// One machine: `configs/machines/NAME.toml`. Only [`Machine::parse`] makes one, so all figures of it fit together.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct Machine {
    /// Its short name, as metrics carry it: `zen3`.
    pub name: String,
    /// Its name for people.
    pub title: String,
    /// Is it there to buy?
    pub kind: Kind,
    /// What is worth knowing of it: what a what-if asks, what of a CPU the model cannot say.
    #[serde(default)]
    pub note: String,
    /// What its figures were taken from.
    #[serde(rename = "source", default)]
    pub sources: Vec<Source>,
    /// The first-level data cache.
    #[serde(deserialize_with = "check::checked")]
    pub l1d: CacheSpec,
    /// The second-level cache.
    #[serde(deserialize_with = "check::checked")]
    pub l2: CacheSpec,
    /// The third-level cache, shared by the cores.
    #[serde(default, deserialize_with = "check::checked_option")]
    pub l3: Option<CacheSpec>,
    /// The first-level TLB for data: arrays that are looked up side by side. Each page size lives in exactly one.
    #[serde(deserialize_with = "check::checked_list")]
    pub dtlb: Vec<TlbSpec>,
    /// The second-level TLB, likewise; a page size may live in none.
    #[serde(default, deserialize_with = "check::checked_list")]
    pub stlb: Vec<TlbSpec>,
    /// The paging-structure caches.
    #[serde(deserialize_with = "check::checked")]
    pub walk: WalkSpec,
    /// What is fetched unasked.
    #[serde(default)]
    pub prefetch: Prefetch,
    /// What each event costs.
    pub latency: LatencySpec,
}

/// Whether a machine exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A CPU's published shape.
    Cpu,
    /// No CPU: a shape that shows what one property does.
    WhatIf,
}

/// A document.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Source {
    /// What the figures call it, one word.
    pub id: String,
    /// Its title, number and edition.
    pub title: String,
    /// Where it is to be had.
    #[serde(default)]
    pub url: Option<String>,
}

/// Where figures come from.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Origin {
    /// The documents and places in them: `ID PLACE`, more than one by `; `. Empty where all is assumed.
    #[serde(default)]
    pub source: String,
    /// What no document says, and why this was taken.
    #[serde(default)]
    pub assumed: String,
}

/// A cache. Its lines are of 64 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct CacheSpec {
    /// Its size in KiB: slices × sets × ways × line.
    pub size_kib: u32,
    /// Lines in a set.
    pub ways: u32,
    /// Sets, in each slice.
    pub sets: u32,
    /// Parts that a hash of the whole line number chooses from; see [`crate::Index`].
    #[serde(default = "one")]
    pub slices: u32,
    /// By which address a set is chosen. The tag is always physical.
    pub index: IndexBy,
    /// Is the set chosen by a hash, and not by the lowest bits of the line number? See [`crate::Index`].
    #[serde(default)]
    pub hash: bool,
    /// Which line goes.
    pub replacement: Replacement,
    /// Where that comes from.
    pub origin: Origin,
}

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IndexBy {
    /// The program's.
    Virtual,
    /// The memory's.
    Physical,
}

/// Which entry of a full set makes room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Replacement {
    /// The one that was used longest ago.
    #[default]
    Lru,
    /// The one that a binary tree of "not here" bits leads to. The ways are a power of two.
    TreePlru,
}

/// One array of translations.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct TlbSpec {
    /// The page sizes that share it.
    pub pages: Vec<PageSize>,
    /// Its entries.
    pub entries: u32,
    /// Entries in a set; all of them where any entry can hold any page.
    pub ways: u32,
    /// 4 KiB pages that one entry can cover: an aligned group of so many that lies as well aligned and in the same
    /// order in physical memory. 1 where an entry covers one.
    #[serde(default = "one")]
    pub coalesce: u32,
    /// Which entry goes.
    #[serde(default)]
    pub replacement: Replacement,
    /// Where that comes from.
    pub origin: Origin,
}

/// A size that page tables map by one entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum PageSize {
    /// 4 KiB.
    #[serde(rename = "4KiB")]
    Small,
    /// 2 MiB.
    #[serde(rename = "2MiB")]
    Huge,
}

/// How many upper entries of page tables a core keeps for its walks, each level on its own: any entry in any
/// place, the one used longest ago goes. 0 where a level is not kept.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct WalkSpec {
    /// Entries that cover 512 GiB each.
    pub pml4e: u32,
    /// Entries that cover 1 GiB each.
    pub pdpte: u32,
    /// Entries that cover 2 MiB each and point to a page table.
    pub pde: u32,
    /// Where that comes from.
    pub origin: Origin,
}

/// What is fetched unasked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prefetch {
    /// Nothing.
    #[default]
    None,
    /// After a miss of the first level the next line of the same 4 KiB into the second.
    NextLine,
}

/// What each event costs, in cycles from the access to the use of what it loads.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
#[non_exhaustive]
pub struct LatencySpec {
    /// A hit of the first level.
    pub l1: u32,
    /// A hit of the second level.
    pub l2: u32,
    /// A hit of the third level, where there is one.
    pub l3: Option<u32>,
    /// An access to memory.
    pub memory: u32,
    /// What a translation from the second-level TLB costs on top.
    pub stlb: u32,
    /// What each page table entry that a walk reads costs on top.
    pub walk_reference: u32,
    /// Where that comes from.
    pub origin: Origin,
}

const fn one() -> u32 {
    1
}

impl PageSize {
    /// The binary logarithm of its bytes.
    #[must_use]
    pub const fn shift(self) -> u32 {
        match self {
            Self::Small => 12,
            Self::Huge => 21,
        }
    }
}

impl CacheSpec {
    /// All sets of all slices.
    #[must_use]
    pub const fn all_sets(&self) -> u32 {
        self.sets * self.slices
    }
}

impl TlbSpec {
    pub(crate) const fn sets(&self) -> u32 {
        self.entries / self.ways
    }
}
