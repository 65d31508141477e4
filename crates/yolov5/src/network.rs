//! The walk over a model's layers.

use anyhow::{Context as _, Result, bail, ensure};

use crate::blocks::{CONV, c3, concat, conv, sppf, upsample};
use crate::detect::{DETECT, OUTPUT, detect, row};
use crate::graph::{Graph, Name};
use crate::module::Module;
use crate::onnx::{Dimension, IR_VERSION, ModelProto, OperatorSetIdProto, ValueInfoProto};
use crate::view::View;

/// The version of ONNX's operators that the nodes are of.
const OPSET: i64 = 13;
const INPUT: &str = "images";
/// The most layers a model may have; YOLOv5s has 25.
const MAX_LAYERS: usize = 1 << 10;

/// The ONNX model of a YOLOv5 model.
pub(crate) fn convert(model: &Module<'_>) -> Result<ModelProto> {
    ensure!(model.class == "models.yolo.Model", "it is a `{}`, not a `models.yolo.Model`", model.class);
    let layers = model.child("model")?.expect_class("torch.nn.modules.container.Sequential")?.children()?;
    ensure!(layers.len() <= MAX_LAYERS, "it has {} layers, more than {MAX_LAYERS}", layers.len());
    let (last, others) = layers.split_last().context("it has no layers")?;

    let mut graph = Graph::default();
    let mut outputs = Vec::<Name>::new();
    for module in others {
        let inputs = inputs(module, &outputs)?;
        let output = layer(&mut graph, module, &inputs);
        outputs.push(output.with_context(|| format!("failed to convert `{}`", module.path))?);
    }
    let last = last.clone().expect_class(DETECT)?;
    detect(&mut graph, &last, &inputs(&last, &outputs)?)?;

    let symbol = Dimension::symbol;
    let image = vec![symbol("batch"), Dimension::Value(3), symbol("height"), symbol("width")];
    let rows = vec![symbol("batch"), symbol("rows"), Dimension::Value(row(&last)?)];
    let (input, output) = (ValueInfoProto::floats(INPUT, image), ValueInfoProto::floats(OUTPUT, rows));
    Ok(ModelProto {
        ir_version: Some(IR_VERSION),
        producer_name: Some(env!("CARGO_PKG_NAME").to_owned()),
        graph: Some(graph.finish("yolov5", input, output)),
        opset_import: vec![OperatorSetIdProto { domain: Some(String::new()), version: Some(OPSET) }],
    })
}

/// What a layer reads: its `f` is the index of a layer, or several; below zero it counts from the layer itself.
fn inputs<'a>(module: &Module<'_>, outputs: &'a [Name]) -> Result<Vec<&'a str>> {
    module.expect("i", View::size, outputs.len())?;
    module.read("f", |from| {
        let from = if from.int().is_ok() { vec![from] } else { from.items()? };
        ensure!(from.len() <= outputs.len().max(1), "it reads more layers than there are before it");
        from.into_iter().map(|from| source(from.int()?, outputs)).collect()
    })
}

fn source(from: i64, outputs: &[Name]) -> Result<&str> {
    if outputs.is_empty() && from == -1 {
        return Ok(INPUT);
    }
    let distance = usize::try_from(from.unsigned_abs())?;
    let index = if from < 0 { outputs.len().checked_sub(distance) } else { Some(distance) };
    let output = index.and_then(|index| outputs.get(index));
    output.map(String::as_str).with_context(|| format!("it reads layer {from}, which is not before it"))
}

fn layer(graph: &mut Graph, module: &Module<'_>, inputs: &[&str]) -> Result<Name> {
    let single = || match inputs {
        [input] => Ok(*input),
        _ => bail!("it has {} inputs, not one", inputs.len()),
    };
    match module.class {
        CONV => conv(graph, module, single()?),
        "models.common.C3" => c3(graph, module, single()?),
        "models.common.SPPF" => sppf(graph, module, single()?),
        "models.common.Concat" => concat(graph, module, inputs),
        "torch.nn.modules.upsampling.Upsample" => upsample(graph, module, single()?),
        other => bail!("the module type `{other}` is none of those YOLOv5 v6.0 has before its last layer"),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use prost::Message as _;

    use super::*;
    use crate::onnx::GraphProto;
    use crate::onnx_from_checkpoint;
    use crate::sample::{self, Build, Checkpoint, Py};

    fn graph() -> GraphProto {
        let bytes = onnx_from_checkpoint(&sample::yolov5()).unwrap();
        ModelProto::decode(bytes.as_slice()).unwrap().graph.unwrap()
    }

    /// The error of a small YOLOv5 whose layers were changed.
    fn error(change: impl FnOnce(&mut Checkpoint, &mut Vec<(Build, Py)>)) -> String {
        let mut checkpoint = Checkpoint::default();
        let mut layers = checkpoint.layers();
        change(&mut checkpoint, &mut layers);
        format!("{:#}", onnx_from_checkpoint(&checkpoint.save(layers)).unwrap_err())
    }

    #[test]
    fn each_value_is_made_once_and_before_it_is_read() {
        let graph = graph();
        let mut known = HashSet::from(["", INPUT]);
        for tensor in &graph.initializer {
            assert!(known.insert(tensor.name()), "{} twice", tensor.name());
        }
        for node in &graph.node {
            for input in &node.input {
                assert!(known.contains(input.as_str()), "{} reads {input}", node.name());
            }
            for output in &node.output {
                assert!(known.insert(output), "{output} twice");
            }
        }
        assert!(known.contains(OUTPUT));
    }

    #[test]
    fn each_layer_becomes_its_nodes() {
        let graph = graph();
        let count = |op: &str| graph.node.iter().filter(|node| node.op_type() == op).count();
        // A Conv, two C3 of five each, an SPPF of two; the detection has one more without an activation.
        assert_eq!((count("Conv"), count("Sigmoid")), (14, 14));
        assert_eq!((count("MaxPool"), count("Resize")), (3, 1));
        // The shortcut of the first C3, and the cells of the detection.
        assert_eq!(count("Add"), 2);
        let concat = graph.node.iter().find(|node| node.name() == "model.5.concat").unwrap();
        assert_eq!(concat.input, ["model.4", "model.4"]);
        let resize = graph.node.iter().find(|node| node.op_type() == "Resize").unwrap();
        assert_eq!(resize.input, ["model.0.act", "", "model.4.scales"]);
    }

    #[test]
    fn anchors_are_in_pixels() {
        let graph = graph();
        let anchors = graph.initializer.iter().find(|tensor| tensor.name() == "model.6.0.anchors").unwrap();
        assert_eq!(anchors.dims, [1, 1, 2]);
        assert_eq!(anchors.raw_data(), [16.0_f32.to_le_bytes(), 32.0_f32.to_le_bytes()].concat());
    }

    #[test]
    fn input_and_output_have_symbolic_sizes() {
        let graph = graph();
        let shape = |info: &ValueInfoProto| {
            let tensor = info.r#type.clone().unwrap().tensor_type.unwrap();
            tensor.shape.unwrap().dim.into_iter().map(|dim| dim.value.unwrap()).collect::<Vec<_>>()
        };
        let (symbol, value) = (Dimension::symbol, Dimension::Value);
        assert_eq!(graph.input[0].name(), "images");
        assert_eq!(shape(&graph.input[0]), [symbol("batch"), value(3), symbol("height"), symbol("width")]);
        assert_eq!(graph.output[0].name(), "output");
        assert_eq!(shape(&graph.output[0]), [symbol("batch"), symbol("rows"), value(7)]);
    }

    #[test]
    fn an_unknown_module_is_named() {
        let focus = error(|_, layers| layers[0].0 = sample::module(("models.common", "Focus")));
        assert!(focus.contains("`model.0`: the module type `models.common.Focus` is none of"), "{focus}");

        let segment = error(|_, layers| layers[6].0 = sample::module(("models.yolo", "Segment")));
        assert!(
            segment.ends_with("`model.6` is a `models.yolo.Segment`, not a `models.yolo.Detect`"),
            "{segment}"
        );

        let inner = error(|checkpoint, layers| {
            let relu = sample::module(("torch.nn.modules.activation", "ReLU")).build();
            layers[0].0 = checkpoint.conv(3, 2, 3).children(vec![("act", relu)]);
        });
        assert!(inner.contains("`model.0.act` is a `torch.nn.modules.activation.ReLU`"), "{inner}");

        let model = sample::module(("ultralytics.nn.tasks", "DetectionModel")).build();
        let other = onnx_from_checkpoint(&Checkpoint::default().save_model(model)).unwrap_err();
        assert_eq!(
            format!("{other:#}"),
            "failed to convert the checkpoint's model: it is a `ultralytics.nn.tasks.DetectionModel`, not a \
             `models.yolo.Model`"
        );
    }

    #[test]
    fn wires_that_lead_nowhere_are_an_error() {
        let from = |from: Py| error(|_, layers| layers[1].1 = from);
        assert!(from(Py::Int(1)).ends_with("it reads layer 1, which is not before it"));
        assert!(from(Py::Int(-2)).ends_with("it reads layer -2, which is not before it"));
        assert!(from(Py::List(vec![])).ends_with("it has 0 inputs, not one"));
        assert!(from(Py::None).ends_with("expected a list or a tuple, found none"));
        let twice = Py::List(vec![Py::Int(0), Py::Int(0)]);
        assert!(from(twice).ends_with("it reads more layers than there are before it"));
    }

    #[test]
    fn a_module_used_in_another_way_is_an_error() {
        let mode = error(|_, layers| {
            layers[4].0 = layers[4].0.clone().attributes(vec![("mode", Py::Text("bilinear"))]);
        });
        assert!(mode.ends_with("`mode` of `model.4` is \"bilinear\", not \"nearest\""), "{mode}");
        let rows = error(|_, layers| layers[6].0 = layers[6].0.clone().attributes(vec![("no", Py::Int(8))]));
        assert!(rows.ends_with("`model.6` has 2 classes but rows of 8"), "{rows}");
        let scales = error(|_, layers| layers[6].1 = Py::List(vec![Py::Int(5), Py::Int(4)]));
        assert!(scales.ends_with("`model.6` has 2 inputs, 1 convolutions, 1 strides"), "{scales}");
    }
}
