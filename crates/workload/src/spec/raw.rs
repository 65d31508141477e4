//! The file as it lies there, with the places of what is checked after parsing.

use mthp_record::workload::Thp;
use serde::{
    Deserialize, Deserializer,
    de::{self, MapAccess, Visitor, value::MapAccessDeserializer},
};
use toml::Spanned;

use super::default_of;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Workload {
    pub(super) name: Spanned<String>,
    pub(super) description: String,
    pub(super) model: Spanned<Model>,
    pub(super) image: Spanned<Image>,
    pub(super) runtime: Option<Spanned<Runtime>>,
    #[serde(default)]
    pub(super) expected: Vec<Spanned<Expected>>,
    #[serde(default, rename = "scenario")]
    pub(super) scenarios: Vec<Scenario>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Model {
    package: Option<Spanned<String>>,
    wheel_sha256: Option<Spanned<String>>,
    file: Option<Spanned<String>>,
    sha256: Option<Spanned<String>>,
    path: Option<Spanned<String>>,
    pub(super) convert: Option<Spanned<Convert>>,
    pub(super) onnx_sha256: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) dimensions: [String; 4],
    pub(super) decode: Option<Decode>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Image {
    package: Option<Spanned<String>>,
    wheel_sha256: Option<Spanned<String>>,
    file: Option<Spanned<String>>,
    sha256: Option<Spanned<String>>,
    path: Option<Spanned<String>>,
}

/// What says where one file comes from.
pub(super) struct Fields<'a> {
    pub(super) package: Option<&'a Spanned<String>>,
    pub(super) wheel_sha256: Option<&'a Spanned<String>>,
    pub(super) file: Option<&'a Spanned<String>>,
    pub(super) sha256: Option<&'a Spanned<String>>,
    pub(super) path: Option<&'a Spanned<String>>,
}

// serde cannot flatten a struct into one that refuses unknown fields, so the two repeat the five fields.
macro_rules! fields {
    ($from:ty) => {
        impl $from {
            pub(super) fn fields(&self) -> Fields<'_> {
                Fields {
                    package: self.package.as_ref(),
                    wheel_sha256: self.wheel_sha256.as_ref(),
                    file: self.file.as_ref(),
                    sha256: self.sha256.as_ref(),
                    path: self.path.as_ref(),
                }
            }
        }
    };
}
fields!(Model);
fields!(Image);

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Convert {
    Yolov5Checkpoint,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Decode {
    #[expect(dead_code, reason = "there is one kind; reading it refuses all others")]
    kind: DecodeKind,
    #[serde(default = "confidence")]
    pub(super) confidence: Spanned<f64>,
    #[serde(default = "overlap")]
    pub(super) overlap: Spanned<f64>,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum DecodeKind {
    Yolov5,
}

/// YOLOv5's own default.
fn confidence() -> Spanned<f64> {
    default_of(0.25)
}

/// YOLOv5's own default.
fn overlap() -> Spanned<f64> {
    default_of(0.45)
}

/// `runtime = "shipped"` or a table.
pub(super) enum Runtime {
    Shipped,
    Own(OwnRuntime),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OwnRuntime {
    pub(super) package: Option<Spanned<String>>,
    pub(super) wheel_sha256: Option<Spanned<String>>,
    pub(super) folder: Option<Spanned<String>>,
    pub(super) path: Option<Spanned<String>>,
    #[serde(default = "no_files")]
    pub(super) files: Spanned<Vec<Library>>,
}

fn no_files() -> Spanned<Vec<Library>> {
    default_of(Vec::new())
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Library {
    pub(super) file: Spanned<String>,
    pub(super) sha256: Option<Spanned<String>>,
}

impl<'de> Deserialize<'de> for Runtime {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = Runtime;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("\"shipped\" or a table")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Runtime, E> {
                match text {
                    "shipped" => Ok(Runtime::Shipped),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Runtime, A::Error> {
                OwnRuntime::deserialize(MapAccessDeserializer::new(map)).map(Runtime::Own)
            }
        }
        deserializer.deserialize_any(Either)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expected {
    pub(super) size: Spanned<[u32; 2]>,
    pub(super) confidence_tolerance: Spanned<f64>,
    pub(super) box_tolerance: u32,
    pub(super) detections: Vec<Spanned<Detection>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Detection {
    pub(super) class: u32,
    pub(super) confidence: f64,
    pub(super) bounds: [u32; 4],
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Scenario {
    pub(super) name: Spanned<String>,
    pub(super) shape: Spanned<[u32; 4]>,
    #[serde(default = "three")]
    pub(super) inferences: Spanned<u32>,
    #[serde(default = "one")]
    pub(super) in_flight: Spanned<u32>,
    #[serde(default = "one")]
    pub(super) loads: Spanned<u32>,
    #[serde(default)]
    pub(super) tensors: Tensors,
    #[serde(default)]
    pub(super) thp: Thp,
    #[serde(default = "no_sizes")]
    pub(super) mthp_kib: Spanned<Vec<u64>>,
    pub(super) watched: Option<Spanned<bool>>,
    #[serde(default)]
    pub(super) modelled: bool,
    #[serde(default = "no")]
    pub(super) khugepaged: Spanned<bool>,
    #[serde(default = "no_tunables")]
    pub(super) tunables: Spanned<String>,
    #[serde(default)]
    pub(super) slow: bool,
}

#[derive(Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Tensors {
    #[default]
    Heap,
    Memfd,
    Tmpfs,
}

fn no() -> Spanned<bool> {
    default_of(false)
}

fn one() -> Spanned<u32> {
    default_of(1)
}

fn three() -> Spanned<u32> {
    default_of(3)
}

fn no_sizes() -> Spanned<Vec<u64>> {
    default_of(Vec::new())
}

fn no_tunables() -> Spanned<String> {
    default_of(String::new())
}
