//! From rows to types, and the words that stand for types in rows.

use mthp_record::result::{Polarity, Unit};
use rusqlite::{Error, Result, Row, types::Type};
use serde::{Serialize, de::DeserializeOwned};

use crate::{
    history::{Kind, Measured, Point},
    regression::{Culprit, Regression, RegressionId},
    run::{Outcome, Revision, Run, RunId, Series, StoredRun},
};

/// A column that no version of this program wrote.
fn odd(what: &str, found: &str) -> Error {
    Error::FromSqlConversionFailure(0, Type::Text, format!("{what} is {found:?}").into())
}

/// The word of a plain enumeration, as in JSON.
pub(super) fn word<T: Serialize>(it: &T) -> String {
    match serde_json::to_value(it) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}

fn meant<T: DeserializeOwned>(what: &str, word: &str) -> Result<T> {
    serde_json::from_value(serde_json::Value::String(word.to_owned())).map_err(|_| odd(what, word))
}

/// The unit and polarity that stand for a kind; empty for a check.
pub(super) fn kind_words(kind: Kind) -> (String, String) {
    match kind {
        Kind::Check => (String::new(), String::new()),
        Kind::Metric { unit, polarity } => (word(&unit), word(&polarity)),
    }
}

pub(super) fn kind(unit: &str, polarity: &str) -> Result<Kind> {
    if unit.is_empty() {
        return Ok(Kind::Check);
    }
    let (unit, polarity) = (meant::<Unit>("a unit", unit)?, meant::<Polarity>("a polarity", polarity)?);
    Ok(Kind::Metric { unit, polarity })
}

/// SQLite knows no number beyond; a duration or a position that great is not meant.
pub(super) fn stored(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn count(row: &Row<'_>, column: &str) -> Result<Option<u64>> {
    Ok(row.get::<_, Option<i64>>(column)?.map(|number| u64::try_from(number).unwrap_or(0)))
}

pub(super) fn series(row: &Row<'_>) -> Result<Series> {
    Ok(Series {
        tree: row.get("tree")?,
        branch: row.get("branch")?,
        host: row.get("host")?,
        accelerator: row.get("accelerator")?,
        suite: row.get("suite")?,
    })
}

fn revision(row: &Row<'_>) -> Result<Revision> {
    Ok(Revision {
        commit: row.get("revision")?,
        subject: row.get("subject")?,
        committed: row.get("committed")?,
        position: count(row, "position")?,
    })
}

fn outcome(row: &Row<'_>) -> Result<Outcome> {
    let word = row.get::<_, String>("outcome")?;
    let reason = row.get::<_, Option<String>>("reason")?;
    Ok(match (word.as_str(), reason) {
        ("good", None) => Outcome::Good,
        ("regressed", Some(reason)) => Outcome::Regressed { reason },
        ("failed", Some(reason)) => Outcome::Failed { reason },
        ("unjudged", Some(reason)) => Outcome::Unjudged { reason },
        _ => return Err(odd("an outcome", &word)),
    })
}

/// A row of `runs`, which belongs to `series`.
pub(super) fn run(row: &Row<'_>, series: &Series) -> Result<StoredRun> {
    let run = Run {
        series: series.clone(),
        created: row.get("created")?,
        revision: revision(row)?,
        suite_sha256: row.get("suite_sha256")?,
        image_sha256: row.get("image_sha256")?,
        tool_version: row.get("tool_version")?,
        outcome: outcome(row)?,
        report: row.get("report")?,
        build_millis: count(row, "build_millis")?,
        boots_millis: count(row, "boots_millis")?,
    };
    Ok(StoredRun { id: RunId(row.get("id")?), run })
}

/// A row of `runs` with the columns of a metric or check, or with NULLs in their place.
pub(super) fn point(row: &Row<'_>, kind: Kind) -> Result<Point> {
    let measured = match kind {
        Kind::Check => match row.get::<_, Option<u32>>("passed")? {
            Some(passed) => Some(Measured::Check { passed, failed: row.get("failed")? }),
            None => None,
        },
        Kind::Metric { .. } => match row.get::<_, Option<i64>>("low")? {
            Some(low) => Some(Measured::Metric { low, high: row.get("high")?, boots: row.get("boots")? }),
            None => None,
        },
    };
    Ok(Point {
        run: RunId(row.get("id")?),
        created: row.get("created")?,
        revision: revision(row)?,
        outcome: outcome(row)?,
        measured,
    })
}

/// A row of `regressions`, which belongs to `series`.
pub(super) fn regression(row: &Row<'_>, series: &Series) -> Result<Regression> {
    let last: String = row.get("culprit")?;
    let culprit = match (row.get("subject")?, row.get("good")?) {
        (Some(subject), None) => Culprit::Commit { commit: last, subject },
        (None, Some(good)) => Culprit::Range { good, bad: last },
        _ => return Err(odd("a culprit", &last)),
    };
    Ok(Regression {
        id: RegressionId(row.get("id")?),
        series: series.clone(),
        culprit,
        target: row.get("target")?,
        first_seen: RunId(row.get("first_seen")?),
    })
}
