//! Regressions that were found.

use anyhow::{Context, Result, bail};
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::{Store, rows};
use crate::{
    regression::{Culprit, NewRegression, Regression, RegressionId},
    run::{RunId, Series},
};

/// The open regressions of a series, the oldest first.
const OPEN: &str = "SELECT * FROM regressions WHERE series = ?1 AND closed_by IS NULL ORDER BY id";

impl Store {
    /// Stores a regression as open. One that is open already (the same culprit and target in the same series) is left as
    /// it is, and its number given.
    ///
    /// # Errors
    /// When there is no such run, or the store cannot be written.
    pub fn add_regression(&mut self, regression: &NewRegression) -> Result<RegressionId> {
        let (writing, run) = (self.writing(), regression.first_seen);
        match insert(&mut self.connection, regression).context(writing)? {
            Some(id) => Ok(id),
            None => bail!("failed to store a regression: there is no run {run} in {}", self.path.display()),
        }
    }

    /// The regressions of exactly this series that are still there, the oldest first.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn open_regressions(&self, series: &Series) -> Result<Vec<Regression>> {
        let Some(id) = self.series_id(series)? else { return Ok(Vec::new()) };
        let open = || -> rusqlite::Result<Vec<Regression>> {
            let mut statement = self.connection.prepare_cached(OPEN)?;
            statement.query_map([id], |row| rows::regression(row, series))?.collect()
        };
        open().with_context(|| self.reading())
    }

    /// Notes that the regression is gone; `run` is the first that no longer sees it. One that is closed stays as it is.
    ///
    /// # Errors
    /// When there is no such run, or the store cannot be written.
    pub fn close_regression(&mut self, regression: RegressionId, run: RunId) -> Result<()> {
        self.connection
            .execute(
                "UPDATE regressions SET closed_by = ?2 WHERE id = ?1 AND closed_by IS NULL",
                params![regression.0, run.0],
            )
            .with_context(|| self.writing())?;
        Ok(())
    }
}

/// `None` where there is no such run.
fn insert(connection: &mut Connection, new: &NewRegression) -> rusqlite::Result<Option<RegressionId>> {
    let (culprit, subject, good) = match &new.culprit {
        Culprit::Commit { commit, subject } => (commit, Some(subject), None),
        Culprit::Range { good, bad } => (bad, None, Some(good)),
    };
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let series = transaction
        .query_row("SELECT series FROM runs WHERE id = ?1", [new.first_seen.0], |row| row.get::<_, i64>(0))
        .optional()?;
    let Some(series) = series else { return Ok(None) };
    transaction.execute(
        "INSERT INTO regressions (series, culprit, subject, good, target, first_seen) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT DO NOTHING",
        params![series, culprit, subject, good, new.target, new.first_seen.0],
    )?;
    let id = transaction.query_row(
        "SELECT id FROM regressions WHERE series = ?1 AND target = ?2 AND culprit = ?3 AND closed_by IS NULL",
        params![series, new.target, culprit],
        |row| row.get(0),
    )?;
    transaction.commit()?;
    Ok(Some(RegressionId(id)))
}
