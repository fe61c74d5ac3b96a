//! The list of primitives, and [`Call`], a value that holds a primitive with its inputs, for backends and automatic
//! differentiation.

#[cfg(feature = "_cube")]
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::{Backend, ExtensionType, tensor::FloatTensor};

use super::cpu::{AboveExpectation, AboveRecursion, NeuralSortMatrix};
use super::primitive::{Arrays, Primitive, array::Array};
pub use super::primitive::{
    centered::Centered,
    elementwise::{AtRank, Exp2, Log2Discount, Select},
    indicator_sum::IndicatorSum,
    log_softmax::LogSoftmax,
    pair_loss::PairSum,
    rank::{IdealDcg, Rank},
    step_sum::StepSum,
    unit_gradient::UnitGradient,
};

/// Declares [`Operation`], and `each!`, which runs an expression on the primitive that an operation holds.
macro_rules! operations {
    ($d:tt $($primitive:ident),* $(,)?) => {
        /// One of the primitives.
        #[derive(Clone, Debug)]
        pub enum Operation {
            $($primitive($primitive),)*
        }

        $(impl From<$primitive> for Operation {
            fn from(primitive: $primitive) -> Self {
                Self::$primitive(primitive)
            }
        })*

        macro_rules! each {
            ($d operation:expr, $d primitive:ident => $d run:expr) => {
                match $d operation {
                    $($crate::op::call::Operation::$primitive($d primitive) => $d run,)*
                }
            };
        }
    };
}

operations!($
    StepSum,
    AboveExpectation,
    AboveRecursion,
    IndicatorSum,
    PairSum,
    NeuralSortMatrix,
    Rank,
    AtRank,
    Exp2,
    Log2Discount,
    LogSoftmax,
    IdealDcg,
    Select,
    Centered,
    UnitGradient,
);
pub(super) use each;

/// Up to seven tensors of one backend. burn's dispatch accepts neither an `Option` nor a `Vec` of tensors.
#[derive(Clone, Debug, ExtensionType)]
#[extension_type(fusion: cfg(feature = "_cube"))]
pub enum Tensors<B: Backend> {
    None,
    One(FloatTensor<B>),
    Two(FloatTensor<B>, FloatTensor<B>),
    Three(FloatTensor<B>, FloatTensor<B>, FloatTensor<B>),
    Four(FloatTensor<B>, FloatTensor<B>, FloatTensor<B>, FloatTensor<B>),
    Five(FloatTensor<B>, FloatTensor<B>, FloatTensor<B>, FloatTensor<B>, FloatTensor<B>),
    Six(FloatTensor<B>, FloatTensor<B>, FloatTensor<B>, FloatTensor<B>, FloatTensor<B>, FloatTensor<B>),
    Seven(
        FloatTensor<B>,
        FloatTensor<B>,
        FloatTensor<B>,
        FloatTensor<B>,
        FloatTensor<B>,
        FloatTensor<B>,
        FloatTensor<B>,
    ),
}

/// Moves the tensors of [`Tensors`] to a vector; references, if the value is one.
macro_rules! listed {
    ($tensors:expr) => {
        match $tensors {
            Tensors::None => vec![],
            Tensors::One(a) => vec![a],
            Tensors::Two(a, b) => vec![a, b],
            Tensors::Three(a, b, c) => vec![a, b, c],
            Tensors::Four(a, b, c, d) => vec![a, b, c, d],
            Tensors::Five(a, b, c, d, e) => vec![a, b, c, d, e],
            Tensors::Six(a, b, c, d, e, f) => vec![a, b, c, d, e, f],
            Tensors::Seven(a, b, c, d, e, f, g) => vec![a, b, c, d, e, f, g],
        }
    };
}

impl<B: Backend> Tensors<B> {
    pub fn new(tensors: impl IntoIterator<Item = FloatTensor<B>>) -> Self {
        let mut rest = tensors.into_iter();
        let first: [Option<FloatTensor<B>>; 8] = std::array::from_fn(|_| rest.next());
        match first {
            [None, ..] => Self::None,
            [Some(a), None, ..] => Self::One(a),
            [Some(a), Some(b), None, ..] => Self::Two(a, b),
            [Some(a), Some(b), Some(c), None, ..] => Self::Three(a, b, c),
            [Some(a), Some(b), Some(c), Some(d), None, ..] => Self::Four(a, b, c, d),
            [Some(a), Some(b), Some(c), Some(d), Some(e), None, ..] => Self::Five(a, b, c, d, e),
            [Some(a), Some(b), Some(c), Some(d), Some(e), Some(f), None, _] => Self::Six(a, b, c, d, e, f),
            [Some(a), Some(b), Some(c), Some(d), Some(e), Some(f), Some(g), None] => Self::Seven(a, b, c, d, e, f, g),
            _ => unreachable!("no primitive has eight inputs or outputs"),
        }
    }

    /// Returns the tensors of these arrays.
    pub fn of(arrays: Arrays<B>) -> Self {
        Self::new(arrays.into_iter().map(|array| array.0))
    }

    pub fn into_vec(self) -> Vec<FloatTensor<B>> {
        listed!(self)
    }

    pub fn into_arrays(self) -> Arrays<B> {
        self.into_vec().into_iter().map(Array).collect()
    }

    pub fn refs(&self) -> Vec<&FloatTensor<B>> {
        listed!(self)
    }

    /// Returns the only tensor; panics if there are none or several.
    #[track_caller]
    pub fn one(self) -> FloatTensor<B> {
        match self {
            Self::One(one) => one,
            others => panic!("{} tensors for one", others.refs().len()),
        }
    }
}

/// A primitive with its inputs.
#[derive(Clone, Debug, ExtensionType)]
#[extension_type(fusion: cfg(feature = "_cube"))]
pub struct Call<B: Backend> {
    pub operation: Operation,
    #[extension_type]
    pub inputs: Tensors<B>,
}

impl<B: Backend> Call<B> {
    pub fn new(operation: impl Into<Operation>, inputs: impl IntoIterator<Item = FloatTensor<B>>) -> Self {
        Self { operation: operation.into(), inputs: Tensors::new(inputs) }
    }

    /// Applies `f` to each tensor of the call, which usually moves it to another backend.
    pub fn map<C: Backend>(self, f: impl FnMut(FloatTensor<B>) -> FloatTensor<C>) -> Call<C> {
        Call { operation: self.operation, inputs: Tensors::new(self.inputs.into_vec().into_iter().map(f)) }
    }

    /// Returns the first input, which determines the device, shape and type of the call.
    pub fn x(&self) -> &FloatTensor<B> {
        self.inputs.refs()[0]
    }

    /// Returns the outputs by the tensor definition.
    pub fn definition(self) -> Tensors<B> {
        let inputs = self.inputs.into_arrays();
        Tensors::of(each!(self.operation, primitive => primitive.definition(inputs)))
    }

    /// Returns the gradients by the tensor definition (see [`Primitive::definition_gradient`]).
    pub fn definition_gradient(self, saved: Tensors<B>, gradient: FloatTensor<B>) -> Tensors<B> {
        let (inputs, saved, gradient) = (self.inputs.into_arrays(), saved.into_arrays(), Array(gradient));
        Tensors::of(each!(self.operation, primitive => primitive.definition_gradient(inputs, saved, gradient)))
    }
}

/// Returns the shapes and types of the outputs of a sum over pairs, which kernel fusion must know in advance.
#[cfg(feature = "_cube")]
pub fn outputs(call: &CallMetadata, _: &crate::execution::Execution) -> TensorsMetadata {
    let x = first_input(call);
    let shapes: Vec<Vec<usize>> = each!(&call.operation, primitive => primitive.shapes(x.shape.dims()));
    listing(shapes.into_iter().map(|shape| TensorSpec::new(shape.into(), x.dtype)).collect())
}

#[cfg(feature = "_cube")]
fn first_input(call: &CallMetadata) -> &TensorSpec {
    match &call.inputs {
        TensorsMetadata::None => unreachable!("a call without inputs"),
        TensorsMetadata::One(x)
        | TensorsMetadata::Two(x, ..)
        | TensorsMetadata::Three(x, ..)
        | TensorsMetadata::Four(x, ..)
        | TensorsMetadata::Five(x, ..)
        | TensorsMetadata::Six(x, ..)
        | TensorsMetadata::Seven(x, ..) => x,
    }
}

/// Returns the shapes and types of the gradients of a call. Every gradient has the shape of the first input and the
/// type of `gradient`.
#[cfg(feature = "_cube")]
pub fn gradients(
    call: &CallMetadata,
    _: &TensorsMetadata,
    gradient: &TensorSpec,
    _: &crate::execution::Execution,
) -> TensorsMetadata {
    let count = each!(&call.operation, primitive => primitive.gradients());
    listing(vec![TensorSpec::new(first_input(call).shape.clone(), gradient.dtype); count])
}

/// Returns the shapes and types of one or two tensors.
#[cfg(feature = "_cube")]
fn listing(specs: Vec<TensorSpec>) -> TensorsMetadata {
    match &specs[..] {
        [one] => TensorsMetadata::One(one.clone()),
        [one, two] => TensorsMetadata::Two(one.clone(), two.clone()),
        others => unreachable!("{} outputs of a sum over pairs", others.len()),
    }
}
