//! The messages of an ONNX file, as far as they are needed here.
//!
//! Names and field numbers are those of `onnx/onnx.proto` (ONNX 1.12, intermediate representation 8).

use prost::{Message, Oneof};

/// `IR_VERSION`: what ONNX 1.12 wrote; readers of today take it.
pub(crate) const IR_VERSION: i64 = 8;

/// `TensorProto.DataType`.
pub(crate) mod data_type {
    pub(crate) const FLOAT: i32 = 1;
    pub(crate) const INT64: i32 = 7;
}

/// `AttributeProto.AttributeType`.
mod attribute_type {
    pub(super) const INT: i32 = 2;
    pub(super) const STRING: i32 = 3;
    pub(super) const TENSOR: i32 = 4;
    pub(super) const INTS: i32 = 7;
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ModelProto {
    #[prost(int64, optional, tag = "1")]
    pub(crate) ir_version: Option<i64>,
    #[prost(string, optional, tag = "2")]
    pub(crate) producer_name: Option<String>,
    #[prost(message, optional, tag = "7")]
    pub(crate) graph: Option<GraphProto>,
    #[prost(message, repeated, tag = "8")]
    pub(crate) opset_import: Vec<OperatorSetIdProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct OperatorSetIdProto {
    #[prost(string, optional, tag = "1")]
    pub(crate) domain: Option<String>,
    #[prost(int64, optional, tag = "2")]
    pub(crate) version: Option<i64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct GraphProto {
    #[prost(message, repeated, tag = "1")]
    pub(crate) node: Vec<NodeProto>,
    #[prost(string, optional, tag = "2")]
    pub(crate) name: Option<String>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) initializer: Vec<TensorProto>,
    #[prost(message, repeated, tag = "11")]
    pub(crate) input: Vec<ValueInfoProto>,
    #[prost(message, repeated, tag = "12")]
    pub(crate) output: Vec<ValueInfoProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct NodeProto {
    #[prost(string, repeated, tag = "1")]
    pub(crate) input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub(crate) output: Vec<String>,
    #[prost(string, optional, tag = "3")]
    pub(crate) name: Option<String>,
    #[prost(string, optional, tag = "4")]
    pub(crate) op_type: Option<String>,
    #[prost(message, repeated, tag = "5")]
    pub(crate) attribute: Vec<AttributeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct AttributeProto {
    #[prost(string, optional, tag = "1")]
    pub(crate) name: Option<String>,
    #[prost(int64, optional, tag = "3")]
    pub(crate) i: Option<i64>,
    #[prost(bytes = "vec", optional, tag = "4")]
    pub(crate) s: Option<Vec<u8>>,
    #[prost(message, optional, tag = "5")]
    pub(crate) t: Option<TensorProto>,
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub(crate) ints: Vec<i64>,
    #[prost(int32, optional, tag = "20")]
    pub(crate) r#type: Option<i32>,
}

impl AttributeProto {
    pub(crate) fn int(name: &str, value: i64) -> Self {
        Self { i: Some(value), ..Self::named(name, attribute_type::INT) }
    }

    pub(crate) fn ints(name: &str, values: &[i64]) -> Self {
        Self { ints: values.to_vec(), ..Self::named(name, attribute_type::INTS) }
    }

    pub(crate) fn string(name: &str, value: &str) -> Self {
        Self { s: Some(value.as_bytes().to_vec()), ..Self::named(name, attribute_type::STRING) }
    }

    pub(crate) fn tensor(name: &str, value: TensorProto) -> Self {
        Self { t: Some(value), ..Self::named(name, attribute_type::TENSOR) }
    }

    fn named(name: &str, kind: i32) -> Self {
        Self { name: Some(name.to_owned()), r#type: Some(kind), ..Self::default() }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TensorProto {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub(crate) dims: Vec<i64>,
    #[prost(int32, optional, tag = "2")]
    pub(crate) data_type: Option<i32>,
    #[prost(string, optional, tag = "8")]
    pub(crate) name: Option<String>,
    #[prost(bytes = "vec", optional, tag = "9")]
    pub(crate) raw_data: Option<Vec<u8>>,
}

impl TensorProto {
    /// A tensor of floats; `dims` multiply to their number.
    pub(crate) fn floats(name: &str, dims: &[i64], values: &[f32]) -> Self {
        Self::raw(name, dims, data_type::FLOAT, values.iter().flat_map(|value| value.to_le_bytes()).collect())
    }

    /// A vector of integers.
    pub(crate) fn ints(name: &str, values: &[i64]) -> Self {
        let raw = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Self::raw(name, &[values.len() as i64], data_type::INT64, raw)
    }

    fn raw(name: &str, dims: &[i64], kind: i32, raw: Vec<u8>) -> Self {
        Self { dims: dims.to_vec(), data_type: Some(kind), name: Some(name.to_owned()), raw_data: Some(raw) }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ValueInfoProto {
    #[prost(string, optional, tag = "1")]
    pub(crate) name: Option<String>,
    #[prost(message, optional, tag = "2")]
    pub(crate) r#type: Option<TypeProto>,
}

impl ValueInfoProto {
    /// A tensor of floats.
    pub(crate) fn floats(name: &str, shape: Vec<Dimension>) -> Self {
        let dim = shape.into_iter().map(|value| DimensionProto { value: Some(value) }).collect();
        let tensor =
            TypeTensorProto { elem_type: Some(data_type::FLOAT), shape: Some(TensorShapeProto { dim }) };
        Self { name: Some(name.to_owned()), r#type: Some(TypeProto { tensor_type: Some(tensor) }) }
    }
}

/// `TypeProto`, of whose kinds only the tensor is here.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TypeProto {
    #[prost(message, optional, tag = "1")]
    pub(crate) tensor_type: Option<TypeTensorProto>,
}

/// `TypeProto.Tensor`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct TypeTensorProto {
    #[prost(int32, optional, tag = "1")]
    pub(crate) elem_type: Option<i32>,
    #[prost(message, optional, tag = "2")]
    pub(crate) shape: Option<TensorShapeProto>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct TensorShapeProto {
    #[prost(message, repeated, tag = "1")]
    pub(crate) dim: Vec<DimensionProto>,
}

/// `TensorShapeProto.Dimension`.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct DimensionProto {
    #[prost(oneof = "Dimension", tags = "1, 2")]
    pub(crate) value: Option<Dimension>,
}

/// A size that is known, or a symbol for one that is not.
#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum Dimension {
    #[prost(int64, tag = "1")]
    Value(i64),
    #[prost(string, tag = "2")]
    Param(String),
}

impl Dimension {
    pub(crate) fn symbol(name: &str) -> Self {
        Self::Param(name.to_owned())
    }
}
