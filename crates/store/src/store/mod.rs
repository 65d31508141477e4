//! The SQLite file.

#[cfg(test)]
mod many;
mod read;
mod regressions;
mod rows;
mod schema;
#[cfg(test)]
mod tests;
mod write;

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context, Result};
use mthp_kernel::BadInput;
use rusqlite::{Connection, ErrorCode, OpenFlags};

/// How long one waits for another that writes. A run is written in a moment.
const PATIENCE: Duration = Duration::from_secs(20);

/// An open store.
#[derive(Debug)]
pub struct Store {
    connection: Connection,
    path: PathBuf,
}

impl Store {
    /// Opens the store, makes it where there is none, and brings an older one up to date.
    ///
    /// # Errors
    /// [`BadInput`] when `path` is a folder, no SQLite database, the database of another program, or a store of a newer
    /// version of this one; the file is left as it is then. Other errors when it cannot be read or written.
    pub fn open(path: &Path) -> Result<Self> {
        if path.is_dir() {
            return Err(BadInput(format!("{} is a folder, not a store of runs", path.display())).into());
        }
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).with_context(|| format!("failed to make {}", folder.display()))?;
        }
        let failed = || format!("failed to open the store {}", path.display());
        // Without SQLITE_OPEN_URI: a path is a path, whatever it begins with.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
            | OpenFlags::SQLITE_OPEN_CREATE
            | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let mut connection = Connection::open_with_flags(path, flags).with_context(failed)?;
        connection.busy_timeout(PATIENCE).with_context(failed)?;
        match schema::prepare(&mut connection, &schema::MIGRATIONS) {
            Ok(()) => {}
            Err(schema::Unfit::Sqlite(error))
                if error.sqlite_error_code() == Some(ErrorCode::NotADatabase) =>
            {
                return Err(BadInput(format!("{} is no SQLite database", path.display())).into());
            }
            Err(schema::Unfit::Sqlite(error)) => return Err(error).with_context(failed),
            Err(unfit) => return Err(BadInput(format!("{} {unfit}", path.display())).into()),
        }
        Ok(Self { connection, path: path.to_owned() })
    }

    /// The store's file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What to say of an error while reading.
    fn reading(&self) -> String {
        format!("failed to read the store {}", self.path.display())
    }

    /// What to say of an error while writing.
    fn writing(&self) -> String {
        format!("failed to write the store {}", self.path.display())
    }
}
