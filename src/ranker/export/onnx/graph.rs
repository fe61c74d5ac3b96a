//! `GraphBuilder`: an ONNX graph that grows node by node, and its bytes.

use prost::Message;

use super::messages::{Attribute, Dim, Graph, Model, Node, OperatorSet, Tensor, ValueInfo, data_type};

/// Operator set of the graphs: the first with layer normalisation.
const OPSET: i64 = 17;
/// Version of the messages that goes with the operator set.
const IR_VERSION: i64 = 8;

/// The one input: `[documents, features]`.
const INPUT: &str = "features";
/// The one output: `[documents]`.
const OUTPUT: &str = "scores";

/// The name of a tensor in the graph.
#[derive(Debug, Clone)]
pub(super) struct Value(String);

/// A graph under construction.
#[derive(Default)]
pub(super) struct GraphBuilder {
    nodes: Vec<Node>,
    constants: Vec<Tensor>,
}

impl GraphBuilder {
    /// Returns the features of the documents of one query, `[documents, features]`.
    pub fn input(&self) -> Value {
        Value(INPUT.into())
    }

    /// Adds a constant of 32-bit floats; the same name stands for the same constant.
    pub fn floats(&mut self, name: &str, shape: &[usize], values: &[f32]) -> Value {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name, data_type::FLOAT, shape, bytes)
    }

    /// Adds a constant of 64-bit floats; the same name stands for the same constant.
    pub fn doubles(&mut self, name: &str, shape: &[usize], values: &[f64]) -> Value {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name, data_type::DOUBLE, shape, bytes)
    }

    /// Adds a constant of 64-bit integers; the same name stands for the same constant.
    pub fn integers(&mut self, name: &str, shape: &[usize], values: &[i64]) -> Value {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name, data_type::INT64, shape, bytes)
    }

    fn constant(&mut self, name: &str, data_type: i32, shape: &[usize], raw_data: Vec<u8>) -> Value {
        let dims = shape.iter().map(|&length| length as i64).collect();
        let constant = Tensor { dims, data_type, name: name.into(), raw_data };
        match self.constants.iter().find(|known| known.name == name) {
            Some(known) => debug_assert_eq!(*known, constant, "one name, two constants"),
            None => self.constants.push(constant),
        }
        Value(name.into())
    }

    /// Adds an operator without attributes.
    pub fn node(&mut self, operator: &str, inputs: &[&Value]) -> Value {
        self.node_with(operator, inputs, vec![])
    }

    /// Adds an operator with attributes.
    pub fn node_with(&mut self, operator: &str, inputs: &[&Value], attributes: Vec<Attribute>) -> Value {
        let name = format!("{}_{}", operator.to_lowercase(), self.nodes.len());
        self.push(operator, inputs, attributes, name)
    }

    /// Converts a value to 64-bit floats.
    pub fn as_double(&mut self, value: &Value) -> Value {
        self.node_with("Cast", &[value], vec![Attribute::int("to", data_type::DOUBLE.into())])
    }

    /// Converts a value to 32-bit floats.
    pub fn as_float(&mut self, value: &Value) -> Value {
        self.node_with("Cast", &[value], vec![Attribute::int("to", data_type::FLOAT.into())])
    }

    fn push(&mut self, operator: &str, inputs: &[&Value], attribute: Vec<Attribute>, output: String) -> Value {
        self.nodes.push(Node {
            input: inputs.iter().map(|value| value.0.clone()).collect(),
            output: vec![output.clone()],
            name: output.clone(),
            op_type: operator.into(),
            attribute,
        });
        Value(output)
    }

    /// Returns the bytes of the model. Its output is `scores`, `[documents, 1]`, without the second dimension.
    pub fn finish(mut self, scores: &Value, features: usize, description: String) -> Vec<u8> {
        let last = self.integers("last_dimension", &[1], &[1]);
        self.push("Squeeze", &[scores, &last], vec![], OUTPUT.into());
        let documents = Dim::Name("documents".into());
        let graph = Graph {
            node: self.nodes,
            name: "ranker".into(),
            initializer: self.constants,
            input: vec![ValueInfo::floats(INPUT, &[documents.clone(), Dim::Length(features as i64)])],
            output: vec![ValueInfo::floats(OUTPUT, &[documents])],
        };
        let model = Model {
            ir_version: IR_VERSION,
            producer_name: env!("CARGO_PKG_NAME").into(),
            doc_string: description,
            graph: Some(graph),
            opset_import: vec![OperatorSet { domain: String::new(), version: OPSET }],
        };
        model.encode_to_vec()
    }
}
