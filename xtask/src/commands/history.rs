//! `cargo xtask history`: what the nightly runs found.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result};
use mthp_judge::text::{clean, list};
use mthp_kernel::BadInput;
use mthp_store::{
    Store,
    history::Track,
    place,
    run::Filter,
    show::{
        self, Look, json,
        near::near,
        plot::{self, Picture},
    },
};

use crate::{
    cli::{History, TableFormat},
    ui,
};

/// Runs or values that are shown where nobody says how many.
const LIMIT: usize = 30;

/// Prints the runs, or one check or metric over them, and draws it.
///
/// # Errors
/// [`BadInput`] when the store is none, or a name, a branch or a file's ending is not known; otherwise when the store
/// cannot be read or the plot not written.
pub fn run(options: &History) -> Result<ExitCode> {
    let plot = options.plot.as_deref().map(|path| Ok::<_, BadInput>((path, picture(path)?))).transpose()?;
    let place = place::locate(options.store.as_deref())?;
    let Some(store) = open(options.store.is_some(), &place)? else {
        nothing(&place, options.format);
        return Ok(ExitCode::SUCCESS);
    };
    let series = store.series()?;
    if series.is_empty() {
        nothing(&place, options.format);
        return Ok(ExitCode::SUCCESS);
    }
    let filter = filter(options);
    if let Some(unknown) = filter.unknown(&series) {
        let known = list(unknown.known.iter().map(String::as_str), 12);
        let (what, value) = (unknown.what, clean(&unknown.value));
        return Err(BadInput(format!("no stored run has the {what} '{value}'; there are: {known}")).into());
    }
    match &options.name {
        None => runs(&store, &filter, options)?,
        Some(name) => {
            let tracks = tracks(&store, &filter, name)?;
            if let Some((path, picture)) = plot {
                draw(&tracks, options.limit, path, picture)?;
            }
            values(&tracks, options)?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The store, or `None` where none was made yet. Looking must not make one.
fn open(is_named: bool, place: &Path) -> Result<Option<Store>> {
    if place.exists() {
        return Store::open(place).map(Some);
    }
    if is_named {
        return Err(BadInput(format!("there is no store at {}", place.display())).into());
    }
    Ok(None)
}

fn nothing(place: &Path, format: TableFormat) {
    let word = format!("no run is stored yet in {}; `cargo xtask nightly` stores one", place.display());
    if format == TableFormat::Json {
        ui::answer("[]");
        ui::say(&word);
    } else {
        ui::answer(&word);
    }
}

fn filter(options: &History) -> Filter {
    Filter {
        tree: None,
        branch: options.branch.clone(),
        host: options.host.clone(),
        accelerator: options.accel.clone(),
        suite: options.suite.clone(),
    }
}

fn runs(store: &Store, filter: &Filter, options: &History) -> Result<()> {
    let runs = store.runs(filter, options.limit.unwrap_or(LIMIT))?;
    match look(options.format) {
        None => ui::answer(&serde_json::to_string_pretty(&runs)?),
        Some(_) if runs.is_empty() => ui::answer("no stored run is of all that together"),
        Some(look) => ui::answer(&show::runs(&runs, look)),
    }
    Ok(())
}

fn tracks(store: &Store, filter: &Filter, name: &str) -> Result<Vec<Track>> {
    let tracks = store.tracks(filter, name)?;
    if !tracks.is_empty() {
        return Ok(tracks);
    }
    let names = store.names(filter)?;
    let near = near(name, names.iter().map(|(name, _)| name));
    let hint = match near.len() {
        0 => "no run has any".to_owned(),
        most => format!("near: {}", list(near.iter().map(String::as_str), most)),
    };
    let name = clean(name);
    Err(BadInput(format!("no stored run has a check or metric '{name}' (TEST:NAME); {hint}")).into())
}

fn values(tracks: &[Track], options: &History) -> Result<()> {
    let limit = options.limit.unwrap_or(LIMIT);
    match look(options.format) {
        None => ui::answer(&serde_json::to_string_pretty(&json::tracks(tracks, limit)?)?),
        Some(look) => {
            let tables: Vec<_> = tracks.iter().map(|track| show::track(track, limit, look)).collect();
            ui::answer(&tables.join("\n"));
        }
    }
    Ok(())
}

/// How tables look; `None` for JSON.
fn look(format: TableFormat) -> Option<Look> {
    match format {
        TableFormat::Text => Some(Look::Terminal { width: ui::width(), color: ui::colour() }),
        TableFormat::Markdown => Some(Look::Markdown),
        TableFormat::Json => None,
    }
}

fn picture(path: &Path) -> Result<Picture, BadInput> {
    let unknown = || BadInput(format!("a plot is an .svg or a .png: {} is neither", path.display()));
    Picture::of(path).ok_or_else(unknown)
}

fn draw(tracks: &[Track], limit: Option<usize>, path: &Path, picture: Picture) -> Result<()> {
    if tracks.len() > plot::MOST {
        let (has, most) = (tracks.len(), plot::MOST);
        return Err(BadInput(format!(
            "{has} series have that name, and a plot shows at most {most}: --branch, --suite, --host or --accel narrow it"
        ))
        .into());
    }
    let bytes = plot::render(tracks, limit.unwrap_or(usize::MAX), picture)?;
    let folder = path.parent().map(PathBuf::from).unwrap_or_default();
    fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
    fs::write(path, bytes).with_context(|| format!("failed to write {}", path.display()))?;
    ui::say(&format!("plot: {}", path.display()));
    Ok(())
}
