//! What is stored.

use std::io::Read as _;

use anyhow::{Context, Result};
use flate2::read::ZlibDecoder;
use mthp_record::boot::BootRecord;
use rusqlite::{Connection, OptionalExtension, params};

use super::{Store, rows};
use crate::{
    history::{Baseline, Kind, Name, Point, Track},
    run::{Filter, Series, StoredRun},
};

/// The runs of a series, the newest first.
pub(super) const RUNS: &str = "SELECT * FROM runs WHERE series = ?1 ORDER BY id DESC LIMIT ?2";

/// The last good run of a series, with its boots.
pub(super) const LAST_GOOD: &str = "
    SELECT runs.*, boots.json FROM runs JOIN boots ON boots.run = runs.id
    WHERE runs.series = ?1 AND runs.outcome = 'good' ORDER BY runs.id DESC LIMIT 1";

/// The runs of a series from one on, with a metric where they have it.
pub(super) const METRIC: &str = "
    SELECT runs.*, low, high, boots FROM runs LEFT JOIN metrics ON metrics.name = ?2 AND metrics.run = runs.id
    WHERE runs.series = ?1 AND runs.id >= ?3 ORDER BY runs.id";

/// The same with a check.
pub(super) const CHECK: &str = "
    SELECT runs.*, passed, failed FROM runs LEFT JOIN checks ON checks.name = ?2 AND checks.run = runs.id
    WHERE runs.series = ?1 AND runs.id >= ?3 ORDER BY runs.id";

/// The names of a series.
pub(super) const NAMES: &str = "
    SELECT names.id, test, names.name, unit, polarity, first
    FROM series_names JOIN names ON names.id = series_names.name WHERE series = ?1";

/// A name of a series, and since which run it has it.
pub(super) const NAME: &str = "
    SELECT names.id, test, names.name, unit, polarity, first
    FROM names JOIN series_names ON series_names.series = ?1 AND series_names.name = names.id
    WHERE test = ?2 AND names.name = ?3";

/// A name as a series has it.
struct Named {
    id: i64,
    first: i64,
    name: Name,
    kind: Kind,
}

impl Store {
    /// Every series there is.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn series(&self) -> Result<Vec<Series>> {
        Ok(self.selected(&Filter::default())?.into_iter().map(|(_, series)| series).collect())
    }

    /// The runs of all series that the filter selects, the newest first, at most `limit`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn runs(&self, filter: &Filter, limit: usize) -> Result<Vec<StoredRun>> {
        let most = i64::try_from(limit).unwrap_or(i64::MAX);
        let mut runs = Vec::new();
        for (id, series) in self.selected(filter)? {
            let of_series = || -> rusqlite::Result<Vec<StoredRun>> {
                let mut statement = self.connection.prepare_cached(RUNS)?;
                statement.query_map(params![id, most], |row| rows::run(row, &series))?.collect()
            };
            runs.extend(of_series().with_context(|| self.reading())?);
        }
        runs.sort_by_key(|run| std::cmp::Reverse(run.id));
        runs.truncate(limit);
        Ok(runs)
    }

    /// The last good run of exactly this series, with its boots: what the next run is compared with.
    ///
    /// # Errors
    /// When the store cannot be read, or the boots are not of a form that this version knows.
    pub fn last_good(&self, series: &Series) -> Result<Option<Baseline>> {
        let Some(id) = self.series_id(series)? else { return Ok(None) };
        let found = self
            .connection
            .query_row(LAST_GOOD, [id], |row| Ok((rows::run(row, series)?, row.get::<_, Vec<u8>>("json")?)))
            .optional()
            .with_context(|| self.reading())?;
        let Some((run, json)) = found else { return Ok(None) };
        let boots = unpack(&json).with_context(|| {
            let (path, version) = (self.path.display(), &run.run.tool_version);
            format!("failed to read the boots of run {} in {path}, stored by version {version}", run.id)
        })?;
        Ok(Some(Baseline { run, boots }))
    }

    /// Every check and metric of the series that the filter selects, each once, by name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn names(&self, filter: &Filter) -> Result<Vec<(Name, Kind)>> {
        let mut names: Vec<(Name, Kind)> = Vec::new();
        for (id, _) in self.selected(filter)? {
            let found = named(&self.connection, NAMES, params![id]).with_context(|| self.reading())?;
            names.extend(found.into_iter().map(|named| (named.name, named.kind)));
        }
        names.sort_by(|(a, _), (b, _)| a.cmp(b));
        names.dedup();
        Ok(names)
    }

    /// The check or metric called `name` (`TEST:NAME`) over the runs of every series that the filter selects and that
    /// has it, the newest series first. None where there is no such name.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn tracks(&self, filter: &Filter, name: &str) -> Result<Vec<Track>> {
        let mut tracks = Vec::new();
        for (id, series) in self.selected(filter)? {
            // A test's name may hold a colon too.
            for (at, _) in name.match_indices(':') {
                let (test, name) = (&name[..at], &name[at + 1..]);
                let found = named(&self.connection, NAME, params![id, test, name]);
                for named in found.with_context(|| self.reading())? {
                    let points = points(&self.connection, id, &named).with_context(|| self.reading())?;
                    tracks.push(Track {
                        series: series.clone(),
                        name: named.name,
                        measures: named.kind,
                        points,
                    });
                }
            }
        }
        tracks.sort_by_key(|track| std::cmp::Reverse(track.points.last().map(|point| point.run)));
        Ok(tracks)
    }

    /// The numbers and the series that the filter selects.
    pub(super) fn selected(&self, filter: &Filter) -> Result<Vec<(i64, Series)>> {
        let all = || -> rusqlite::Result<Vec<(i64, Series)>> {
            let mut statement = self.connection.prepare_cached("SELECT * FROM series ORDER BY id")?;
            statement.query_map([], |row| Ok((row.get("id")?, rows::series(row)?)))?.collect()
        };
        let all = all().with_context(|| self.reading())?;
        Ok(all.into_iter().filter(|(_, series)| filter.selects(series)).collect())
    }

    /// The number of a series, if there is one.
    pub(super) fn series_id(&self, series: &Series) -> Result<Option<i64>> {
        Ok(self.selected(&Filter::of(series))?.first().map(|(id, _)| *id))
    }
}

fn named(
    connection: &Connection,
    query: &str,
    parameters: impl rusqlite::Params,
) -> rusqlite::Result<Vec<Named>> {
    let mut statement = connection.prepare_cached(query)?;
    let found = statement.query_map(parameters, |row| {
        Ok(Named {
            id: row.get("id")?,
            first: row.get("first")?,
            name: Name { test: row.get("test")?, name: row.get("name")? },
            kind: rows::kind(&row.get::<_, String>("unit")?, &row.get::<_, String>("polarity")?)?,
        })
    })?;
    found.collect()
}

fn points(connection: &Connection, series: i64, named: &Named) -> rusqlite::Result<Vec<Point>> {
    let query = match named.kind {
        Kind::Check => CHECK,
        Kind::Metric { .. } => METRIC,
    };
    let mut statement = connection.prepare_cached(query)?;
    statement.query_map(params![series, named.id, named.first], |row| rows::point(row, named.kind))?.collect()
}

fn unpack(json: &[u8]) -> Result<Vec<BootRecord>> {
    let mut text = Vec::new();
    ZlibDecoder::new(json).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
