//! What a machine's figures must fulfil to fit together.

use serde::{Deserialize, Deserializer, de::DeserializeOwned, de::Error as _};

use super::{CacheSpec, Kind, Machine, Origin, PageSize, Replacement, TlbSpec};

/// The most ways of a tree: its bits are kept in one word.
const MAX_TREE_WAYS: u32 = 64;
/// The largest cache in KiB, so that no file can ask for more memory than there is.
const MAX_KIB: u32 = 1 << 20;
/// The most entries of a TLB or of a paging-structure cache.
const MAX_ENTRIES: u32 = 1 << 14;

/// Why a machine's file is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineError {
    /// The line, from 1, where the parser could tell.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for MachineError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for MachineError {}

impl Machine {
    /// Reads the text of a machine's file.
    ///
    /// # Errors
    /// When it is no TOML, has a field too many or too few, or figures that contradict each other.
    pub fn parse(text: &str) -> Result<Self, MachineError> {
        let machine: Self = toml::from_str(text).map_err(|error| MachineError {
            line: error.span().map(|span| line_of(text, span.start)),
            message: error.message().to_owned(),
        })?;
        machine.whole().map_err(|message| MachineError { line: None, message })?;
        Ok(machine)
    }

    /// What one table cannot tell of itself.
    fn whole(&self) -> Result<(), String> {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        ensure(!self.name.is_empty() && self.name.bytes().all(plain), || {
            format!("a name is made of a-z, 0-9 and -, not {:?}", self.name)
        })?;
        for size in [PageSize::Small, PageSize::Huge] {
            let homes =
                |arrays: &[TlbSpec]| arrays.iter().filter(|array| array.pages.contains(&size)).count();
            ensure(homes(&self.dtlb) == 1, || format!("not exactly one dtlb holds pages of {size}"))?;
            ensure(homes(&self.stlb) <= 1, || format!("more than one stlb holds pages of {size}"))?;
        }
        ensure(self.l3.is_some() == self.latency.l3.is_some(), || {
            "l3 and the latency of l3 are there together or not at all".to_owned()
        })?;
        self.origins().try_for_each(|origin| self.known(origin))
    }

    /// Where each of its tables comes from.
    pub fn origins(&self) -> impl Iterator<Item = &Origin> {
        let caches = [Some(&self.l1d), Some(&self.l2), self.l3.as_ref()].into_iter().flatten();
        let arrays = self.dtlb.iter().chain(&self.stlb).map(|array| &array.origin);
        caches.map(|cache| &cache.origin).chain(arrays).chain([&self.walk.origin, &self.latency.origin])
    }

    fn known(&self, origin: &Origin) -> Result<(), String> {
        let cited = origin.source.split(';').map(str::trim).filter(|part| !part.is_empty());
        for part in cited {
            let id = part.split_whitespace().next().unwrap_or_default();
            ensure(self.sources.iter().any(|source| source.id == id), || {
                format!("{id:?} in {:?} is not the id of a [[source]]", origin.source)
            })?;
        }
        let says = !origin.assumed.trim().is_empty() || !origin.source.trim().is_empty();
        ensure(says || self.kind == Kind::WhatIf, || "an origin of a CPU says nothing".to_owned())
    }
}

/// A table that can tell by itself whether it is sound.
pub(super) trait Check {
    fn check(&self) -> Result<(), String>;
}

impl Check for CacheSpec {
    fn check(&self) -> Result<(), String> {
        positive([
            ("size-kib", self.size_kib),
            ("ways", self.ways),
            ("sets", self.sets),
            ("slices", self.slices),
        ])?;
        ensure(self.size_kib <= MAX_KIB, || format!("a cache has at most {MAX_KIB} KiB"))?;
        let product =
            [self.slices, self.sets, self.ways].iter().try_fold(64_u64, |a, b| a.checked_mul(u64::from(*b)));
        ensure(product == Some(u64::from(self.size_kib) * 1024), || {
            format!(
                "{} KiB are not {} slices of {} sets of {} lines of 64 bytes",
                self.size_kib, self.slices, self.sets, self.ways
            )
        })?;
        ensure(!self.hash || self.sets.is_power_of_two(), || {
            format!("a hash chooses from a power of two, which {} sets are not", self.sets)
        })?;
        self.replacement.fits(self.ways)
    }
}

impl Check for TlbSpec {
    fn check(&self) -> Result<(), String> {
        positive([("entries", self.entries), ("ways", self.ways)])?;
        ensure(self.entries <= MAX_ENTRIES, || format!("a TLB has at most {MAX_ENTRIES} entries"))?;
        ensure(self.entries.is_multiple_of(self.ways), || {
            format!("{} entries do not fill sets of {}", self.entries, self.ways)
        })?;
        ensure(!self.pages.is_empty(), || "a TLB holds at least one page size".to_owned())?;
        ensure(self.coalesce.is_power_of_two() && self.coalesce <= 512, || {
            format!("an entry covers a power of two of pages, at most 512, and not {}", self.coalesce)
        })?;
        self.replacement.fits(self.ways)
    }
}

impl Replacement {
    fn fits(self, ways: u32) -> Result<(), String> {
        ensure(self == Self::Lru || (ways.is_power_of_two() && ways <= MAX_TREE_WAYS), || {
            format!("a tree needs a power of two of ways, at most {MAX_TREE_WAYS}, and not {ways}")
        })
    }
}

impl Check for super::WalkSpec {
    fn check(&self) -> Result<(), String> {
        ensure(self.pml4e.max(self.pdpte).max(self.pde) <= MAX_ENTRIES, || {
            format!("a paging-structure cache has at most {MAX_ENTRIES} entries")
        })
    }
}

impl std::fmt::Display for PageSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Small => "4KiB",
            Self::Huge => "2MiB",
        })
    }
}

/// A table that is sound; the parser knows the line of one that is not.
pub(super) fn checked<'de, D: Deserializer<'de>, T: DeserializeOwned + Check>(
    from: D,
) -> Result<T, D::Error> {
    let table = T::deserialize(from)?;
    table.check().map_err(D::Error::custom)?;
    Ok(table)
}

/// The same for one that may be missing.
pub(super) fn checked_option<'de, D, T>(from: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Check,
{
    checked(from).map(Some)
}

/// The same for each of a list.
pub(super) fn checked_list<'de, D, T>(from: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Check,
{
    let tables = Vec::<T>::deserialize(from)?;
    tables.iter().try_for_each(Check::check).map_err(D::Error::custom)?;
    Ok(tables)
}

fn positive<const N: usize>(fields: [(&str, u32); N]) -> Result<(), String> {
    fields.iter().try_for_each(|(name, value)| ensure(*value > 0, || format!("{name} is at least 1")))
}

fn ensure(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

fn line_of(text: &str, at: usize) -> usize {
    text.bytes().take(at).filter(|byte| *byte == b'\n').count() + 1
}

#[cfg(test)]
mod tests;
