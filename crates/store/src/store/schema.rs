//! The store's form, and how an older one becomes the present one.

use rusqlite::{Connection, ErrorCode, TransactionBehavior};

/// From each form to the next, in the order in which they came. One that was published is never changed.
pub(super) const MIGRATIONS: [&str; 1] = [include_str!("../sql/001-runs.sql")];

/// Says of an SQLite file that it is a store of runs: "mthp".
const APPLICATION: i32 = i32::from_be_bytes(*b"mthp");

/// Why a file cannot be the store.
#[derive(Debug)]
pub(super) enum Unfit {
    /// Another program's database.
    Foreign,
    /// A store of a newer version of this program.
    Newer {
        /// The form it has.
        has: usize,
        /// The newest form that is known here.
        known: usize,
    },
    /// SQLite could not read or write it.
    Sqlite(rusqlite::Error),
}

impl std::fmt::Display for Unfit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Foreign => f.write_str("is the database of another program, not a store of runs"),
            Self::Newer { has, known } => write!(
                f,
                "was written by a newer version of this program: it has form {has}, this version knows {known}"
            ),
            Self::Sqlite(error) => error.fmt(f),
        }
    }
}

impl From<rusqlite::Error> for Unfit {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sqlite(error)
    }
}

/// Makes the connection's file a store of the newest form. A file that cannot become one is not written to.
pub(super) fn prepare(connection: &mut Connection, migrations: &[&str]) -> Result<(), Unfit> {
    connection.pragma_update(None, "foreign_keys", true)?;
    let reading = connection.transaction()?;
    let form = form(&reading, migrations.len())?;
    reading.finish()?;
    if form < migrations.len() {
        migrate(connection, migrations)?;
    }
    match connection.pragma_update_and_check(None, "journal_mode", "wal", |_| Ok(())) {
        // Another opens the store at this moment. It works as it is, and whoever opens it next tries again.
        Err(error) if error.sqlite_error_code() == Some(ErrorCode::DatabaseBusy) => Ok(()),
        changed => Ok(changed?),
    }
}

fn migrate(connection: &mut Connection, migrations: &[&str]) -> Result<(), Unfit> {
    // Immediate, and looked at again: another may have migrated it meanwhile.
    let writing = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    for migration in migrations.iter().skip(form(&writing, migrations.len())?) {
        writing.execute_batch(migration)?;
    }
    writing.pragma_update(None, "application_id", APPLICATION)?;
    writing.pragma_update(None, "user_version", i64::try_from(migrations.len()).unwrap_or(i64::MAX))?;
    Ok(writing.commit()?)
}

/// How many of the `known` migrations the file has been through; 0 for an empty one.
fn form(connection: &Connection, known: usize) -> Result<usize, Unfit> {
    let ask = |what: &str| connection.query_row(what, [], |row| row.get::<_, i64>(0));
    let tables = ask("SELECT count(*) FROM sqlite_schema")?;
    let application = ask("PRAGMA application_id")?;
    let version = ask("PRAGMA user_version")?;
    if application != i64::from(APPLICATION) {
        return if (application, version, tables) == (0, 0, 0) { Ok(0) } else { Err(Unfit::Foreign) };
    }
    let has = usize::try_from(version).map_err(|_| Unfit::Foreign)?;
    if has > known { Err(Unfit::Newer { has, known }) } else { Ok(has) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: &str = "CREATE TABLE a (x)";
    const SECOND: &str = "CREATE TABLE b (x); INSERT INTO a VALUES (1)";

    #[test]
    fn each_migration_runs_once_and_in_order() {
        let mut connection = Connection::open_in_memory().unwrap();
        prepare(&mut connection, &[FIRST]).unwrap();
        for _ in 0..2 {
            prepare(&mut connection, &[FIRST, SECOND]).unwrap();
            let rows = connection.query_row("SELECT count(*) FROM a", [], |row| row.get::<_, i64>(0));
            assert_eq!(rows.unwrap(), 1);
        }
        assert!(matches!(prepare(&mut connection, &[FIRST]), Err(Unfit::Newer { has: 2, known: 1 })));
    }

    #[test]
    fn a_migration_that_fails_leaves_the_last_form() {
        let mut connection = Connection::open_in_memory().unwrap();
        prepare(&mut connection, &[FIRST]).unwrap();
        let broken = [FIRST, SECOND, "CREATE TABLE a (x)"];
        assert!(matches!(prepare(&mut connection, &broken), Err(Unfit::Sqlite(_))));
        assert_eq!(form(&connection, 1).unwrap(), 1);
        let rows = connection.query_row("SELECT count(*) FROM a", [], |row| row.get::<_, i64>(0));
        assert_eq!(rows.unwrap(), 0);
    }

    #[test]
    fn the_database_of_another_program_is_left_alone() {
        for other in ["CREATE TABLE bookmarks (x)", "PRAGMA user_version = 1", "PRAGMA application_id = 7"] {
            let mut connection = Connection::open_in_memory().unwrap();
            connection.execute_batch(other).unwrap();
            assert!(matches!(prepare(&mut connection, &MIGRATIONS), Err(Unfit::Foreign)), "{other}");
        }
    }
}
