//! YOLOv5's `Detect`: from the feature maps of each scale to boxes, as it decodes them in inference.

use anyhow::{Context as _, Result, ensure};

use crate::convolution::convolution;
use crate::graph::{Graph, Name};
use crate::module::Module;
use crate::onnx::{AttributeProto, TensorProto, data_type};
use crate::view::View;

pub(crate) const DETECT: &str = "models.yolo.Detect";

/// Where a box's centre and size, and all the rest, lie in a row.
const CENTRE_AND_SIZE: [i64; 2] = [2, 2];

/// The name of the result.
pub(crate) const OUTPUT: &str = "output";

/// Adds the detection over all scales.
///
/// A row is the centre, the size, the objectness, and a score a class. How many cells a feature map has is asked
/// of the map itself, so that the graph serves every size of the input; once that size is known, all of it folds
/// into a constant.
pub(crate) fn detect(graph: &mut Graph, module: &Module<'_>, inputs: &[&str]) -> Result<Name> {
    let head = Head::read(module)?;
    let scales = module.child("m")?.children()?;
    ensure!(
        scales.len() == head.strides.len() && inputs.len() == scales.len(),
        "`{}` has {} inputs, {} convolutions, {} strides",
        module.path,
        inputs.len(),
        scales.len(),
        head.strides.len()
    );
    let constants = Constants::add(graph, module, &head)?;
    let mut all = Vec::new();
    let anchors = head.anchors.chunks_exact(2 * head.anchors_per_scale);
    let known = head.strides.iter().zip(anchors);
    for (index, ((convolve, input), (stride, anchors))) in
        scales.into_iter().zip(inputs).zip(known).enumerate()
    {
        let convolve = convolve.expect_class("torch.nn.modules.conv.Conv2d")?;
        let map = convolution(graph, &convolve, None, input)?;
        let scale = Scale { path: format!("{}.{index}", module.path), stride: *stride, anchors };
        all.push(scale.decode(graph, &constants, &map)?);
    }
    let all = all.iter().map(String::as_str).collect::<Vec<_>>();
    Ok(graph.node("Concat", OUTPUT.to_owned(), &all, vec![AttributeProto::int("axis", 1)]))
}

/// How many numbers a row of the output has.
pub(crate) fn row(module: &Module<'_>) -> Result<i64> {
    module.read("no", View::int)
}

/// What `Detect` knows of its scales.
struct Head {
    /// Pixels of the input a cell, one a scale.
    strides: Vec<f32>,
    /// Width and height in cells, of all anchors of the first scale, then of the next.
    anchors: Vec<f32>,
    anchors_per_scale: usize,
    row: usize,
}

impl Head {
    fn read(module: &Module<'_>) -> Result<Self> {
        let [classes, row, scales, anchors_per_scale] =
            ["nc", "no", "nl", "na"].map(|name| module.read(name, View::size));
        let (classes, row, scales, anchors_per_scale) = (classes?, row?, scales?, anchors_per_scale?);
        ensure!(
            classes.checked_add(5) == Some(row),
            "`{}` has {classes} classes but rows of {row}",
            module.path
        );
        let strides = module.tensor_of("stride", &[scales])?.data;
        let anchors = module.tensor_of("anchors", &[scales, anchors_per_scale, 2])?.data;
        Ok(Self { strides, anchors, anchors_per_scale, row })
    }
}

/// The constants all scales share.
struct Constants {
    map_shape: Name,
    rows_shape: Name,
    parts: Name,
    cells_from: Name,
    cells_to: Name,
    x_before_y: Name,
    half: Name,
    two: Name,
}

impl Constants {
    fn add(graph: &mut Graph, module: &Module<'_>, head: &Head) -> Result<Self> {
        let name = |name: &str| format!("{}.{name}", module.path);
        let too_large = || format!("`{}` is too large", module.path);
        let row = i64::try_from(head.row).with_context(too_large)?;
        let anchors = i64::try_from(head.anchors_per_scale).with_context(too_large)?;
        let [centre, size] = CENTRE_AND_SIZE;
        Ok(Self {
            // 0 keeps a size, -1 is whatever is left.
            map_shape: graph.ints(name("map_shape"), &[0, anchors, row, -1])?,
            rows_shape: graph.ints(name("rows_shape"), &[0, -1, row])?,
            parts: graph.ints(name("parts"), &[centre, size, row - centre - size])?,
            cells_from: graph.ints(name("cells_from"), &[2])?,
            cells_to: graph.ints(name("cells_to"), &[4])?,
            x_before_y: graph.ints(name("x_before_y"), &[1, 0])?,
            half: graph.floats(name("half"), &[], &[0.5])?,
            two: graph.floats(name("two"), &[], &[2.0])?,
        })
    }
}

/// One scale.
struct Scale<'a> {
    path: String,
    stride: f32,
    anchors: &'a [f32],
}

impl Scale<'_> {
    fn name(&self, name: &str) -> Name {
        format!("{}.{name}", self.path)
    }

    /// `centre = (2 * s - 0.5 + cell) * stride` and `size = (2 * s) ^ 2 * anchor`, where `s` is the sigmoid of what
    /// the feature map says; the rest is `s` itself.
    fn decode(&self, graph: &mut Graph, constants: &Constants, map: &str) -> Result<Name> {
        let name = |name| self.name(name);
        let shift = self.shift(graph, constants, map);
        let stride = graph.floats(name("stride"), &[], &[self.stride])?;
        let anchors = self.anchors.iter().map(|cells| cells * self.stride).collect::<Vec<_>>();
        let anchors = graph.floats(name("anchors"), &[anchors.len() / 2, 1, 2], &anchors)?;

        let map = graph.node("Reshape", name("map"), &[map, &constants.map_shape], Vec::new());
        let rows = vec![AttributeProto::ints("perm", &[0, 1, 3, 2])];
        let rows = graph.node("Transpose", name("rows"), &[&map], rows);
        let rows = graph.node("Sigmoid", name("sigmoid"), &[&rows], Vec::new());
        let axis = vec![AttributeProto::int("axis", 3)];
        let [centre, size, rest] =
            graph.node_of_three("Split", &name("split"), &[&rows, &constants.parts], axis);

        let centre = graph.node("Mul", name("centre.twice"), &[&centre, &constants.two], Vec::new());
        let centre = graph.node("Add", name("centre.cells"), &[&centre, &shift], Vec::new());
        let centre = graph.node("Mul", name("centre"), &[&centre, &stride], Vec::new());
        let size = graph.node("Mul", name("size.twice"), &[&size, &constants.two], Vec::new());
        let size = graph.node("Mul", name("size.square"), &[&size, &size], Vec::new());
        let size = graph.node("Mul", name("size"), &[&size, &anchors], Vec::new());

        let axis = vec![AttributeProto::int("axis", 3)];
        let rows = graph.node("Concat", name("decoded"), &[&centre, &size, &rest], axis);
        Ok(graph.node("Reshape", name("output"), &[&rows, &constants.rows_shape], Vec::new()))
    }

    /// The column and row of each cell, less one half: `[cells, 2]`.
    fn shift(&self, graph: &mut Graph, constants: &Constants, map: &str) -> Name {
        let name = |name| self.name(name);
        let shape = graph.node("Shape", name("shape"), &[map], Vec::new());
        let ends = [shape.as_str(), &constants.cells_from, &constants.cells_to];
        let cells = graph.node("Slice", name("cells"), &ends, Vec::new());
        // Where all are one, the places of what is not zero are all places, in the order of the cells.
        let one = vec![AttributeProto::tensor("value", TensorProto::ints("one", &[1]))];
        let ones = graph.node("ConstantOfShape", name("ones"), &[&cells], one);
        let places = graph.node("NonZero", name("places"), &[&ones], Vec::new());
        let axis = vec![AttributeProto::int("axis", 0)];
        let places = graph.node("Gather", name("places.x_y"), &[&places, &constants.x_before_y], axis);
        let perm = vec![AttributeProto::ints("perm", &[1, 0])];
        let places = graph.node("Transpose", name("places.rows"), &[&places], perm);
        let to = vec![AttributeProto::int("to", data_type::FLOAT.into())];
        let places = graph.node("Cast", name("places.float"), &[&places], to);
        graph.node("Sub", name("shift"), &[&places, &constants.half], Vec::new())
    }
}
