//! `GraphBuilder` builds an ONNX graph node by node and returns its bytes.

use std::cell::RefCell;
use std::ops::{Add, Div, Mul, Sub};

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

/// A tensor in a graph. Arithmetic with tensors adds operators to the graph.
#[derive(Clone, Copy)]
pub(super) struct Value<'g> {
    pub graph: &'g GraphBuilder,
    /// The position of the name in the names of the graph.
    name: usize,
}

macro_rules! operators {
    ($($operator:ident $method:ident),+) => {
        $(impl $operator for Value<'_> {
            type Output = Self;

            fn $method(self, other: Self) -> Self {
                self.graph.node(stringify!($operator), &[self, other])
            }
        })+
    };
}

operators!(Add add, Sub sub, Mul mul, Div div);

impl Value<'_> {
    /// Applies an operator of one input, without attributes.
    pub fn apply(self, operator: &str) -> Self {
        self.graph.node(operator, &[self])
    }

    pub fn max(self, other: Self) -> Self {
        self.graph.node("Max", &[self, other])
    }

    pub fn min(self, other: Self) -> Self {
        self.graph.node("Min", &[self, other])
    }

    /// Converts the tensor to 64-bit floats.
    pub fn as_double(self) -> Self {
        self.graph.node_with("Cast", &[self], vec![Attribute::int("to", data_type::DOUBLE.into())])
    }

    /// Converts the tensor to 32-bit floats.
    pub fn as_float(self) -> Self {
        self.graph.node_with("Cast", &[self], vec![Attribute::int("to", data_type::FLOAT.into())])
    }

    /// Reshapes the tensor. In the new shape, -1 stands for the remaining length, and 0 keeps the old length of that
    /// dimension.
    pub fn reshaped(self, shape: &[i64]) -> Self {
        let shape = self.graph.integers(&format!("shape_{}", joined(shape)), &[shape.len()], shape);
        self.graph.node("Reshape", &[self, shape])
    }

    /// Reshapes a matrix with one row per document to `[queries, documents, ...]`. For a graph that scores one query,
    /// the first dimension has length 1.
    pub fn by_query(self, tail: &[i64]) -> Self {
        let Some(mask) = self.graph.mask() else {
            return self.reshaped(&[&[1, -1], tail].concat());
        };
        let lists = mask.apply("Shape");
        let tail = self.graph.integers(&format!("tail_{}", joined(tail)), &[tail.len()], tail);
        let shape = self.graph.node_with("Concat", &[lists, tail], vec![Attribute::int("axis", 0)]);
        self.graph.node("Reshape", &[self, shape])
    }
}

fn joined(shape: &[i64]) -> String {
    shape.iter().map(i64::to_string).collect::<Vec<_>>().join("_")
}

/// An ONNX graph that is being built.
#[derive(Default)]
pub(super) struct GraphBuilder {
    nodes: RefCell<Vec<Node>>,
    constants: RefCell<Vec<Tensor>>,
    names: RefCell<Vec<String>>,
    /// The start of the names of constants: each member of an ensemble has constants of its own.
    scope: RefCell<String>,
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
    pub fn input(&self) -> Value<'_> {
        self.named(INPUT.into())
    }

    /// Returns the mask of a graph for many queries. The mask has the shape `[queries, documents]` and is false for
    /// padding. Returns `None` for a graph that scores one query at a time.
    pub fn mask(&self) -> Option<Value<'_>> {
        self.is_batch.then(|| self.named(MASK.into()))
    }

    fn named(&self, name: String) -> Value<'_> {
        let mut names = self.names.borrow_mut();
        names.push(name);
        Value { graph: self, name: names.len() - 1 }
    }

    /// Runs `build` on this graph for a member of an ensemble. The names of the member's constants begin with `scope`.
    pub fn within<R>(&self, scope: &str, build: impl FnOnce() -> R) -> R {
        let length = self.scope.borrow().len();
        self.scope.borrow_mut().push_str(scope);
        let built = build();
        self.scope.borrow_mut().truncate(length);
        built
    }

    /// Adds a constant of 32-bit floats. Reuses the constant if the graph already has a constant of this name.
    pub fn floats(&self, name: &str, shape: &[usize], values: &[f32]) -> Value<'_> {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name, data_type::FLOAT, shape, bytes)
    }

    /// Adds a constant of 64-bit floats. Reuses the constant if the graph already has a constant of this name.
    pub fn doubles(&self, name: &str, shape: &[usize], values: &[f64]) -> Value<'_> {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name, data_type::DOUBLE, shape, bytes)
    }

    /// Adds a constant of 64-bit integers. Reuses the constant if the graph already has a constant of this name.
    pub fn integers(&self, name: &str, shape: &[usize], values: &[i64]) -> Value<'_> {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.constant(name, data_type::INT64, shape, bytes)
    }

    fn constant(&self, name: &str, data_type: i32, shape: &[usize], raw_data: Vec<u8>) -> Value<'_> {
        let dims = shape.iter().map(|&length| length as i64).collect();
        let name = format!("{}{name}", self.scope.borrow());
        let constant = Tensor { dims, data_type, name: name.clone(), raw_data };
        let mut constants = self.constants.borrow_mut();
        match constants.iter().find(|known| known.name == name) {
            Some(known) => debug_assert_eq!(*known, constant, "one name, two constants"),
            None => constants.push(constant),
        }
        self.named(name)
    }

    /// Adds an operator without attributes.
    pub fn node(&self, operator: &str, inputs: &[Value]) -> Value<'_> {
        self.node_with(operator, inputs, vec![])
    }

    /// Adds an operator with attributes.
    pub fn node_with(&self, operator: &str, inputs: &[Value], attributes: Vec<Attribute>) -> Value<'_> {
        let name = format!("{}_{}", operator.to_lowercase(), self.nodes.borrow().len());
        self.push(operator, inputs, attributes, name)
    }

    /// Adds a tree operator to the graph.
    pub fn tree_node(&self, operator: &str, input: Value, attributes: Vec<Attribute>) -> Value<'_> {
        let value = self.node_with(operator, &[input], attributes);
        self.nodes.borrow_mut().last_mut().expect("it was pushed").domain = TREES.into();
        value
    }

    fn push(&self, operator: &str, inputs: &[Value], attribute: Vec<Attribute>, output: String) -> Value<'_> {
        let name_of = |value: &Value| self.names.borrow()[value.name].clone();
        self.nodes.borrow_mut().push(Node {
            input: inputs.iter().map(name_of).collect(),
            output: vec![output.clone()],
            name: output.clone(),
            op_type: operator.into(),
            attribute,
            domain: String::new(),
        });
        self.named(output)
    }

    /// Returns the bytes of the finished model. The model's output `scores` has one score for each document, and 0 for
    /// padding. `metadata_props` are entries of the model's metadata.
    pub fn finish(
        &self,
        scores: Value,
        features: usize,
        description: String,
        metadata_props: Vec<Property>,
    ) -> Vec<u8> {
        let dims = |names: &[&str]| names.iter().map(|name| Dim::Name((*name).into())).collect::<Vec<_>>();
        let documents = dims(if self.is_batch { &["queries", "documents"] } else { &["documents"] });
        let with_features = [&documents[..], &[Dim::Length(features as i64)]].concat();
        let mut input = vec![ValueInfo::tensor(INPUT, data_type::FLOAT, &with_features)];
        match self.mask() {
            None => {
                let last = self.integers("last_dimension", &[1], &[1]);
                self.push("Squeeze", &[scores, last], vec![], OUTPUT.into());
            }
            Some(mask) => {
                input.push(ValueInfo::tensor(MASK, data_type::BOOL, &documents));
                let scores = self.node("Reshape", &[scores, mask.apply("Shape")]);
                let zero = self.floats("no_score", &[], &[0.0]);
                self.push("Where", &[mask, scores, zero], vec![], OUTPUT.into());
            }
        }
        let mut opset_import = vec![OperatorSet { domain: String::new(), version: OPSET }];
        let node = self.nodes.take();
        if node.iter().any(|node| node.domain == TREES) {
            opset_import.push(OperatorSet { domain: TREES.into(), version: TREES_OPSET });
        }
        let graph = Graph {
            node,
            name: "ranker".into(),
            initializer: self.constants.take(),
            input,
            output: vec![ValueInfo::tensor(OUTPUT, data_type::FLOAT, &documents)],
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
