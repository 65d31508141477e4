//! Names in the cache: a hash over all that goes into what they name.

use super::identity::PatchIdentity;
use crate::{PatchSeries, config::Fragment, files, source::short, toolchain::Toolchain};

/// Part of every key: counts up when the way of building changes.
const RECIPE_VERSION: &str = "1";

/// The key of a full build of a source.
pub(crate) fn root(source: &str, fragment: &Fragment, toolchain: &Toolchain) -> String {
    hash(&[RECIPE_VERSION, source, &toolchain.version, &fragment.text(), ccache(toolchain)])
}

/// The key of a kernel: of a source with patches, each by its hash and whether it is taken out.
pub(crate) fn kernel<'a>(
    source: &str,
    patches: impl Iterator<Item = (bool, &'a str)>,
    fragment: &Fragment,
    toolchain: &Toolchain,
) -> String {
    let fragment = fragment.text();
    let patches: Vec<String> =
        patches.map(|(revert, sha256)| format!("{}{sha256}", if revert { "-" } else { "+" })).collect();
    let mut parts = vec![RECIPE_VERSION, source, &toolchain.version, &fragment];
    parts.extend(patches.iter().map(String::as_str));
    hash(&parts)
}

/// The key of a folder in which kernels of one origin are built one after another.
pub(crate) fn workspace(origin: &str, fragment: &Fragment, toolchain: &Toolchain) -> String {
    hash(&["workspace", RECIPE_VERSION, origin, &toolchain.version, &fragment.text(), ccache(toolchain)])
}

/// Patches as [`kernel`] takes them.
pub(crate) fn of_series(series: &[PatchSeries]) -> impl Iterator<Item = (bool, &str)> {
    series.iter().flat_map(|series| series.patches.iter().map(|patch| (series.revert, patch.sha256.as_str())))
}

/// The same, of patches that were applied.
pub(crate) fn of_applied(patches: &[PatchIdentity]) -> impl Iterator<Item = (bool, &str)> {
    patches.iter().map(|patch| (patch.reverted, patch.sha256.as_str()))
}

/// A command line with ccache is another command line: make would compile all of it again.
fn ccache(toolchain: &Toolchain) -> &'static str {
    if toolchain.ccache { "ccache" } else { "" }
}

fn hash(parts: &[&str]) -> String {
    short(&files::sha256(parts.join("\0").as_bytes())).to_owned()
}
