//! The plugin's arguments, as QEMU passes them on: `-plugin FILE,out=…,machine=…,machine=…,switch=…`.

use std::path::PathBuf;

/// What the host asks for.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// `out=FILE`: where the account goes. Without it the plugin says that it is ready and ends QEMU: so the host sees
    /// whether QEMU takes it.
    pub(crate) out: Option<PathBuf>,
    /// `machine=NAME:FILE`, once for each machine to model.
    pub(crate) machines: Vec<(String, PathBuf)>,
    /// `switch=HEX`: the address of the kernel's `__switch_to_asm`.
    pub(crate) switch: u64,
}

impl Options {
    /// Reads them.
    ///
    /// # Errors
    /// An argument that is none of them, in words.
    pub(crate) fn parse<'a>(arguments: impl Iterator<Item = &'a str>) -> Result<Self, String> {
        let mut options = Self::default();
        for argument in arguments {
            match argument.split_once('=') {
                Some(("out", file)) => options.out = Some(file.into()),
                Some(("machine", named)) => {
                    let Some((name, file)) = named.split_once(':') else {
                        return Err(format!("failed to read {argument}: not machine=NAME:FILE"));
                    };
                    options.machines.push((name.to_owned(), file.into()));
                }
                Some(("switch", address)) => {
                    options.switch = u64::from_str_radix(address.trim_start_matches("0x"), 16)
                        .map_err(|error| format!("failed to read {argument}: {error}"))?;
                }
                _ => return Err(format!("failed to read the plugin's argument {argument}")),
            }
        }
        Ok(options)
    }
}
