//! Where the store lies.

use std::{
    env,
    path::{Path, PathBuf},
};

use anyhow::{Result, bail};

/// The store's file: `path`, or `$MTHP_STORE`, or `mthp-regress/history.sqlite` in the XDG data folder.
///
/// # Errors
/// When no place for it is known.
pub fn locate(path: Option<&Path>) -> Result<PathBuf> {
    choose(path, |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from))
}

fn choose(path: Option<&Path>, variable: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf> {
    const FILE: &str = "mthp-regress/history.sqlite";
    if let Some(path) = path {
        return Ok(path.to_owned());
    }
    if let Some(path) = variable("MTHP_STORE") {
        return Ok(path);
    }
    // The XDG rule: a relative path is to be ignored.
    if let Some(path) = variable("XDG_DATA_HOME").filter(|path| path.is_absolute()) {
        return Ok(path.join(FILE));
    }
    match variable("HOME") {
        Some(home) => Ok(home.join(".local/share").join(FILE)),
        None => {
            bail!("failed to find a place for the store: HOME is not set; give --store or set MTHP_STORE")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_option_then_the_variable_then_xdg_then_home() {
        let all = |name: &str| Some(PathBuf::from(format!("/{name}")));
        assert_eq!(choose(Some(Path::new("x")), all).unwrap(), Path::new("x"));
        assert_eq!(choose(None, all).unwrap(), Path::new("/MTHP_STORE"));
        let xdg = |name: &str| (name != "MTHP_STORE").then(|| PathBuf::from(format!("/{name}")));
        assert_eq!(choose(None, xdg).unwrap(), Path::new("/XDG_DATA_HOME/mthp-regress/history.sqlite"));
        let relative = |name: &str| match name {
            "XDG_DATA_HOME" => Some(PathBuf::from("relative")),
            "HOME" => Some(PathBuf::from("/home/me")),
            _ => None,
        };
        let home = Path::new("/home/me/.local/share/mthp-regress/history.sqlite");
        assert_eq!(choose(None, relative).unwrap(), home);
        assert!(choose(None, |_| None).unwrap_err().to_string().contains("--store"));
    }
}
