//! The workload's file, `configs/workloads/*.toml`: which model on which image by which runtime, and in what ways.

mod check;
mod raw;

use std::{
    fs,
    ops::Range,
    path::{Path, PathBuf},
};

use anyhow::Result;
use mthp_record::workload::{
    Decode, Detection, Expected, IMAGE, LIBRARIES, MODEL, Order, ROOT, RUNTIME, Scenario, Tensors,
};
use toml::Spanned;

use crate::bad_input;
use check::Checker;

/// Where a scenario with `tensors = "tmpfs"` has its tmpfs in the guest.
pub const TENSORS: &str = "/tensors";

/// Its runtime is what `runtime = "shipped"`, or none, stands for.
const SHIPPED: &str = include_str!("../../../configs/workloads/yolov5.toml");

/// One workload, as its file declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Spec {
    /// A short name, for example `yolov5`.
    pub name: String,
    /// What it is, in a sentence.
    pub description: String,
    /// The model.
    pub model: Model,
    /// The image that is looked at, JPEG or PNG.
    pub image: Source,
    /// The inference runtime.
    pub runtime: Runtime,
    /// The ways to run it, at least one, in the file's order.
    pub cases: Vec<Case>,
}

/// A model in the ONNX format, or what becomes one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Where it comes from.
    pub source: Source,
    /// What must be done to it; `None` where the file is the model.
    pub conversion: Option<Conversion>,
}

/// How a file becomes a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Conversion {
    /// From a checkpoint of YOLOv5, as PyTorch pickles it.
    Yolov5Checkpoint {
        /// The SHA-256 the model must have.
        onnx_sha256: String,
    },
}

/// Where a file comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A member of a Python wheel.
    Member {
        /// The wheel.
        wheel: Wheel,
        /// The member's path in it.
        file: String,
        /// The member's SHA-256.
        sha256: String,
    },
    /// A file of the user's.
    Path {
        /// Its path; in the workload's file relative to that file.
        path: PathBuf,
        /// The SHA-256 it must have, if one was declared.
        sha256: Option<String>,
    },
}

/// A Python wheel on a package index.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Wheel {
    /// Name and version, `name==version`.
    pub package: String,
    /// The wheel's SHA-256.
    pub sha256: String,
}

/// The libraries of ONNX Runtime and its execution providers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// These files.
    Files(Vec<Source>),
    /// All shared libraries of a folder of the user's.
    Folder(PathBuf),
}

/// A scenario and when it runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Case {
    /// What is run.
    pub scenario: Scenario,
    /// Is it left out under emulation unless it is named?
    pub slow: bool,
}

/// Why a workload's text is not a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The line, from 1, where the parser could tell.
    pub line: Option<usize>,
    /// What is wrong.
    pub message: String,
}

impl std::fmt::Display for SpecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.line {
            Some(line) => write!(f, "line {line}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

impl std::error::Error for SpecError {}

impl Spec {
    /// Reads a workload's file.
    ///
    /// # Errors
    /// [`BadInput`](mthp_kernel::BadInput) for a file that cannot be read or does not declare a workload, with its path
    /// and the line.
    pub fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)
            .map_err(|error| bad_input(format!("failed to read {}: {error}", path.display())))?;
        Self::parse(&text, path.parent().unwrap_or(Path::new("")))
            .map_err(|error| bad_input(format!("failed to use {}: {error}", path.display())))
    }

    /// Reads a workload's text, which lies in `folder`.
    ///
    /// # Errors
    /// When the text is not TOML, has a field too many or too few, or declares something that cannot be meant (no
    /// scenario, a hash that is none, a shape with a zero). The error names the line.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, SpecError> {
        let raw: raw::Workload = toml::from_str(text).map_err(|error| SpecError {
            line: error.span().map(|span| line_of(text, &span)),
            message: error.message().to_owned(),
        })?;
        let checker = Checker { text, folder };
        let check = |span: Range<usize>, problem: Option<String>| checker.check(span, problem);

        check(raw.name.span(), check::name_problem(raw.name.get_ref()))?;
        let runtime = match raw.runtime.as_ref().map(|runtime| (runtime.span(), runtime.get_ref())) {
            None | Some((_, raw::Runtime::Shipped)) => Self::parse(SHIPPED, Path::new(""))?.runtime,
            Some((table, raw::Runtime::Own(own))) => checker.runtime(table, own)?,
        };
        let model = checker.model(&raw.model)?;
        let decode = checker.decode(raw.model.get_ref().decode.as_ref())?;
        let image = checker.file(raw.image.span(), &raw.image.get_ref().fields())?;
        let expected = checker.expectations(&raw.expected, decode, &raw.scenarios)?;

        if raw.scenarios.is_empty() {
            return Err(
                checker.fault(raw.name.span(), "a workload without a scenario runs nothing".to_owned())
            );
        }
        let mut cases: Vec<Case> = Vec::with_capacity(raw.scenarios.len());
        for scenario in raw.scenarios {
            checker.scenario(&scenario, decode)?;
            let name = format!("{}/{}", raw.name.get_ref(), scenario.name.get_ref());
            if scenario.modelled {
                checker.modelled(&name, &scenario)?;
            } else {
                checker.not_modelled(&name, &scenario)?;
            }
            if cases.iter().any(|case| case.scenario.name == name) {
                let problem = format!("a second scenario `{}`", scenario.name.get_ref());
                return Err(checker.fault(scenario.name.span(), problem));
            }
            cases.push(case(name, scenario, &raw.model.get_ref().dimensions, decode, &expected));
        }
        Ok(Self { name: raw.name.into_inner(), description: raw.description, model, image, runtime, cases })
    }
}

fn case(
    name: String,
    raw: raw::Scenario,
    dimensions: &[String; 4],
    decode: Decode,
    expected: &[([u32; 2], Expected)],
) -> Case {
    let shape = *raw.shape.get_ref();
    let [_, _, height, width] = shape;
    let scenario = Scenario {
        name: name.clone(),
        order: Order {
            model: format!("{ROOT}/{MODEL}"),
            image: format!("{ROOT}/{IMAGE}"),
            runtime: format!("{ROOT}/{LIBRARIES}/{RUNTIME}"),
            shape,
            dimensions: dimensions.clone(),
            inferences: *raw.inferences.get_ref(),
            in_flight: *raw.in_flight.get_ref(),
            loads: *raw.loads.get_ref(),
            tensors: match raw.tensors {
                raw::Tensors::Heap => Tensors::Heap,
                raw::Tensors::Memfd => Tensors::Memfd,
                raw::Tensors::Tmpfs => Tensors::Tmpfs { folder: TENSORS.to_owned() },
            },
            region: raw.modelled.then_some(name),
            decode,
        },
        expected: expected.iter().find(|(size, _)| *size == [height, width]).map(|(_, it)| it.clone()),
        thp: raw.thp,
        mthp_kib: raw.mthp_kib.into_inner(),
        watched: raw.watched.map_or(!raw.modelled, Spanned::into_inner),
        khugepaged: raw.khugepaged.into_inner(),
        tunables: raw.tunables.into_inner(),
    };
    Case { scenario, slow: raw.slow }
}

fn line_of(text: &str, span: &Range<usize>) -> usize {
    text.bytes().take(span.start).filter(|byte| *byte == b'\n').count() + 1
}

fn default_of<T>(value: T) -> Spanned<T> {
    Spanned::new(0..0, value)
}

fn detection(raw: &raw::Detection) -> Detection {
    Detection {
        class: raw.class,
        confidence_thousandths: check::thousandths(raw.confidence),
        bounds: raw.bounds,
    }
}

#[cfg(test)]
mod tests;
