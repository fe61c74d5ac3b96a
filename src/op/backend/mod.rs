//! The trait [`Primitives`], by which a backend of burn implements the primitives of this crate, and its
//! implementations on burn's backends. By default, each method calls the tensor definition, which works in chunks of
//! rows and so stays within the memory budget. A backend with faster kernels overrides the default methods.
//!
//! With burn's kernel fusion, operations are first put into a queue, in which neighboring operations are merged into
//! one kernel. A primitive that sums over a list is a single operation in burn's queue. Fusion never merges it with
//! other operations; our kernel or the tensor definition computes it. Primitives of one document each are composed of a
//! few operations of burn, which enter the queue separately and may be merged.
//!
//! Cargo turns on a feature of a dependency for the whole program if any crate asks for it. A tensor may therefore
//! belong to a backend of burn that no feature of this crate has turned on, and that is not [listed](is_listed) here.

// Supported for users of older models.
#![cfg_attr(any(feature = "ndarray", feature = "tch"), allow(deprecated))]
// Without any backend there is nothing to dispatch to.
#![cfg_attr(
    not(any(feature = "flex", feature = "ndarray", feature = "tch", feature = "remote", feature = "_cube", test)),
    allow(unused_variables)
)]

mod autodiff;
// Unit tests run on Flex with any features.
#[cfg(any(feature = "flex", test))]
pub mod flex;
#[cfg(test)]
mod tests;

use burn::backend::{Backend, Dispatch, DispatchTensorKind, TensorMetadata, backend_extension, tensor::FloatTensor};
use burn::tensor::Tensor;

use crate::execution::{Execution, PrimitivePath};
#[cfg(feature = "_cube")]
use crate::op::call;
use crate::op::call::{Call, Tensors};
use crate::op::primitive::array::{Array, bytes_of_rows};
use crate::op::primitive::interface::{Primitive, Run};
use crate::op::primitive::{Operation, each, elementwise::Select};

/// The primitives that a backend implements. If the list below lacks a backend of burn, only another crate can have
/// turned the backend on. [`Run`] calls [`is_listed`] first, and never uses the primitives of a backend that is not in
/// the list.
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
    /// Returns the outputs of a call over lists.
    #[fusion(meta = call::outputs)]
    fn forward(#[extension_type] call: Call<Self>, execution: Execution) -> Tensors<Self> {
        execution.scope(|| call.definition())
    }

    /// Returns the gradient of a call over lists, as defined by [`Call::definition_gradient`].
    #[fusion(meta = call::gradients)]
    fn backward(
        #[extension_type] call: Call<Self>,
        #[extension_type] saved: Tensors<Self>,
        gradient: FloatTensor<Self>,
        execution: Execution,
    ) -> Tensors<Self> {
        execution.scope(|| call.definition_gradient(saved, gradient))
    }

    /// Returns the output of a composed call (see [`Primitive::is_composed`]).
    #[fusion(default)]
    fn composed(#[extension_type] call: Call<Self>, execution: Execution) -> Tensors<Self> {
        execution.scope(|| call.definition())
    }
}

#[cfg(feature = "ndarray")]
impl Primitives for burn::backend::NdArray {}

#[cfg(feature = "tch")]
impl Primitives for burn::backend::LibTorch {}

#[cfg(feature = "remote")]
impl Primitives for burn::backend::Remote {}

/// If the device has no kernel for a call or a number type, the tensor definition computes the result.
#[cfg(feature = "_cube")]
impl Primitives for burn_cubecl::CubeBackend {
    fn forward(call: Call<Self>, execution: Execution) -> Tensors<Self> {
        execution.scope(|| {
            let outputs = each!(&call.operation, primitive => primitive.gpu(&call.inputs.refs()));
            outputs.map(Tensors::new).unwrap_or_else(|| call.definition())
        })
    }

    fn backward(call: Call<Self>, saved: Tensors<Self>, g: FloatTensor<Self>, execution: Execution) -> Tensors<Self> {
        execution.scope(|| {
            let (inputs, outputs) = (call.inputs.refs(), saved.refs());
            let to_x = each!(&call.operation, primitive => primitive.gpu_gradient(&inputs, &outputs, &g));
            to_x.map(Tensors::new).unwrap_or_else(|| call.definition_gradient(saved, g))
        })
    }
}

/// Uses the tensor definition if the calling thread requests it, or if this build has neither kernels nor analytic
/// gradients for the backend. If another crate turned the backend on, burn differentiates the definition automatically.
impl<P: Into<Operation>> Run for P {
    fn run<const D: usize>(self, inputs: impl IntoIterator<Item = Tensor<2>>) -> Tensor<D> {
        let call = Call::<Dispatch>::new(self, inputs.into_iter().map(Tensor::into_dispatch));
        #[cfg(test)]
        crate::op::tests::record(&call);
        let execution = Execution::current();
        let by_definition = execution.path() == PrimitivePath::Tensor || !is_listed(&call.x().kind);
        let outputs = if by_definition { call.definition() } else { forward(call, execution) };
        Tensor::from_dispatch(outputs.into_vec().remove(0))
    }
}

/// Returns the outputs of a call.
fn forward<B: Primitives>(call: Call<B>, execution: Execution) -> Tensors<B> {
    if is_composed(&call) { B::composed(call, execution) } else { B::forward(call, execution) }
}

fn is_composed<B: Backend>(call: &Call<B>) -> bool {
    each!(&call.operation, primitive => primitive.is_composed())
}

/// Returns the gradients of a call with respect to each input that has one ([`Primitive::differentiated`]) and for
/// which `wanted` is true. Each gradient is returned with the index of its input. The gradient of the last input comes
/// first.
fn backward<B: Primitives>(
    call: Call<B>,
    saved: Tensors<B>,
    gradient: FloatTensor<B>,
    wanted: &[bool],
    execution: Execution,
) -> Vec<(usize, FloatTensor<B>)> {
    let inputs = call.inputs.refs();
    let gradient = match each!(&call.operation, primitive => primitive.counted(&inputs)) {
        Some(&counted) => forward::<B>(Call::new(Select, [gradient, counted.clone()]), execution).one(),
        None => gradient,
    };
    let mut gradients = Vec::new();
    if wanted.get(1) == Some(&true) {
        let (inputs, saved) = (call.inputs.clone().into_arrays(), saved.clone().into_arrays());
        let g = Array(gradient.clone());
        if let Some((inputs, factor)) = each!(&call.operation, primitive => primitive.transposed(inputs, saved, g)) {
            let transposed = Call { operation: call.operation.clone(), inputs: Tensors::of(inputs) };
            let out = Array::<B>(forward::<B>(transposed, execution).into_vec().remove(0));
            gradients.push((1, factor.map_or(out.clone(), |factor| out * factor).0));
        }
    }
    if is_composed(&call) {
        gradients.push((0, call.definition_gradient(saved, gradient).one()));
    } else if wanted[0] || gradients.is_empty() {
        let found = B::backward(call, saved, gradient, execution).into_vec();
        gradients.extend(found.into_iter().enumerate().rev());
    }
    gradients
}

/// Returns whether this build implements [`Primitives`] for the backend of a tensor of this kind.
// Which patterns are reachable depends on burn's features, which other crates may turn on.
#[allow(unreachable_patterns)]
fn is_listed(kind: &DispatchTensorKind) -> bool {
    match kind {
        DispatchTensorKind::Autodiff(inner) => is_listed(inner),
        #[cfg(any(feature = "flex", test))]
        DispatchTensorKind::Flex(_) => true,
        #[cfg(feature = "ndarray")]
        DispatchTensorKind::NdArray(_) => true,
        #[cfg(feature = "tch")]
        DispatchTensorKind::LibTorch(_) => true,
        #[cfg(feature = "remote")]
        DispatchTensorKind::Remote(_) => true,
        #[cfg(feature = "_cube")]
        DispatchTensorKind::Cube(_) => true,
        _ => false,
    }
}

/// The names of burn's backends, each with the features of this crate that turn it on. All GPU backends share one
/// entry.
const FEATURES: [(&str, &str); 5] = [
    ("Flex", "flex"),
    ("NdArray", "ndarray"),
    ("LibTorch", "tch"),
    ("Remote", "remote"),
    ("Cube", "cuda, rocm, vulkan, wgpu or metal"),
];

/// Why a loss cannot be used for training on a backend: automatic differentiation of the definitions needs more memory
/// than the budget.
#[derive(Debug)]
pub struct BeyondBudget {
    /// The name of the backend in burn. This build has no analytic gradients for it.
    pub backend: String,
    /// The feature of this crate that would add the backend, or `None` if no feature does.
    pub feature: Option<&'static str>,
    /// The approximate number of bytes needed.
    pub needed: usize,
    /// The memory budget in bytes.
    pub budget: usize,
}

/// For a backend without analytic gradients, returns the memory that automatic differentiation needs to store the pairs
/// of `scores`. Computing the pairs in chunks of rows saves none of this memory. Returns `None` for other backends, and
/// if the memory is within the budget.
pub fn beyond_budget(scores: &Tensor<2>) -> Option<BeyondBudget> {
    let tensor = scores.clone().into_dispatch();
    let [batch, documents] = scores.dims();
    let needed = bytes_of_rows(batch, documents, documents, scores.dtype().size());
    let budget = Execution::current().memory_budget();
    if is_listed(&tensor.kind) || needed <= budget {
        return None;
    }
    let device = format!("{:?}", tensor.device());
    let backend = device.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default().to_owned();
    let feature = FEATURES.iter().find(|(name, _)| *name == backend).map(|&(_, feature)| feature);
    Some(BeyondBudget { backend, feature, needed, budget })
}
