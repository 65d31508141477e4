//! Where a function of a built kernel lies.

use std::{fs, path::Path};

use anyhow::{Context, Result};
use goblin::elf::Elf;

/// The address of a symbol in a kernel that is not moved at its start (`nokaslr`).
///
/// # Errors
/// When the file is no ELF file with symbols, or has none of that name.
pub(crate) fn address(vmlinux: &Path, name: &str) -> Result<u64> {
    let bytes = fs::read(vmlinux).with_context(|| format!("failed to read {}", vmlinux.display()))?;
    let elf = Elf::parse(&bytes).with_context(|| format!("failed to understand {}", vmlinux.display()))?;
    elf.syms
        .iter()
        .find(|symbol| elf.strtab.get_at(symbol.st_name) == Some(name))
        .map(|symbol| symbol.st_value)
        .with_context(|| format!("failed to find {name} in {}", vmlinux.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_that_is_not_there_is_named_with_the_file() {
        let own = std::env::current_exe().unwrap();
        let error = format!("{:#}", address(&own, "no_such_function").unwrap_err());
        assert!(error.contains("no_such_function") && error.contains(&own.display().to_string()), "{error}");
        assert_ne!(address(&own, "main").unwrap(), 0);
        assert!(address(Path::new("/dev/null"), "main").is_err());
    }
}
