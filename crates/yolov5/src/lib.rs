//! From the published checkpoint of YOLOv5s v6.0 to an ONNX file, without Python.
//!
//! The way through it: `archive` opens the checkpoint, `pickle` reads its pickle into plain values that `view`
//! looks at; `module` sees PyTorch's modules and `tensor` their weights in them. `network` walks the layers
//! (`blocks`, `convolution`, `detect`) and writes what each computes into a `graph`, which becomes the messages
//! of `onnx`.
//!
//! A pickle is a program for Python. Here none of it runs: what it would call is kept as a name.

mod archive;
mod blocks;
mod convolution;
mod detect;
mod graph;
mod module;
mod network;
mod onnx;
mod pickle;
#[cfg(test)]
mod sample;
mod tensor;
mod view;

use anyhow::{Context as _, Result};
use prost::Message as _;

/// The ONNX model of a checkpoint that `torch.save` wrote, as the bytes of its file.
///
/// The model has opset 13. Its input is `images`, `float [batch, 3, height, width]`, RGB in 0 to 1, where `height`
/// and `width` are multiples of the largest stride (32). Its output is `output`, `float [batch, rows, 5 + classes]`:
/// centre, width and height of a box in pixels of the input, objectness, and each class's score, as YOLOv5's
/// `Detect` decodes them in inference. The same checkpoint gives the same bytes.
///
/// # Errors
///
/// If the checkpoint is not an archive of PyTorch's, is damaged, or holds a model that is not of YOLOv5 v6.0's
/// modules; the error names the module it does not know.
pub fn onnx_from_checkpoint(checkpoint: &[u8]) -> Result<Vec<u8>> {
    let archive = archive::Archive::read(checkpoint).context("failed to open the checkpoint")?;
    let pickle = pickle::Pickle::read(&archive.pickle).context("failed to read the checkpoint's data.pkl")?;
    let model = module::Module::of_checkpoint(pickle.root(), &archive.storages)?;
    let model = network::convert(&model).context("failed to convert the checkpoint's model")?;
    Ok(model.encode_to_vec())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use sha2::{Digest as _, Sha256};

    use super::*;

    fn sha256(bytes: &[u8]) -> String {
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    #[test]
    fn the_same_checkpoint_gives_the_same_bytes() {
        let checkpoint = sample::yolov5();
        assert_eq!(onnx_from_checkpoint(&checkpoint).unwrap(), onnx_from_checkpoint(&checkpoint).unwrap());
    }

    proptest! {
        #[test]
        fn a_damaged_pickle_never_makes_it_panic(
            changes in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
            cut in proptest::option::of(any::<prop::sample::Index>()),
        ) {
            // The pickle is damaged before it goes into the archive: its checksum would not let the damage through.
            let archive = archive::Archive::read(&sample::yolov5()).unwrap();
            let mut pickle = archive.pickle;
            for (place, byte) in changes {
                let place = place.index(pickle.len());
                pickle[place] = byte;
            }
            if let Some(cut) = cut {
                pickle.truncate(cut.index(pickle.len()));
            }
            let names = archive.storages.keys().map(|key| format!("data/{key}")).collect::<Vec<_>>();
            let storages = names.iter().map(String::as_str).zip(archive.storages.values().map(Vec::as_slice));
            let files = std::iter::once(("data.pkl", pickle.as_slice())).chain(storages).collect::<Vec<_>>();
            let _ = onnx_from_checkpoint(&sample::archive(&files));
        }
    }

    #[test]
    #[ignore = "needs the published checkpoint of YOLOv5s v6.0, named by MTHP_YOLOV5_CHECKPOINT"]
    fn the_published_checkpoint_is_converted() {
        let path = std::env::var("MTHP_YOLOV5_CHECKPOINT").unwrap();
        let checkpoint = std::fs::read(path).unwrap();
        assert_eq!(sha256(&checkpoint), "c3b140f32001a9eec4afa07120b3851eb1b6c2c7c7e7a4303af9eadfacbeb598");
        let bytes = onnx_from_checkpoint(&checkpoint).unwrap();
        // This very file passed ONNX's full check, and its output was within 0.0003 pixels and 2e-6 in confidence of
        // the same network computed in double precision without folding.
        assert_eq!(bytes.len(), 28_939_559);
        assert_eq!(sha256(&bytes), "3b0a85e559e3b8ba8fed820e98087006c999cd940c86fda6e13043111c7dda0b");
        let graph = onnx::ModelProto::decode(bytes.as_slice()).unwrap().graph.unwrap();
        assert_eq!(graph.node.len(), 260);
    }
}
