//! [`Call`], a value that holds a primitive with its inputs, for backends and automatic differentiation.

#[cfg(feature = "_cube")]
use burn::backend::fusion::custom::TensorSpec;
use burn::backend::{Backend, ExtensionType, tensor::FloatTensor};

use super::primitive::interface::{Arrays, Primitive, exactly};
use super::primitive::{Operation, array::Array, each};

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

/// Moves what [`Tensors`] or their metadata hold to a vector; references, if the value is one.
macro_rules! listed {
    ($type:ident, $tensors:expr) => {
        match $tensors {
            $type::None => vec![],
            $type::One(a) => vec![a],
            $type::Two(a, b) => vec![a, b],
            $type::Three(a, b, c) => vec![a, b, c],
            $type::Four(a, b, c, d) => vec![a, b, c, d],
            $type::Five(a, b, c, d, e) => vec![a, b, c, d, e],
            $type::Six(a, b, c, d, e, f) => vec![a, b, c, d, e, f],
            $type::Seven(a, b, c, d, e, f, g) => vec![a, b, c, d, e, f, g],
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
        listed!(Tensors, self)
    }

    pub fn into_arrays(self) -> Arrays<B> {
        self.into_vec().into_iter().map(Array).collect()
    }

    pub fn refs(&self) -> Vec<&FloatTensor<B>> {
        listed!(Tensors, self)
    }

    /// Returns the only tensor; panics if there are none or several.
    #[track_caller]
    pub fn one(self) -> FloatTensor<B> {
        let [one] = exactly(self.into_vec());
        one
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
    let x = listed!(TensorsMetadata, &call.inputs)[0];
    let shapes: Vec<Vec<usize>> = each!(&call.operation, primitive => primitive.shapes(x.shape.dims()));
    listing(shapes.into_iter().map(|shape| TensorSpec::new(shape.into(), x.dtype)).collect())
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
    let x = listed!(TensorsMetadata, &call.inputs)[0];
    listing(vec![TensorSpec::new(x.shape.clone(), gradient.dtype); count])
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
