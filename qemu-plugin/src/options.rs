//! The plugin's arguments, as QEMU passes them on: `-plugin FILE,out=…,machine=…,machine=…,switch=…,nonce=…`.

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
    /// `nonce=HEX`: the boot's, which the account repeats.
    pub(crate) nonce: u64,
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
                Some(("switch", address)) => options.switch = hex(address, argument)?,
                Some(("nonce", nonce)) => options.nonce = hex(nonce, argument)?,
                _ => return Err(format!("failed to read the plugin's argument {argument}")),
            }
        }
        Ok(options)
    }
}

fn hex(number: &str, argument: &str) -> Result<u64, String> {
    u64::from_str_radix(number, 16).map_err(|error| format!("failed to read {argument}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Options, String> {
        Options::parse(text.split(',').filter(|argument| !argument.is_empty()))
    }

    #[test]
    fn all_that_the_host_asks_for_is_read() {
        let options =
            parse("machine=a:/m/a.toml,machine=b:/m:b.toml,out=/o,switch=ffffffff81000000,nonce=ff").unwrap();
        assert_eq!(options.out.as_deref(), Some("/o".as_ref()));
        let machines = [("a", "/m/a.toml"), ("b", "/m:b.toml")];
        assert_eq!(options.machines, machines.map(|(name, file)| (name.to_owned(), file.into())));
        assert_eq!((options.switch, options.nonce), (0xffff_ffff_8100_0000, 255));
        assert_eq!(parse(""), Ok(Options::default()));
    }

    #[test]
    fn what_is_no_argument_is_told() {
        for wrong in ["out", "machine=zen3", "switch=x", "nonce=", "nonce=-1", "speed=9", "="] {
            let error = parse(wrong).unwrap_err();
            assert!(error.starts_with("failed to read ") && error.contains(wrong), "{wrong}: {error}");
        }
    }
}
