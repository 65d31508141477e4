//! What is stored, for programs.

use serde::Serialize;
use serde_json::Value;

use super::change::{Change, changes};
use crate::{
    history::{Kind, Name, Point, Track},
    run::Series,
};

#[derive(Serialize)]
struct Shown<'a> {
    series: &'a Series,
    #[serde(flatten)]
    name: &'a Name,
    measures: &'a Kind,
    points: Vec<ShownPoint<'a>>,
}

#[derive(Serialize)]
struct ShownPoint<'a> {
    #[serde(flatten)]
    point: &'a Point,
    change: Option<Change>,
}

/// Every track with its newest `limit` points, the newest first, each with its change.
///
/// # Errors
/// None that is known: all of it can be written as JSON.
pub fn tracks(tracks: &[Track], limit: usize) -> Result<Value, serde_json::Error> {
    serde_json::to_value(tracks.iter().map(|track| shown(track, limit)).collect::<Vec<_>>())
}

fn shown(track: &Track, limit: usize) -> Shown<'_> {
    let Track { series, name, measures, points } = track;
    let points = points.iter().zip(changes(track)).rev().take(limit);
    let points = points.map(|(point, change)| ShownPoint { point, change }).collect();
    Shown { series, name, measures, points }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{self, metric};

    #[test]
    fn a_track_as_json() {
        let track = sample::track(&[metric(0, 0), None, metric(4, 8)]);
        insta::assert_json_snapshot!(tracks(&[track], 2).unwrap());
    }
}
