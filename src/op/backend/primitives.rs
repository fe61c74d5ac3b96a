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
use crate::op::definition::{self, array::Array};

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
        execution.scope(|| definition::forward(call))
    }

    /// Returns the gradient of a call over pairs, as defined by [`definition::backward`].
    #[fusion(meta = call::gradients)]
    fn backward(
        #[extension_type] call: Call<Self>,
        #[extension_type] saved: Tensors<Self>,
        gradient: FloatTensor<Self>,
        execution: Execution,
    ) -> Tensors<Self> {
        execution.scope(|| definition::backward(call, saved, gradient))
    }

    /// Returns the output of a composed call (see [`Call::is_composed`]).
    #[fusion(default)]
    fn composed(#[extension_type] call: Call<Self>, execution: Execution) -> Tensors<Self> {
        execution.scope(|| match call {
            // Ranks are a call over pairs.
            Call::IdealDcg { x, mask, discounts } => {
                let ranks = Self::forward(Call::Rank { x: x.clone(), mask: mask.clone() }, execution);
                let [ranks] = ranks.into_array();
                let discounts = definition::at_rank::value::<Self>(ranks, discounts);
                Tensors::One(definition::ideal_dcg::discounted::<Self>(x, mask, discounts))
            }
            call => definition::forward(call),
        })
    }

    /// Returns the gradient of a composed call.
    #[fusion(default)]
    fn composed_backward(
        #[extension_type] call: Call<Self>,
        #[extension_type] saved: Tensors<Self>,
        gradient: FloatTensor<Self>,
        execution: Execution,
    ) -> Tensors<Self> {
        execution.scope(|| definition::backward(call, saved, gradient))
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
        Some(rows) => one::<B>(forward::<B>(Call::Select { x: gradient, rows: rows.clone() }, execution)),
        None => gradient,
    };
    let mut gradients = Vec::new();
    if wanted.get(1) == Some(&true)
        && let Some(to_values) = in_values(&call, &saved, &gradient, execution)
    {
        gradients.push((1, to_values));
    }
    if call.is_composed() {
        gradients.push((0, one::<B>(B::composed_backward(call, saved, gradient, execution))));
    } else if wanted[0] || gradients.is_empty() {
        let found = B::backward(call, saved, gradient, execution).into_vec();
        gradients.extend(found.into_iter().enumerate().rev());
    }
    gradients
}

/// Returns the gradient with respect to the second input, for primitives that are linear in it.
fn in_values<B: Primitives>(
    call: &Call<B>,
    saved: &Tensors<B>,
    gradient: &FloatTensor<B>,
    execution: Execution,
) -> Option<FloatTensor<B>> {
    match call {
        // The gradient `sum_i g_i phi(alpha (x_j - x_i))` is the same sum for negated scores.
        Call::StepSum { x, alpha, step, .. } => {
            let (x, v, rows) = (B::float_neg(x.clone()), gradient.clone(), Tensors::None);
            Some(one::<B>(forward::<B>(Call::StepSum { x, v, rows, alpha: *alpha, step: *step }, execution)))
        }
        // The gradient `sum_i q_i k_ij` is the same sum with `q` for `a`, since the kernel is symmetric.
        Call::IndicatorSum { x, mask, sigma, .. } => {
            let [_, total] = saved.clone().into_array().map(Array::<B>);
            let q = Array::<B>(gradient.clone()) * Array(mask.clone()) / total.clone();
            let call = Call::IndicatorSum { x: x.clone(), a: q.0, mask: mask.clone(), sigma: *sigma };
            let [out, _] = forward::<B>(call, execution).into_array();
            Some((Array::<B>(out) * total).0)
        }
        _ => None,
    }
}

fn one<B: Backend>(tensors: Tensors<B>) -> FloatTensor<B> {
    let [one] = tensors.into_array();
    one
}
