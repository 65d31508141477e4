//! What can be meant, and what cannot.

use std::{
    ops::Range,
    path::{Component, Path},
};

use mthp_record::{
    cost::{SCENARIO, is_modelled, mark::is_name},
    workload::{Decode, Expected},
};
use toml::Spanned;

use super::{Conversion, Model, Runtime, Source, SpecError, Wheel, detection, line_of, raw};

/// The most of a dimension: far more than a guest has memory for.
const MAX_SIDE: u32 = 8192;
/// The most images, inferences or loads of a scenario: a slip of the key, not a scenario.
const MAX_TIMES: u32 = 1000;
/// OpenVINO has a stream for each request, and counts them in a byte.
const MAX_IN_FLIGHT: u32 = 255;
/// The sizes an anonymous large folio can have on x86-64, in KiB: orders 2 to 9.
const MTHP_KIB: std::ops::RangeInclusive<u64> = 16..=2048;

/// Checks fields of one text.
pub(super) struct Checker<'a> {
    /// The text, for the lines.
    pub(super) text: &'a str,
    /// The folder paths are relative to.
    pub(super) folder: &'a Path,
}

impl Checker<'_> {
    pub(super) fn fault(&self, span: Range<usize>, message: String) -> SpecError {
        SpecError { line: Some(line_of(self.text, &span)), message }
    }

    pub(super) fn check(&self, span: Range<usize>, problem: Option<String>) -> Result<(), SpecError> {
        problem.map_or(Ok(()), |problem| Err(self.fault(span, problem)))
    }

    fn required<'f>(
        &self,
        table: &Range<usize>,
        name: &str,
        field: Option<&'f Spanned<String>>,
    ) -> Result<&'f Spanned<String>, SpecError> {
        field.ok_or_else(|| self.fault(table.clone(), format!("`{name}` is missing beside `package`")))
    }

    fn refused(&self, name: &str, beside: &str, field: Option<&Spanned<String>>) -> Result<(), SpecError> {
        field.map_or(Ok(()), |field| {
            Err(self.fault(field.span(), format!("`{name}` means nothing beside `{beside}`")))
        })
    }

    fn sha256(&self, text: &Spanned<String>) -> Result<String, SpecError> {
        let hash = text.get_ref().to_ascii_lowercase();
        if hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(hash);
        }
        Err(self.fault(text.span(), "a SHA-256 has 64 hexadecimal digits".to_owned()))
    }

    fn wheel(&self, package: &Spanned<String>, sha256: &Spanned<String>) -> Result<Wheel, SpecError> {
        self.check(package.span(), package_problem(package.get_ref()))?;
        Ok(Wheel { package: package.get_ref().clone(), sha256: self.sha256(sha256)? })
    }

    /// A file: a member of a wheel or a path, and not both.
    pub(super) fn file(&self, table: Range<usize>, fields: &raw::Fields<'_>) -> Result<Source, SpecError> {
        let sha256 = fields.sha256.map(|sha256| self.sha256(sha256)).transpose()?;
        match (fields.package, fields.path) {
            (Some(package), None) => {
                let file = self.required(&table, "file", fields.file)?;
                self.check(file.span(), member_problem(file.get_ref()))?;
                let wheel =
                    self.wheel(package, self.required(&table, "wheel_sha256", fields.wheel_sha256)?)?;
                self.required(&table, "sha256", fields.sha256)?;
                Ok(Source::Member { wheel, file: file.get_ref().clone(), sha256: sha256.unwrap_or_default() })
            }
            (None, Some(path)) => {
                self.refused("file", "path", fields.file)?;
                self.refused("wheel_sha256", "path", fields.wheel_sha256)?;
                Ok(Source::Path { path: self.folder.join(self.path(path)?), sha256 })
            }
            _ => Err(self.fault(table, "either `package` or `path` says where it comes from".to_owned())),
        }
    }

    fn path<'f>(&self, path: &'f Spanned<String>) -> Result<&'f str, SpecError> {
        let problem = path.get_ref().is_empty().then(|| "an empty path".to_owned());
        self.check(path.span(), problem)?;
        Ok(path.get_ref())
    }

    pub(super) fn model(&self, raw: &Spanned<raw::Model>) -> Result<Model, SpecError> {
        let model = raw.get_ref();
        let source = self.file(raw.span(), &model.fields())?;
        let conversion = match (&model.convert, &model.onnx_sha256) {
            (None, None) => None,
            (None, Some(sha256)) => {
                return Err(
                    self.fault(sha256.span(), "`onnx_sha256` means nothing without `convert`".to_owned())
                );
            }
            (Some(convert), None) => {
                return Err(self.fault(convert.span(), "`convert` needs `onnx_sha256`".to_owned()));
            }
            (Some(convert), Some(sha256)) => match convert.get_ref() {
                raw::Convert::Yolov5Checkpoint => {
                    Some(Conversion::Yolov5Checkpoint { onnx_sha256: self.sha256(sha256)? })
                }
            },
        };
        Ok(Model { source, conversion })
    }

    pub(super) fn decode(&self, raw: Option<&raw::Decode>) -> Result<Decode, SpecError> {
        let Some(raw) = raw else { return Ok(Decode::None) };
        for fraction in [&raw.confidence, &raw.overlap] {
            self.check(fraction.span(), fraction_problem(*fraction.get_ref()))?;
        }
        Ok(Decode::Yolov5 {
            confidence_thousandths: thousandths(*raw.confidence.get_ref()),
            overlap_thousandths: thousandths(*raw.overlap.get_ref()),
        })
    }

    pub(super) fn runtime(&self, table: Range<usize>, raw: &raw::OwnRuntime) -> Result<Runtime, SpecError> {
        let files = raw.files.get_ref();
        match (&raw.package, &raw.path) {
            (Some(package), None) => {
                let folder = self.required(&table, "folder", raw.folder.as_ref())?;
                self.check(folder.span(), member_problem(folder.get_ref()))?;
                let wheel =
                    self.wheel(package, self.required(&table, "wheel_sha256", raw.wheel_sha256.as_ref())?)?;
                if files.is_empty() {
                    return Err(
                        self.fault(table, "`files` says which libraries of the package to take".to_owned())
                    );
                }
                let member = |library: &raw::Library| {
                    self.check(library.file.span(), file_problem(library.file.get_ref()))?;
                    let sha256 = library.sha256.as_ref().ok_or_else(|| {
                        self.fault(library.file.span(), "`sha256` is missing beside `file`".to_owned())
                    })?;
                    Ok(Source::Member {
                        wheel: wheel.clone(),
                        file: format!("{}/{}", folder.get_ref(), library.file.get_ref()),
                        sha256: self.sha256(sha256)?,
                    })
                };
                Ok(Runtime::Files(files.iter().map(member).collect::<Result<_, _>>()?))
            }
            (None, Some(path)) => {
                self.refused("folder", "path", raw.folder.as_ref())?;
                self.refused("wheel_sha256", "path", raw.wheel_sha256.as_ref())?;
                let folder = self.folder.join(self.path(path)?);
                if files.is_empty() {
                    return Ok(Runtime::Folder(folder));
                }
                let own = |library: &raw::Library| {
                    self.check(library.file.span(), file_problem(library.file.get_ref()))?;
                    let sha256 = library.sha256.as_ref().map(|sha256| self.sha256(sha256)).transpose()?;
                    Ok(Source::Path { path: folder.join(library.file.get_ref()), sha256 })
                };
                Ok(Runtime::Files(files.iter().map(own).collect::<Result<_, _>>()?))
            }
            _ => Err(self.fault(table, "either `package` or `path` says where it comes from".to_owned())),
        }
    }

    /// What is expected at which height and width.
    pub(super) fn expectations(
        &self,
        raw: &[Spanned<raw::Expected>],
        decode: Decode,
        scenarios: &[raw::Scenario],
    ) -> Result<Vec<([u32; 2], Expected)>, SpecError> {
        let mut all: Vec<([u32; 2], Expected)> = Vec::with_capacity(raw.len());
        for expected in raw {
            let Decode::Yolov5 { confidence_thousandths: least, .. } = decode else {
                let problem = "nothing can be expected of a model without `decode`";
                return Err(self.fault(expected.span(), problem.to_owned()));
            };
            let expected = expected.get_ref();
            let size = *expected.size.get_ref();
            let [height, width] = size;
            let used = scenarios.iter().any(|scenario| scenario.shape.get_ref().ends_with(&size));
            let problem = if all.iter().any(|(other, _)| *other == size) {
                Some(format!("a second expectation at {height} x {width}"))
            } else if used {
                None
            } else {
                Some(format!("no scenario has the height {height} and the width {width}"))
            };
            self.check(expected.size.span(), problem)?;
            let tolerance = &expected.confidence_tolerance;
            self.check(tolerance.span(), fraction_problem(*tolerance.get_ref()))?;
            let mut before = f64::INFINITY;
            for one in &expected.detections {
                self.check(one.span(), detection_problem(one.get_ref(), before, least))?;
                before = one.get_ref().confidence;
            }
            let expected = Expected {
                detections: expected.detections.iter().map(|one| detection(one.get_ref())).collect(),
                confidence_tolerance: thousandths(*tolerance.get_ref()),
                box_tolerance: expected.box_tolerance,
            };
            all.push((size, expected));
        }
        Ok(all)
    }

    pub(super) fn scenario(&self, raw: &raw::Scenario, decode: Decode) -> Result<(), SpecError> {
        self.check(raw.name.span(), name_problem(raw.name.get_ref()))?;
        self.check(raw.shape.span(), shape_problem(*raw.shape.get_ref(), decode))?;
        for (name, times, most) in [
            ("inferences", &raw.inferences, MAX_TIMES),
            ("in_flight", &raw.in_flight, MAX_IN_FLIGHT),
            ("loads", &raw.loads, MAX_TIMES),
        ] {
            let problem = (!(1..=most).contains(times.get_ref()))
                .then(|| format!("{name} is {}, not within 1 to {most}", times.get_ref()));
            self.check(times.span(), problem)?;
        }
        self.check(raw.mthp_kib.span(), sizes_problem(raw.mthp_kib.get_ref()))?;
        self.check(raw.tunables.span(), tunables_problem(raw.tunables.get_ref()))
    }

    /// A scenario, called `name`, that is not run for the cost model.
    pub(super) fn not_modelled(&self, name: &str, raw: &raw::Scenario) -> Result<(), SpecError> {
        let problem = is_modelled(name)
            .then(|| format!("`{name}`: a name that ends in {SCENARIO} takes `modelled = true`"));
        self.check(raw.name.span(), problem)
    }

    /// A scenario whose last inference is a region of the cost model, called `name`.
    pub(super) fn modelled(&self, name: &str, raw: &raw::Scenario) -> Result<(), SpecError> {
        let problem = |bad: bool, problem: &str| bad.then(|| format!("`modelled`: {problem}"));
        let called =
            problem(!is_name(name), "a region's name is of letters, digits, `-`, `+`, `.` and short");
        self.check(raw.name.span(), called)?;
        let alone = raw.inferences.get_ref() < &2;
        self.check(
            raw.inferences.span(),
            problem(alone, "the last inference counts, one before it warms up"),
        )?;
        let many = *raw.in_flight.get_ref() != 1;
        self.check(raw.in_flight.span(), problem(many, "a region is of one thread, so of one request"))?;
        let awake = *raw.khugepaged.get_ref();
        self.check(raw.khugepaged.span(), problem(awake, "khugepaged would change pages inside the region"))?;
        if let Some(watched) = &raw.watched {
            self.check(watched.span(), problem(*watched.get_ref(), "it is never watched"))?;
        }
        let plain = problem(!is_modelled(name), &format!("its name must end in {SCENARIO}"));
        self.check(raw.name.span(), plain)
    }
}

/// A fraction within 0 to 1 in thousandths, rounded.
pub(super) fn thousandths(fraction: f64) -> u32 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "fractions are checked to be within 0 to 1, and the cast saturates"
    )]
    let thousandths = (fraction * 1000.0).round() as u32;
    thousandths
}

/// A name is a part of a test's name, which patterns select and folders are named by.
pub(super) fn name_problem(name: &str) -> Option<String> {
    let good = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let bad = name.is_empty() || name.starts_with('.') || !name.bytes().all(good);
    bad.then(|| format!("`{name}`: a name is of letters, digits, `-`, `_` and `.`"))
}

/// The package goes into a requirements file, where more than a name and a version would mean more.
fn package_problem(package: &str) -> Option<String> {
    let name = |text: &str| {
        text.starts_with(|first: char| first.is_ascii_alphanumeric())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    };
    let version = |text: &str| {
        !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+!_-".contains(&byte))
    };
    let good = package.split_once("==").is_some_and(|(left, right)| name(left) && version(right));
    (!good).then(|| format!("`{package}`: a package is named as name==version"))
}

fn member_problem(path: &str) -> Option<String> {
    let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    (path.is_empty() || !inside || path.ends_with('/')).then(|| format!("`{path}` is no path inside a wheel"))
}

fn file_problem(name: &str) -> Option<String> {
    (member_problem(name).is_some() || name.contains('/')).then(|| format!("`{name}` is no file's name"))
}

fn fraction_problem(fraction: f64) -> Option<String> {
    (!(0.0..=1.0).contains(&fraction)).then(|| format!("{fraction} is not within 0 to 1"))
}

fn detection_problem(detection: &raw::Detection, before: f64, least: u32) -> Option<String> {
    let [left, top, right, bottom] = detection.bounds;
    if let Some(problem) = fraction_problem(detection.confidence) {
        return Some(problem);
    }
    if left >= right || top >= bottom {
        return Some("bounds are left, top, right, bottom".to_owned());
    }
    if detection.confidence > before {
        return Some("the most confident detection comes first".to_owned());
    }
    (thousandths(detection.confidence) < least)
        .then(|| format!("confidence {} is below what `decode` keeps", detection.confidence))
}

fn shape_problem(shape: [u32; 4], decode: Decode) -> Option<String> {
    let [batch, channels, height, width] = shape;
    if !(1..=MAX_TIMES).contains(&batch) {
        return Some(format!("a batch of {batch} is not within 1 to {MAX_TIMES}"));
    }
    if channels != 3 {
        return Some(format!("{channels} channels: an image has 3 (batch, channels, height, width)"));
    }
    if ![height, width].iter().all(|side| (1..=MAX_SIDE).contains(side)) {
        return Some(format!("{height} x {width}: a side is within 1 to {MAX_SIDE}"));
    }
    (matches!(decode, Decode::Yolov5 { .. }) && (height % 32 != 0 || width % 32 != 0))
        .then(|| format!("{height} x {width}: YOLOv5 takes multiples of 32"))
}

fn sizes_problem(sizes: &[u64]) -> Option<String> {
    for (at, size) in sizes.iter().enumerate() {
        if !size.is_power_of_two() || !MTHP_KIB.contains(size) {
            return Some(format!("mthp_kib {size} is no power of two within 16 to 2048"));
        }
        if sizes.iter().take(at).any(|earlier| earlier == size) {
            return Some(format!("mthp_kib {size} twice"));
        }
    }
    None
}

fn tunables_problem(tunables: &str) -> Option<String> {
    let good = |one: &str| {
        one.strip_prefix("glibc.").and_then(|rest| rest.split_once('=')).is_some_and(|(name, value)| {
            let word = |text: &str| {
                !text.is_empty()
                    && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
            };
            word(name) && word(value)
        })
    };
    let bad = tunables.split(':').find(|one| !good(one))?;
    (!tunables.is_empty())
        .then(|| format!("`{bad}`: a tunable is glibc.NAME=VALUE, several are parted by `:`"))
}
