//! What the modules of YOLOv5's `models/common.py` compute, apart from detection.

use anyhow::{Result, ensure};

use crate::convolution::{convolution, pair};
use crate::graph::{Graph, Name};
use crate::module::Module;
use crate::onnx::AttributeProto;
use crate::view::View;

pub(crate) const CONV: &str = "models.common.Conv";
const BOTTLENECK: &str = "models.common.Bottleneck";

/// `Conv`: a convolution, its normalization, and SiLU, which is `x * sigmoid(x)`.
pub(crate) fn conv(graph: &mut Graph, module: &Module<'_>, input: &str) -> Result<Name> {
    let conv = module.child("conv")?.expect_class("torch.nn.modules.conv.Conv2d")?;
    let normalization = module.child("bn")?.expect_class("torch.nn.modules.batchnorm.BatchNorm2d")?;
    let activation = module.child("act")?.expect_class("torch.nn.modules.activation.SiLU")?;
    let linear = convolution(graph, &conv, Some(&normalization), input)?;
    let sigmoid = graph.node("Sigmoid", format!("{}.sigmoid", activation.path), &[&linear], Vec::new());
    Ok(graph.node("Mul", activation.path, &[&linear, &sigmoid], Vec::new()))
}

fn child_conv(graph: &mut Graph, module: &Module<'_>, name: &str, input: &str) -> Result<Name> {
    conv(graph, &module.child(name)?.expect_class(CONV)?, input)
}

/// `Bottleneck`: two convolutions, around which the input may go by a shortcut.
fn bottleneck(graph: &mut Graph, module: &Module<'_>, input: &str) -> Result<Name> {
    let inner = child_conv(graph, module, "cv1", input)?;
    let inner = child_conv(graph, module, "cv2", &inner)?;
    if module.read("add", View::bool)? {
        Ok(graph.node("Add", format!("{}.add", module.path), &[input, &inner], Vec::new()))
    } else {
        Ok(inner)
    }
}

/// `C3`: bottlenecks in a row on one branch, a convolution on the other, and one over both.
pub(crate) fn c3(graph: &mut Graph, module: &Module<'_>, input: &str) -> Result<Name> {
    let mut deep = child_conv(graph, module, "cv1", input)?;
    for child in module.child("m")?.children()? {
        deep = bottleneck(graph, &child.expect_class(BOTTLENECK)?, &deep)?;
    }
    let short = child_conv(graph, module, "cv2", input)?;
    let both = join(graph, module, &[&deep, &short]);
    child_conv(graph, module, "cv3", &both)
}

/// `SPPF`: the maximum over three ever wider surroundings, next to the value itself.
pub(crate) fn sppf(graph: &mut Graph, module: &Module<'_>, input: &str) -> Result<Name> {
    let pool = module.child("m")?.expect_class("torch.nn.modules.pooling.MaxPool2d")?;
    pool.expect("ceil_mode", View::bool, false)?;
    let pair = |name| pool.read(name, pair);
    let [top, left] = pair("padding")?;
    let attributes = [
        AttributeProto::ints("dilations", &pair("dilation")?),
        AttributeProto::ints("kernel_shape", &pair("kernel_size")?),
        AttributeProto::ints("pads", &[top, left, top, left]),
        AttributeProto::ints("strides", &pair("stride")?),
    ];
    let widen = |graph: &mut Graph, step: u32, from: &str| {
        graph.node("MaxPool", format!("{}.{step}", pool.path), &[from], attributes.to_vec())
    };
    let narrow = child_conv(graph, module, "cv1", input)?;
    let wide = widen(graph, 0, &narrow);
    let wider = widen(graph, 1, &wide);
    let widest = widen(graph, 2, &wider);
    let all = join(graph, module, &[&narrow, &wide, &wider, &widest]);
    child_conv(graph, module, "cv2", &all)
}

/// PyTorch's `Upsample`, to twice the size by repeating.
pub(crate) fn upsample(graph: &mut Graph, module: &Module<'_>, input: &str) -> Result<Name> {
    module.expect("mode", View::text, "nearest")?;
    module.expect("scale_factor", View::float, 2.0)?;
    let path = &module.path;
    let scales = graph.floats(format!("{path}.scales"), &[4], &[1.0, 1.0, 2.0, 2.0])?;
    let attributes = vec![
        AttributeProto::string("coordinate_transformation_mode", "asymmetric"),
        AttributeProto::string("mode", "nearest"),
        AttributeProto::string("nearest_mode", "floor"),
    ];
    Ok(graph.node("Resize", path.clone(), &[input, "", &scales], attributes))
}

/// `Concat`, along the channels.
pub(crate) fn concat(graph: &mut Graph, module: &Module<'_>, inputs: &[&str]) -> Result<Name> {
    module.expect("d", View::int, 1)?;
    ensure!(!inputs.is_empty(), "`{}` has nothing to join", module.path);
    Ok(join(graph, module, inputs))
}

fn join(graph: &mut Graph, module: &Module<'_>, inputs: &[&str]) -> Name {
    graph.node("Concat", format!("{}.concat", module.path), inputs, vec![AttributeProto::int("axis", 1)])
}
