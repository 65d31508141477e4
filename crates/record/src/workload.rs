//! A real program as a test: what the host orders of it, what it answers, and how it marks its phases.
//!
//! Three parties: the host writes [`Scenario`]s into the job; the runner (PID 1) sets the guest up for each,
//! starts the workload's program with an [`Order`] and watches what it maps; the program does its work, marks its
//! phases with [`MARK`] and says what came out in an [`Answer`].

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where the workload's disk is mounted in the guest.
pub const ROOT: &str = "/workload";
/// The program, below [`ROOT`].
pub const PROGRAM: &str = "bin/guest-inference";
/// The folder of all shared libraries, below [`ROOT`].
pub const LIBRARIES: &str = "lib";
/// The model, below [`ROOT`].
pub const MODEL: &str = "model.onnx";
/// The image that is looked at, below [`ROOT`].
pub const IMAGE: &str = "image";
/// The inference runtime, below [`LIBRARIES`].
pub const RUNTIME: &str = "libonnxruntime.so";

/// The one execution provider that may execute nodes of a model.
pub const PROVIDER: &str = "OpenVINOExecutionProvider";

/// The `prctl` option that marks a phase: `prctl(MARK, phase, number)`. No kernel knows it, so unwatched it is an
/// error without an effect ("MTHP" in ASCII).
pub const MARK: i32 = 0x4d54_4850;

/// What a program has just done; the second argument of a [`MARK`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[repr(u64)]
pub enum Phase {
    /// The image is decoded, the input tensors exist, the runtime's library is loaded; no model yet.
    Ready = 1,
    /// A session was created; the third argument counts them from 1.
    Loaded = 2,
    /// An inference ended; the third argument counts them from 1 over all requests.
    Inferred = 3,
    /// All inferences are over; the session still exists.
    Done = 4,
}

impl Phase {
    /// The phase of a mark's second argument.
    #[must_use]
    pub fn of(number: u64) -> Option<Self> {
        [Self::Ready, Self::Loaded, Self::Inferred, Self::Done]
            .into_iter()
            .find(|phase| *phase as u64 == number)
    }
}

/// One way to run the workload: a test of its own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The test's name, `workload/case`, for example `yolov5/160`.
    pub name: String,
    /// What the program does.
    pub order: Order,
    /// What must come out, one list an image of the batch; `None` where the workload declares nothing.
    pub expected: Option<Expected>,
    /// `transparent_hugepage/enabled`.
    pub thp: Thp,
    /// The sizes of mTHP in KiB that follow `thp` too; the others are `never`.
    pub mthp_kib: Vec<u64>,
    /// Is the program watched? It is not where an inference of it is modelled. Alone it only answers: what it saw and how long it took, nothing of its memory.
    pub watched: bool,
    /// Is khugepaged awake?
    pub khugepaged: bool,
    /// The value of `GLIBC_TUNABLES`; empty for none.
    pub tunables: String,
}

impl Scenario {
    /// Is an inference of it a region of the cost model?
    #[must_use]
    pub fn is_modelled(&self) -> bool {
        self.order.region.is_some()
    }
}

/// What the program is to do. Its one argument is this as JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    /// The ONNX model's path.
    pub model: String,
    /// The image's path, JPEG or PNG.
    pub image: String,
    /// The path of the ONNX Runtime's library.
    pub runtime: String,
    /// The input's shape: batch, channels, height, width.
    pub shape: [u32; 4],
    /// The names of the input's symbolic dimensions, in the order of `shape`; an empty name is no symbol.
    pub dimensions: [String; 4],
    /// How many inferences a request makes.
    pub inferences: u32,
    /// How many requests are in flight at a time; 1 is synchronous.
    pub in_flight: u32,
    /// How often the session is created; all but the last are dropped at once.
    pub loads: u32,
    /// Where the input tensors lie.
    pub tensors: Tensors,
    /// The region (see [`crate::cost`]) that the last inference is, the test's name; `None` where nothing is modelled.
    /// With a region there is one request in flight, at least one inference before it warms up, and OpenVINO works in
    /// the thread that asks: a region is of one thread.
    pub region: Option<String>,
    /// What the output means.
    pub decode: Decode,
}

/// Where the memory of the input tensors comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Tensors {
    /// The allocator, as programs do it.
    Heap,
    /// A shared mapping of a memfd.
    Memfd,
    /// A shared mapping of a file in this folder, a tmpfs.
    Tmpfs {
        /// The folder; whoever orders mounts it (with `huge=always`).
        folder: String,
    },
}

/// How a model's output is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Decode {
    /// Not at all: outputs are compared as bits only.
    None,
    /// As YOLOv5's detections: rows of box, objectness and classes, `[batch, rows, 5 + classes]`.
    Yolov5 {
        /// The least confidence of a detection, in thousandths.
        confidence_thousandths: u32,
        /// The overlap (intersection over union) from which the weaker of two boxes goes, in thousandths.
        overlap_thousandths: u32,
    },
}

/// `transparent_hugepage/enabled`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Thp {
    /// Every fault may take a huge page.
    #[default]
    Always,
    /// Those of advised mappings.
    Madvise,
    /// None.
    Never,
}

impl Thp {
    /// The word the kernel takes.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Always => "always",
            Self::Madvise => "madvise",
            Self::Never => "never",
        }
    }
}

/// What the program must see, in each image of the batch (they are all the same).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The detections, the most confident first.
    pub detections: Vec<Detection>,
    /// How far a confidence may be off, in thousandths.
    pub confidence_tolerance: u32,
    /// How far an edge of a box may be off, in pixels.
    pub box_tolerance: u32,
}

/// One thing in the image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Detection {
    /// The class, for example 5 (a bus in COCO).
    pub class: u32,
    /// Objectness times the class's own score, in thousandths, rounded.
    pub confidence_thousandths: u32,
    /// Left, top, right, bottom in whole pixels of the image as it was given, rounded and clipped to it.
    pub bounds: [u32; 4],
}

/// What the program saw of itself around the region that an inference was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Modelled {
    /// How many blocks of 2 MiB it told to be mapped by huge pages, before the region began.
    pub huge_blocks: u64,
    /// How many of its other threads ran meanwhile: what they did is no part of the region.
    pub others: u64,
}

/// What the program found: the one line of JSON on its standard output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answer {
    /// The runtime's own version.
    pub runtime_version: String,
    /// Which execution provider took how many nodes of the model, as the runtime assigned them.
    pub assigned: Vec<Assigned>,
    /// How long each creation of a session took, in microseconds.
    pub load_micros: Vec<u64>,
    /// How long each inference took, in the order in which they ended.
    pub inference_micros: Vec<u64>,
    /// What was found around the region; `None` where none was ordered.
    pub modelled: Option<Modelled>,
    /// How many numbers of the last inference's outputs are infinite or none at all.
    pub not_finite: u64,
    /// The SHA-256 of every inference's raw output (all outputs, in the model's order), in the same order.
    pub outputs: Vec<String>,
    /// The last inference's detections, a list an image of the batch; empty where nothing is decoded.
    pub detections: Vec<Vec<Detection>>,
}

/// The share of one execution provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assigned {
    /// Its name, for example `OpenVINOExecutionProvider`.
    pub provider: String,
    /// How many nodes it executes.
    pub nodes: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_known_by_its_number_and_no_other() {
        assert_eq!(Phase::of(Phase::Inferred as u64), Some(Phase::Inferred));
        assert_eq!(Phase::of(0), None);
        assert_eq!(Phase::of(5), None);
    }
}
