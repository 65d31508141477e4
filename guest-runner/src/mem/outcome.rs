//! How a system call ended, in words that a check can compare.

use std::io;

use nix::errno::Errno;

/// What [`outcome`] says of a call that worked.
pub const DONE: &str = "done";

/// `done`, or the name of the error number.
pub fn outcome<T>(result: &io::Result<T>) -> String {
    match result {
        Ok(_) => DONE.to_owned(),
        Err(error) => error
            .raw_os_error()
            .map_or_else(|| error.to_string(), |number| format!("{:?}", Errno::from_raw(number))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_have_their_names() {
        assert_eq!(outcome(&Ok(3)), DONE);
        assert_eq!(outcome::<()>(&Err(io::Error::from_raw_os_error(22))), "EINVAL");
    }
}
