//! `GraphBuilder` builds an ONNX graph node by node and returns its bytes.

use prost::Message;

use super::messages::{Attribute, Dim, Graph, Model, Node, OperatorSet, Property, Tensor, ValueInfo, data_type};

/// The ONNX operator set of exported graphs. It is the first operator set that includes layer normalization.
const OPSET: i64 = 17;
/// The domain of ONNX's tree operators, and the version of this domain that fits `OPSET`.
const TREES: &str = "ai.onnx.ml";
const TREES_OPSET: i64 = 3;
/// The version of ONNX's message format that goes with `OPSET`.
const IR_VERSION: i64 = 8;

/// The name of the input, whose shape is `[documents, features]` or `[queries, documents, features]`.
const INPUT: &str = "features";
/// The name of the mask, which has the shape `[queries, documents]` and is false for padding. Graphs for many queries
/// have this second input.
const MASK: &str = "mask";
/// The name of the output, whose shape is `[documents]` or `[queries, documents]`.
const OUTPUT: &str = "scores";

/// The name of a tensor in the graph.
#[derive(Debug, Clone)]
pub(super) struct Value(String);

/// An ONNX graph that is being built.
#[derive(Default)]
pub(super) struct GraphBuilder {
    nodes: Vec<Node>,
    constants: Vec<Tensor>,
    /// The start of the names of constants: each member of an ensemble has constants of its own.
    scope: String,
    /// The rows that take the place of the input, after a normalizer of all members.
    rows: Option<Value>,
    /// Whether the graph accepts many queries, padded to one length.
    is_batch: bool,
}

impl GraphBuilder {
    /// Creates a graph that accepts many queries at a time.
    pub fn batch() -> Self {
        Self { is_batch: true, ..Self::default() }
    }

    /// Returns the raw features, which are the input of the graph. Their shape is `[documents, features]` for one query
    /// or `[queries, documents, features]` for many.
    pub fn input(&self) -> Value {
        Value(INPUT.into())
    }

    /// Returns the rows that take the place of the input, which have the shape `[documents, features]`.
    pub fn rows(&self) -> Option<Value> {
        self.rows.clone()
    }

    /// Runs `build` on this graph for a member of an ensemble, whose raw features are `rows`. The names of the member's
    /// constants begin with `scope`.
    pub fn within<R>(&mut self, scope: &str, rows: Value, build: impl FnOnce(&mut Self) -> R) -> R {
        let outer = (self.scope.clone(), self.rows.clone());
        self.scope += scope;
        self.rows = Some(rows);
        let built = build(self);
        (self.scope, self.rows) = outer;
        built
    }

    /// Returns the mask of a graph for many queries. The mask has the shape `[queries, documents]` and is false for
    /// padding. Returns `None` for a graph that scores one query at a time.
    pub fn mask(&self) -> Option<Value> {
        self.is_batch.then(|| Value(MASK.into()))
    }

    /// Reshapes a value. In the new shape, -1 stands for the remaining length, and 0 keeps the old length of that
    /// dimension.
    pub fn reshaped(&mut self, value: &Value, shape: &[i64]) -> Value {
        let name = shape.iter().map(i64::to_string).collect::<Vec<_>>().join("_");
        let shape = self.integers(&format!("shape_{name}"), &[shape.len()], shape);
        self.node("Reshape", &[value, &shape])
    }

    /// Reshapes a matrix with one row per document to `[queries, documents, ...]`. For a graph that scores one query,
    /// the first dimension has length 1.
    pub fn by_query(&mut self, value: &Value, tail: &[i64]) -> Value {
        let Some(mask) = self.mask() else {
            return self.reshaped(value, &[&[1, -1], tail].concat());
        };
        let lists = self.node("Shape", &[&mask]);
        let name = tail.iter().map(i64::to_string).collect::<Vec<_>>().join("_");
        let tail = self.integers(&format!("tail_{name}"), &[tail.len()], tail);
        let shape = self.node_with("Concat", &[&lists, &tail], vec![Attribute::int("axis", 0)]);
        self.node("Reshape", &[value, &shape])
    }

    /// Adds a constant of 32-bit floats. Reuses the constant if the graph already has a constant of this name.
    pub fn floats(&mut self, name: &str, shape: &[usize], values: &[f32]) -> Value {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name, data_type::FLOAT, shape, bytes)
    }

    /// Adds a constant of 64-bit floats. Reuses the constant if the graph already has a constant of this name.
    pub fn doubles(&mut self, name: &str, shape: &[usize], values: &[f64]) -> Value {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name, data_type::DOUBLE, shape, bytes)
    }

    /// Adds a constant of 64-bit integers. Reuses the constant if the graph already has a constant of this name.
    pub fn integers(&mut self, name: &str, shape: &[usize], values: &[i64]) -> Value {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name, data_type::INT64, shape, bytes)
    }

    fn constant(&mut self, name: &str, data_type: i32, shape: &[usize], raw_data: Vec<u8>) -> Value {
        let dims = shape.iter().map(|&length| length as i64).collect();
        let name = format!("{}{name}", self.scope);
        let constant = Tensor { dims, data_type, name: name.clone(), raw_data };
        match self.constants.iter().find(|known| known.name == name) {
            Some(known) => debug_assert_eq!(*known, constant, "one name, two constants"),
            None => self.constants.push(constant),
        }
        Value(name)
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

    /// Adds a tree operator to the graph.
    pub fn tree_node(&mut self, operator: &str, input: &Value, attributes: Vec<Attribute>) -> Value {
        let value = self.node_with(operator, &[input], attributes);
        self.nodes.last_mut().expect("it was pushed").domain = TREES.into();
        value
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
            domain: String::new(),
        });
        Value(output)
    }

    /// Returns the bytes of the finished model. The model's output `scores` has one score for each document, and 0 for
    /// padding. `metadata_props` are entries of the model's metadata.
    pub fn finish(
        mut self,
        scores: &Value,
        features: usize,
        description: String,
        metadata_props: Vec<Property>,
    ) -> Vec<u8> {
        let dims = |names: &[&str]| names.iter().map(|name| Dim::Name((*name).into())).collect::<Vec<_>>();
        let documents = dims(if self.is_batch { &["queries", "documents"] } else { &["documents"] });
        let with_features = [&documents[..], &[Dim::Length(features as i64)]].concat();
        let mut input = vec![ValueInfo::floats(INPUT, &with_features)];
        match self.mask() {
            None => {
                let last = self.integers("last_dimension", &[1], &[1]);
                self.push("Squeeze", &[scores, &last], vec![], OUTPUT.into());
            }
            Some(mask) => {
                input.push(ValueInfo::bools(MASK, &documents));
                let shape = self.node("Shape", &[&mask]);
                let scores = self.node("Reshape", &[scores, &shape]);
                let zero = self.floats("no_score", &[], &[0.0]);
                self.push("Where", &[&mask, &scores, &zero], vec![], OUTPUT.into());
            }
        }
        let mut opset_import = vec![OperatorSet { domain: String::new(), version: OPSET }];
        if self.nodes.iter().any(|node| node.domain == TREES) {
            opset_import.push(OperatorSet { domain: TREES.into(), version: TREES_OPSET });
        }
        let graph = Graph {
            node: self.nodes,
            name: "ranker".into(),
            initializer: self.constants,
            input,
            output: vec![ValueInfo::floats(OUTPUT, &documents)],
        };
        let model = Model {
            ir_version: IR_VERSION,
            producer_name: env!("CARGO_PKG_NAME").into(),
            doc_string: description,
            graph: Some(graph),
            opset_import,
            metadata_props,
        };
        model.encode_to_vec()
    }
}
