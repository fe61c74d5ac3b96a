//! The protobuf messages of ONNX that an exported graph needs, with the field numbers of `onnx.proto` (IR version 8).
//! Fields that these messages leave out keep ONNX's defaults.

use prost::{Message, Oneof};

/// The values of `TensorProto.DataType` that exported graphs use.
pub(super) mod data_type {
    pub const FLOAT: i32 = 1;
    pub const INT64: i32 = 7;
    pub const BOOL: i32 = 9;
    pub const DOUBLE: i32 = 11;
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Model {
    #[prost(int64, tag = "1")]
    pub ir_version: i64,
    #[prost(string, tag = "2")]
    pub producer_name: String,
    #[prost(string, tag = "6")]
    pub doc_string: String,
    #[prost(message, optional, tag = "7")]
    pub graph: Option<Graph>,
    #[prost(message, repeated, tag = "8")]
    pub opset_import: Vec<OperatorSet>,
    #[prost(message, repeated, tag = "14")]
    pub metadata_props: Vec<Property>,
}

/// An entry of a model's metadata.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Property {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(string, tag = "2")]
    pub value: String,
}

/// The version of an operator set that a graph uses; an empty domain means ONNX's own operators.
#[derive(Clone, PartialEq, Message)]
pub(super) struct OperatorSet {
    #[prost(string, tag = "1")]
    pub domain: String,
    #[prost(int64, tag = "2")]
    pub version: i64,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Graph {
    #[prost(message, repeated, tag = "1")]
    pub node: Vec<Node>,
    #[prost(string, tag = "2")]
    pub name: String,
    #[prost(message, repeated, tag = "5")]
    pub initializer: Vec<Tensor>,
    #[prost(message, repeated, tag = "11")]
    pub input: Vec<ValueInfo>,
    #[prost(message, repeated, tag = "12")]
    pub output: Vec<ValueInfo>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Node {
    #[prost(string, repeated, tag = "1")]
    pub input: Vec<String>,
    #[prost(string, repeated, tag = "2")]
    pub output: Vec<String>,
    #[prost(string, tag = "3")]
    pub name: String,
    #[prost(string, tag = "4")]
    pub op_type: String,
    #[prost(message, repeated, tag = "5")]
    pub attribute: Vec<Attribute>,
    #[prost(string, tag = "7")]
    pub domain: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Attribute {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(float, tag = "2")]
    pub f: f32,
    #[prost(int64, tag = "3")]
    pub i: i64,
    #[prost(float, repeated, packed = "false", tag = "7")]
    pub floats: Vec<f32>,
    #[prost(int64, repeated, packed = "false", tag = "8")]
    pub ints: Vec<i64>,
    #[prost(string, repeated, tag = "9")]
    pub strings: Vec<String>,
    /// The value of `AttributeProto.AttributeType` for the field in use.
    #[prost(int32, tag = "20")]
    pub r#type: i32,
}

impl Attribute {
    pub fn float(name: &str, f: f32) -> Self {
        Self { name: name.into(), f, r#type: 1, ..Self::default() }
    }

    pub fn int(name: &str, i: i64) -> Self {
        Self { name: name.into(), i, r#type: 2, ..Self::default() }
    }

    pub fn ints(name: &str, ints: &[i64]) -> Self {
        Self { name: name.into(), ints: ints.to_vec(), r#type: 7, ..Self::default() }
    }

    pub fn floats(name: &str, floats: &[f32]) -> Self {
        Self { name: name.into(), floats: floats.to_vec(), r#type: 6, ..Self::default() }
    }

    pub fn strings(name: &str, strings: Vec<String>) -> Self {
        Self { name: name.into(), strings, r#type: 8, ..Self::default() }
    }
}

/// A constant tensor, whose values are stored in little-endian order in `raw_data`.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Tensor {
    #[prost(int64, repeated, packed = "false", tag = "1")]
    pub dims: Vec<i64>,
    #[prost(int32, tag = "2")]
    pub data_type: i32,
    #[prost(string, tag = "8")]
    pub name: String,
    #[prost(bytes = "vec", tag = "9")]
    pub raw_data: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ValueInfo {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub r#type: Option<Type>,
}

impl ValueInfo {
    /// Describes a tensor of the given data type.
    pub fn tensor(name: &str, elem_type: i32, dims: &[Dim]) -> Self {
        let shape = Shape { dim: dims.iter().map(|dim| Dimension { value: Some(dim.clone()) }).collect() };
        let tensor = TensorType { elem_type, shape: Some(shape) };
        Self { name: name.into(), r#type: Some(Type { tensor_type: Some(tensor) }) }
    }
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Type {
    #[prost(message, optional, tag = "1")]
    pub tensor_type: Option<TensorType>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct TensorType {
    #[prost(int32, tag = "1")]
    pub elem_type: i32,
    #[prost(message, optional, tag = "2")]
    pub shape: Option<Shape>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Shape {
    #[prost(message, repeated, tag = "1")]
    pub dim: Vec<Dimension>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Dimension {
    #[prost(oneof = "Dim", tags = "1, 2")]
    pub value: Option<Dim>,
}

/// The length of a dimension: a number if it is fixed, or a name if it varies.
#[derive(Clone, PartialEq, Oneof)]
pub(super) enum Dim {
    #[prost(int64, tag = "1")]
    Length(i64),
    #[prost(string, tag = "2")]
    Name(String),
}
