//! A suite's workload: its parts fetched, its program built, its disk made, and what was seen drawn.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use mthp_detect::svg;
use mthp_judge::{
    report::{FileRecord, WorkloadRecord},
    suite::Suite,
};
use mthp_record::{
    boot::BootRecord,
    workload::{Detection, Scenario},
};
use mthp_workload::{Disk, Parts, Picture, Spec, disk, fetch};

use crate::{
    event::{Event, Events},
    folder::Folder,
    guest,
    laboratory::{Lab, translate},
    project::Project,
};

/// What a boot needs of a workload.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The scenarios to run.
    pub scenarios: Vec<Scenario>,
    /// The image with the program, the model and the runtime.
    pub disk: PathBuf,
}

/// A workload that is ready to run.
#[derive(Clone, Debug)]
pub struct Workload {
    /// What its file declares.
    pub spec: Spec,
    /// Its disk.
    pub disk: Disk,
    /// The image that is looked at.
    picture: Picture,
}

/// The workload that a suite declares or the user names instead.
///
/// # Errors
/// When its file cannot be read or is malformed.
pub fn spec(project: &Project, suite: &Suite, own: Option<&Path>) -> Result<Option<Spec>> {
    match (own, &suite.workload) {
        (Some(path), Some(_)) => Spec::read(path).map(Some),
        (Some(path), None) => Err(mthp_kernel::BadInput(format!(
            "failed to use the workload {}: the suite {} runs none; take one that does, as --suite yolov5",
            path.display(),
            suite.name
        ))
        .into()),
        (None, Some(name)) => Spec::read(&project.workload(name)?).map(Some),
        (None, None) => Ok(None),
    }
}

/// Downloads what is missing of a workload.
///
/// # Errors
/// When something cannot be fetched or is not what it should be.
pub fn fetch_parts(lab: &Lab, spec: &Spec, events: &Events<'_>) -> Result<()> {
    parts(lab, spec, events).map(drop)
}

fn parts(lab: &Lab, spec: &Spec, events: &Events<'_>) -> Result<Parts> {
    let label = "workload";
    events(&Event::Began { label: label.to_owned(), what: "looking for its parts".to_owned() });
    let parts = fetch::fetch(spec, lab.cache(), &translate(label, events), lab.stop().builds());
    let what =
        if parts.is_ok() { format!("{}: model, image and runtime", spec.name) } else { "failed".to_owned() };
    events(&Event::Ended { label: label.to_owned(), what });
    parts
}

/// A workload of which all parts are there and what they should be; nothing is built yet.
#[derive(Clone, Debug)]
pub struct Gathered {
    spec: Spec,
    parts: Parts,
    picture: Picture,
}

impl Gathered {
    /// Gathers the parts; the network is not used.
    ///
    /// # Errors
    /// When a part is missing (the error says how to get it) or not what it should be.
    pub fn of(lab: &Lab, spec: Spec, events: &Events<'_>) -> Result<Self> {
        let missing = fetch::missing(&spec, lab.cache());
        if !missing.is_empty() {
            bail!(
                "failed to find what the workload {} is made of: {}\n  fetch it with: --setup",
                spec.name,
                missing.join(", ")
            );
        }
        let parts = parts(lab, &spec, events)?;
        let picture = Picture::read(&parts.image)?;
        Ok(Self { spec, parts, picture })
    }

    /// Builds the program and the disk.
    ///
    /// # Errors
    /// When they cannot be built.
    pub fn assemble(self, lab: &Lab, events: &Events<'_>) -> Result<Workload> {
        let program = guest::build_inference(lab.project(), events)?;
        let label = "workload disk";
        events(&Event::Began { label: label.to_owned(), what: "building".to_owned() });
        let disk =
            disk::build(&self.parts, &program, lab.cache(), &translate(label, events), lab.stop().builds());
        let what = match &disk {
            Ok(disk) => format!("{} files, {:.1} MB", disk.files.len(), megabytes(disk.bytes)),
            Err(_) => "failed".to_owned(),
        };
        events(&Event::Ended { label: label.to_owned(), what });
        Ok(Workload { spec: self.spec, disk: disk?, picture: self.picture })
    }
}

impl Workload {
    /// What the report says of it.
    #[must_use]
    pub fn record(&self) -> WorkloadRecord {
        WorkloadRecord {
            name: self.spec.name.clone(),
            disk_sha256: self.disk.sha256.clone(),
            disk_bytes: self.disk.bytes,
            files: self
                .disk
                .files
                .iter()
                .map(|file| FileRecord {
                    path: file.path.clone(),
                    bytes: file.bytes,
                    sha256: file.sha256.clone(),
                })
                .collect(),
        }
    }

    /// Draws what each scenario saw on each side into the report's folder: `SIDE-WORKLOAD-CASE.svg`.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn draw(&self, boots: &[BootRecord], folder: &Folder) -> Result<()> {
        for boot in boots.iter().filter(|boot| boot.index == 0) {
            for case in &self.spec.cases {
                let name = &case.scenario.name;
                let Some(result) = boot.tests.iter().find(|result| result.name == *name) else { continue };
                let Some(text) = result.evidence.get("detections").filter(|text| !text.is_empty()) else {
                    continue;
                };
                // A guest's words: what is no list of detections is not drawn.
                let Ok(seen) = serde_json::from_str::<Vec<Detection>>(text) else { continue };
                let title = format!("{name} on the {} kernel", boot.side);
                let drawn = svg(&self.picture.bytes, self.picture.width, self.picture.height, &seen, &title);
                folder.put(&format!("{}-{}.svg", boot.side, name.replace('/', "-")), drawn.as_bytes())?;
            }
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "shown with one decimal")]
fn megabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e6
}
