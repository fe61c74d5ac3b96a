//! [`Primitive`] says what a primitive is, and [`Run`] runs one.

use std::fmt::Debug;

use burn::backend::Backend;
use burn::tensor::Tensor;

use super::array::Array;
use crate::op::cpu::Real;
#[cfg(feature = "_cube")]
use crate::op::gpu::{CubeTensor, Outputs};

/// Runs a primitive. The backends, which know all primitives, [implement](crate::op::backend) this trait.
pub trait Run {
    /// Returns the first output of a call with these inputs.
    fn run<const D: usize>(self, inputs: impl IntoIterator<Item = Tensor<2>>) -> Tensor<D>;
}

/// The tensors of a call on one backend. Inputs come in the order of the primitive's public function.
pub type Arrays<B> = Vec<Array<B>>;

/// The inputs whose result, computed by the same primitive, is the gradient with respect to the second input, and an
/// array that multiplies this result; `None` if the primitive has no such form.
pub type Transposed<B> = Option<(Arrays<B>, Option<Array<B>>)>;

/// A primitive with its parameters. The inputs are tensors `[batch, documents]`, unless the primitive says otherwise.
/// The first input determines the device and the type of the call.
#[cfg_attr(not(any(feature = "flex", test)), allow(dead_code))]
pub trait Primitive: Clone + Debug {
    /// How many of the inputs, from the first on, the primitive has a gradient for.
    const DIFFERENTIATED: usize = 1;
    /// The index of the first output that the gradient needs. The gradient also needs every later output.
    const SAVED_FROM: usize = 1;
    /// Whether backends without a fused kernel compute the primitive by a few of burn's operations on each document,
    /// which kernel fusion may merge with others.
    const IS_COMPOSED: bool = false;

    /// Returns the outputs. Only the first of them has a gradient.
    fn definition<B: Backend>(&self, inputs: Arrays<B>) -> Arrays<B>;

    /// Returns the gradients with respect to the first inputs, one for most primitives. The gradient of the output must
    /// be 0 at documents whose sum is not computed (see [`counted`](Self::counted)). `saved` holds the outputs that
    /// [`saved`](Self::saved) selects.
    fn definition_gradient<B: Backend>(&self, _inputs: Arrays<B>, _saved: Arrays<B>, _g: Array<B>) -> Arrays<B> {
        unreachable!("{self:?} has no gradient")
    }

    /// Returns the outputs that the fused kernels of the CPU compute for lists of `n` documents, or `None` if there is
    /// no such kernel. Kernels that only train in `f32` are not compiled for `f64`.
    fn cpu<T: Real>(&self, _inputs: &[&[T]], _n: usize) -> Option<Vec<Vec<T>>> {
        None
    }

    /// Returns what [`definition_gradient`](Self::definition_gradient) returns.
    fn cpu_gradient<T: Real>(&self, _inputs: &[&[T]], _saved: &[&[T]], _g: &[T], _n: usize) -> Option<Vec<Vec<T>>> {
        None
    }

    /// Returns the outputs, or `None` if the device has no kernel.
    #[cfg(feature = "_cube")]
    fn gpu(&self, _inputs: &[&CubeTensor]) -> Outputs {
        None
    }

    /// Returns what [`definition_gradient`](Self::definition_gradient) returns.
    #[cfg(feature = "_cube")]
    fn gpu_gradient(&self, _inputs: &[&CubeTensor], _saved: &[&CubeTensor], _g: &CubeTensor) -> Outputs {
        None
    }

    fn differentiated(&self) -> usize {
        Self::DIFFERENTIATED
    }

    /// Returns for how many inputs [`definition_gradient`](Self::definition_gradient) computes gradients.
    #[cfg(feature = "_cube")]
    fn gradients(&self) -> usize {
        1
    }

    /// Returns the gradient with respect to the second input as a sum of this primitive, if it is one. Only for
    /// primitives that are linear in the second input.
    fn transposed<B: Backend>(&self, _inputs: Arrays<B>, _saved: Arrays<B>, _g: Array<B>) -> Transposed<B> {
        None
    }

    /// Returns the shapes of the outputs, given the shape of the first input.
    fn shapes(&self, x: [usize; 2]) -> Vec<Vec<usize>> {
        vec![x.to_vec()]
    }

    /// Returns the outputs that the gradient needs.
    fn saved<V>(&self, outputs: Vec<V>) -> Vec<V> {
        outputs.into_iter().skip(Self::SAVED_FROM).collect()
    }

    /// Returns the input that marks the documents whose sums are computed, or `None` for all documents.
    fn counted<'a, V>(&self, _inputs: &'a [V]) -> Option<&'a V> {
        None
    }

    fn is_composed(&self) -> bool {
        Self::IS_COMPOSED
    }
}

/// Calls a kernel that is compiled for `f32` only. Returns `None` for other types, which the definition computes.
#[cfg_attr(not(any(feature = "flex", test)), allow(dead_code))]
pub fn in_single<T: Real>(inputs: &[&[T]], kernel: impl FnOnce(&[&[f32]]) -> Vec<Vec<f32>>) -> Option<Vec<Vec<T>>> {
    let singles: Vec<&[f32]> = inputs.iter().map(|input| T::singles(input)).collect::<Option<_>>()?;
    kernel(&singles).into_iter().map(T::of_singles).collect()
}

/// Returns the inputs of a call by name; panics if there are not `K` of them.
#[track_caller]
pub fn exactly<const K: usize, V>(inputs: Vec<V>) -> [V; K] {
    inputs.try_into().unwrap_or_else(|found: Vec<V>| panic!("{} tensors for {K}", found.len()))
}

/// Returns the first inputs of a call by name; panics if there are fewer than `K`.
#[cfg_attr(not(any(feature = "flex", test)), allow(dead_code))]
#[track_caller]
pub fn first<const K: usize, V: Copy>(inputs: &[V]) -> [V; K] {
    *inputs.first_chunk().unwrap_or_else(|| panic!("{} tensors for {K}", inputs.len()))
}
