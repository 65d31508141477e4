//! Storing runs.

use std::io::Write as _;

use anyhow::{Context, Result, bail};
use flate2::{Compression, write::ZlibEncoder};
use mthp_record::boot::BootRecord;
use rusqlite::{Connection, OptionalExtension, TransactionBehavior, params};

use super::{Store, rows};
use crate::{
    history::{Kind, Measured},
    run::{Outcome, Run, RunId, Series},
    summary::{Summed, summarise},
};

/// Of how many good runs of a series the boots are kept: the last to compare with, and what lies before it for whoever
/// doubts it.
pub(super) const KEPT: i64 = 3;

impl Store {
    /// Stores a run with what its boots say: all of it or nothing. `boots` are those of the one kernel that the run tests;
    /// of a good run they are kept (without evidence) until three newer runs of the series are good.
    ///
    /// # Errors
    /// When the boots are of both sides, so of two kernels, or the store cannot be written.
    pub fn add(&mut self, run: &Run, boots: &[BootRecord]) -> Result<RunId> {
        if let Some(first) = boots.first()
            && boots.iter().any(|boot| boot.side != first.side)
        {
            bail!("failed to store a run: its boots are of two kernels");
        }
        let kept = match run.outcome {
            Outcome::Good => Some(pack(boots)?),
            _ => None,
        };
        let writing = self.writing();
        insert(&mut self.connection, run, &summarise(boots), kept.as_deref()).context(writing)
    }
}

fn insert(
    connection: &mut Connection,
    run: &Run,
    summed: &[Summed],
    boots: Option<&[u8]>,
) -> rusqlite::Result<RunId> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let series = series_id(&transaction, &run.series)?;
    transaction.execute(
        "INSERT INTO runs (series, created, revision, subject, committed, position, suite_sha256, image_sha256,
                           tool_version, outcome, reason, report, build_millis, boots_millis)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)",
        params![
            series,
            run.created,
            run.revision.commit,
            run.revision.subject,
            run.revision.committed,
            run.revision.position.map(rows::stored),
            run.suite_sha256,
            run.image_sha256,
            run.tool_version,
            run.outcome.word(),
            run.outcome.reason(),
            run.report,
            run.build_millis.map(rows::stored),
            run.boots_millis.map(rows::stored),
        ],
    )?;
    let id = transaction.last_insert_rowid();
    for summed in summed {
        value(&transaction, series, id, summed)?;
    }
    if let Some(boots) = boots {
        transaction.execute("INSERT INTO boots (run, json) VALUES (?1, ?2)", params![id, boots])?;
        transaction.execute(
            "DELETE FROM boots WHERE run IN (
                 SELECT id FROM runs WHERE series = ?1 AND outcome = 'good' ORDER BY id DESC LIMIT -1 OFFSET ?2)",
            params![series, KEPT],
        )?;
    }
    transaction.commit()?;
    Ok(RunId(id))
}

/// The number of a series, which is made where there is none.
fn series_id(connection: &Connection, series: &Series) -> rusqlite::Result<i64> {
    let Series { tree, branch, host, accelerator, suite } = series;
    let values = params![tree, branch, host, accelerator, suite];
    connection.execute(
        "INSERT INTO series (tree, branch, host, accelerator, suite) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING",
        values,
    )?;
    connection.query_row(
        "SELECT id FROM series WHERE tree = ?1 AND branch = ?2 AND host = ?3 AND accelerator = ?4 AND suite = ?5",
        values,
        |row| row.get(0),
    )
}

fn value(connection: &Connection, series: i64, run: i64, summed: &Summed) -> rusqlite::Result<()> {
    let name = name_id(connection, summed)?;
    connection
        .prepare_cached(
            "INSERT INTO series_names (series, name, first) VALUES (?1, ?2, ?3) ON CONFLICT DO NOTHING",
        )?
        .execute(params![series, name, run])?;
    match summed.measured {
        Measured::Metric { low, high, boots } => connection
            .prepare_cached("INSERT INTO metrics (name, run, low, high, boots) VALUES (?1, ?2, ?3, ?4, ?5)")?
            .execute(params![name, run, low, high, boots])?,
        Measured::Check { passed, failed } => connection
            .prepare_cached("INSERT INTO checks (name, run, passed, failed) VALUES (?1, ?2, ?3, ?4)")?
            .execute(params![name, run, passed, failed])?,
    };
    Ok(())
}

/// The number of a name, which is made where there is none; its polarity becomes the present one.
fn name_id(connection: &Connection, summed: &Summed) -> rusqlite::Result<i64> {
    let (unit, polarity) = rows::kind_words(summed.kind);
    let known = connection
        .prepare_cached("SELECT id, polarity FROM names WHERE test = ?1 AND name = ?2 AND unit = ?3")?
        .query_row(params![summed.name.test, summed.name.name, unit], |row| {
            Ok((row.get::<_, i64>(0)?, row.get::<_, String>(1)?))
        })
        .optional()?;
    match known {
        Some((id, known)) => {
            if known != polarity && summed.kind != Kind::Check {
                connection.execute("UPDATE names SET polarity = ?2 WHERE id = ?1", params![id, polarity])?;
            }
            Ok(id)
        }
        None => {
            connection.execute(
                "INSERT INTO names (test, name, unit, polarity) VALUES (?1, ?2, ?3, ?4)",
                params![summed.name.test, summed.name.name, unit, polarity],
            )?;
            Ok(connection.last_insert_rowid())
        }
    }
}

/// The boots as compressed JSON, without evidence.
fn pack(boots: &[BootRecord]) -> Result<Vec<u8>> {
    let failed = "failed to pack the boots of a run";
    let mut boots = boots.to_vec();
    for test in boots.iter_mut().flat_map(|boot| &mut boot.tests) {
        test.evidence.clear();
    }
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(&serde_json::to_vec(&boots).context(failed)?).context(failed)?;
    encoder.finish().context(failed)
}
