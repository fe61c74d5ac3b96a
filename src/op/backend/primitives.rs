//! The trait `Primitives`, by which a backend of burn implements the primitives of this crate. By default, each method
//! calls the tensor definition, which works in chunks of rows and so stays within the memory budget. A backend with
//! faster kernels overrides the default methods.
//!
//! With burn's kernel fusion, operations are first put into a queue, in which neighboring operations are merged into
//! one kernel. A primitive that sums over pairs is a single operation in burn's queue. Fusion never merges a sum over
//! pairs with other operations; our kernel or the tensor definition computes it. All other primitives are composed of a
//! few operations of burn, which enter the queue separately and may be merged.

// Supported for users of older models.
#![cfg_attr(any(feature = "ndarray", feature = "tch"), allow(deprecated))]
// Without any backend there is nothing to dispatch to.
#![cfg_attr(
    not(any(feature = "flex", feature = "ndarray", feature = "tch", feature = "remote", feature = "_cube", test)),
    allow(unused_variables)
)]

use burn::backend::{Backend, backend_extension, tensor::FloatTensor};

use crate::execution::Execution;
#[cfg(feature = "_cube")]
use crate::op::call;
use crate::op::call::{Call, Tensors};
use crate::op::primitive::{array::Array, elementwise::Select, rank::Rank};

/// The primitives that a backend implements. If the list below lacks a backend of burn, only another crate can have
/// turned the backend on. The public functions call [`is_listed`](super::is_listed) first, and never use the primitives
/// of a backend that is not in the list.
///
/// The [`Execution`] settings of the calling thread are passed as an argument, because kernel fusion runs the
/// operations on another thread.
#[backend_extension(
    Autodiff,
    Fusion: cfg(feature = "_cube"),
    Flex: cfg(any(feature = "flex", test)),
    NdArray: cfg(feature = "ndarray"),
    LibTorch: cfg(feature = "tch"),
    Remote: cfg(feature = "remote"),
    Cube: cfg(feature = "_cube")
)]
pub trait Primitives: Backend {
    /// Returns the outputs of a call over pairs.
    #[fusion(meta = call::outputs)]
    fn forward(#[extension_type] call: Call<Self>, execution: Execution) -> Tensors<Self> {
        execution.scope(|| call.definition())
    }

    /// Returns the gradient of a call over pairs, as defined by [`Call::definition_gradient`].
    #[fusion(meta = call::gradients)]
    fn backward(
        #[extension_type] call: Call<Self>,
        #[extension_type] saved: Tensors<Self>,
        gradient: FloatTensor<Self>,
        execution: Execution,
    ) -> Tensors<Self> {
        execution.scope(|| call.definition_gradient(saved, gradient))
    }

    /// Returns the output of a composed call (see [`Call::is_composed`]).
    #[fusion(default)]
    fn composed(#[extension_type] call: Call<Self>, execution: Execution) -> Tensors<Self> {
        execution.scope(|| call.composed(|x, mask| Self::forward(Call::new(Rank, [x, mask]), execution).one()))
    }

    /// Returns the gradient of a composed call.
    #[fusion(default)]
    fn composed_backward(
        #[extension_type] call: Call<Self>,
        #[extension_type] saved: Tensors<Self>,
        gradient: FloatTensor<Self>,
        execution: Execution,
    ) -> Tensors<Self> {
        execution.scope(|| call.definition_gradient(saved, gradient))
    }
}

#[cfg(feature = "ndarray")]
impl Primitives for burn::backend::NdArray {}

#[cfg(feature = "tch")]
impl Primitives for burn::backend::LibTorch {}

#[cfg(feature = "remote")]
impl Primitives for burn::backend::Remote {}

/// Returns the outputs of a call.
pub fn forward<B: Primitives>(call: Call<B>, execution: Execution) -> Tensors<B> {
    if call.is_composed() { B::composed(call, execution) } else { B::forward(call, execution) }
}

/// Returns the gradients of a call with respect to each [differentiated](Call::differentiated) input for which `wanted`
/// is true. Each gradient is returned with the index of its input. The gradient of the last input comes first.
pub fn backward<B: Primitives>(
    call: Call<B>,
    saved: Tensors<B>,
    gradient: FloatTensor<B>,
    wanted: &[bool],
    execution: Execution,
) -> Vec<(usize, FloatTensor<B>)> {
    let gradient = match call.rows() {
        Some(rows) => forward::<B>(Call::new(Select, [gradient, rows.clone()]), execution).one(),
        None => gradient,
    };
    let mut gradients = Vec::new();
    if wanted.get(1) == Some(&true)
        && let Some((transposed, factor)) = call.transposed(&saved, &gradient)
    {
        let out = Array::<B>(forward::<B>(transposed, execution).into_vec().remove(0));
        gradients.push((1, factor.map_or(out.clone(), |factor| out * Array(factor)).0));
    }
    if call.is_composed() {
        gradients.push((0, B::composed_backward(call, saved, gradient, execution).one()));
    } else if wanted[0] || gradients.is_empty() {
        let found = B::backward(call, saved, gradient, execution).into_vec();
        gradients.extend(found.into_iter().enumerate().rev());
    }
    gradients
}
