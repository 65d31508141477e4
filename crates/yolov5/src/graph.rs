//! An ONNX graph in the making.

use anyhow::{Result, ensure};

use crate::onnx::{AttributeProto, GraphProto, NodeProto, TensorProto, ValueInfoProto};

/// The most bytes all constants together may have; those of YOLOv5s have 29 million. Layers may share a tensor
/// in the checkpoint but not in the graph, so the checkpoint's own size is no bound.
const MAX_BYTES: usize = 1 << 29;

/// The most constants; YOLOv5s has 136. As each convolution has two, it is a bound of the nodes, too.
const MAX_CONSTANTS: usize = 1 << 16;

/// The name of a value: an input, a constant, or an output of a node.
pub(crate) type Name = String;

/// Nodes, each after those it depends on, and constants.
///
/// A node bears the name of its only output. Names are unique as long as every module uses its path as prefix.
#[derive(Default)]
pub(crate) struct Graph {
    nodes: Vec<NodeProto>,
    constants: Vec<TensorProto>,
    bytes: usize,
}

impl Graph {
    /// Adds a constant of floats.
    pub(crate) fn floats(&mut self, name: Name, shape: &[usize], values: &[f32]) -> Result<Name> {
        let dims = shape.iter().map(|size| i64::try_from(*size)).collect::<Result<Vec<_>, _>>()?;
        self.constant(TensorProto::floats(&name, &dims, values))?;
        Ok(name)
    }

    /// Adds a constant vector of integers.
    pub(crate) fn ints(&mut self, name: Name, values: &[i64]) -> Result<Name> {
        self.constant(TensorProto::ints(&name, values))?;
        Ok(name)
    }

    fn constant(&mut self, tensor: TensorProto) -> Result<()> {
        self.bytes += tensor.raw_data.as_ref().map_or(0, Vec::len);
        ensure!(self.bytes <= MAX_BYTES, "the model has more than {MAX_BYTES} bytes of weights");
        ensure!(self.constants.len() < MAX_CONSTANTS, "the model has more than {MAX_CONSTANTS} constants");
        self.constants.push(tensor);
        Ok(())
    }

    /// Adds a node with one output.
    pub(crate) fn node(
        &mut self,
        op_type: &str,
        name: Name,
        inputs: &[&str],
        attributes: Vec<AttributeProto>,
    ) -> Name {
        self.push(op_type, &name, inputs, vec![name.clone()], attributes);
        name
    }

    /// Adds a node with three outputs.
    pub(crate) fn node_of_three(
        &mut self,
        op_type: &str,
        name: &str,
        inputs: &[&str],
        attributes: Vec<AttributeProto>,
    ) -> [Name; 3] {
        let outputs = [0, 1, 2].map(|index| format!("{name}.{index}"));
        self.push(op_type, name, inputs, outputs.to_vec(), attributes);
        outputs
    }

    fn push(
        &mut self,
        op_type: &str,
        name: &str,
        inputs: &[&str],
        output: Vec<Name>,
        attribute: Vec<AttributeProto>,
    ) {
        self.nodes.push(NodeProto {
            input: inputs.iter().map(|input| (*input).to_owned()).collect(),
            output,
            name: Some(name.to_owned()),
            op_type: Some(op_type.to_owned()),
            attribute,
        });
    }

    /// The finished graph.
    pub(crate) fn finish(self, name: &str, input: ValueInfoProto, output: ValueInfoProto) -> GraphProto {
        GraphProto {
            node: self.nodes,
            name: Some(name.to_owned()),
            initializer: self.constants,
            input: vec![input],
            output: vec![output],
        }
    }
}
