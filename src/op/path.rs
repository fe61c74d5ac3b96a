//! Runs a call, using either the kernels of its backend or its tensor definition.

use burn::{backend::Dispatch, tensor::Tensor};

use super::backend::{Unlisted, forward, is_listed, unlisted};
use super::call::{Call, Operation};
use super::primitive::rows::bytes_of_rows;
use crate::execution::{Execution, PrimitivePath};

/// Runs a primitive and returns its first output. Uses the tensor definition if the calling thread requests it, or if this
/// build has neither kernels nor analytic gradients for the backend. If another crate turned the backend on, burn
/// differentiates the definition automatically.
pub(super) fn run<const D: usize>(
    operation: impl Into<Operation>,
    inputs: impl IntoIterator<Item = Tensor<2>>,
) -> Tensor<D> {
    let call = Call::<Dispatch>::new(operation, inputs.into_iter().map(Tensor::into_dispatch));
    let execution = Execution::current();
    let by_definition = execution.path() == PrimitivePath::Tensor || !is_listed(call.x());
    let outputs = if by_definition { call.definition() } else { forward(call, execution) };
    Tensor::from_dispatch(outputs.into_vec().remove(0))
}

/// Why a loss cannot be used for training on a backend: automatic differentiation of the definitions needs more memory
/// than the budget.
#[derive(Debug)]
pub(crate) struct BeyondBudget {
    /// The backend, for which this build has no analytic gradients.
    pub unlisted: Unlisted,
    /// The approximate number of bytes needed.
    pub needed: usize,
    /// The memory budget in bytes.
    pub budget: usize,
}

/// For a backend without analytic gradients, returns the memory that automatic differentiation needs to store the pairs
/// of `scores`. Computing the pairs in chunks of rows saves none of this memory. Returns `None` for other backends, and
/// if the memory is within the budget.
pub(crate) fn beyond_budget(scores: &Tensor<2>) -> Option<BeyondBudget> {
    let unlisted = unlisted(&scores.clone().into_dispatch())?;
    let [batch, documents] = scores.dims();
    let needed = bytes_of_rows(batch, documents, documents, scores.dtype().size());
    let budget = Execution::current().memory_budget();
    (needed > budget).then_some(BeyondBudget { unlisted, needed, budget })
}
