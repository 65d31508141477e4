//! The kernel's own selftests: programs of `tools/testing/selftests`, as the job names them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// The folder of the programs in the guest.
pub const PROGRAMS: &str = "/selftests";

/// One run of one program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Selftest {
    /// `kselftest-mm/mremap_test`.
    pub name: String,
    /// Its file in [`PROGRAMS`].
    pub program: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Files of the guest without which it is not applicable.
    pub needs: Vec<String>,
    /// What is written to which file before it, and put back afterwards.
    pub settings: BTreeMap<String, String>,
    /// Patterns of test points (their names, or what they call themselves; see [`crate::job::selects`]) that differ
    /// from boot to boot by nature: told, and not judged.
    pub varies: Vec<String>,
}
