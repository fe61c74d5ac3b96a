//! Chooses whether a primitive runs its backend's kernel or its tensor definition.

use burn::{backend::Dispatch, tensor::Tensor};

use super::backend::{Unlisted, forward, is_listed, unlisted};
use super::call::Call;
use super::definition::{self, rows::bytes_of_rows};
use crate::execution::{Execution, PrimitivePath};

/// Returns the first output of a call. The tensor definition computes the call if this thread asks for that, or if
/// another crate turned the backend on. A backend that another crate turned on has only the definition, under burn's
/// automatic differentiation.
pub(super) fn run<const D: usize>(call: Call<Dispatch>) -> Tensor<D> {
    let execution = Execution::current();
    let by_definition = execution.path() == PrimitivePath::Tensor || !is_listed(call.x());
    let outputs = if by_definition { definition::forward(call) } else { forward(call, execution) };
    Tensor::from_dispatch(outputs.into_vec().remove(0))
}

/// The memory that automatic differentiation of a definition would need, when it exceeds the memory budget.
#[derive(Debug)]
pub(crate) struct BeyondBudget {
    /// The backend for which this build has no analytic gradients.
    pub unlisted: Unlisted,
    /// The approximate number of bytes that are needed.
    pub needed: usize,
    /// The number of bytes in the budget.
    pub budget: usize,
}

/// Checks that the pairs of `scores` fit into the memory budget, on a backend where chunks of rows save no memory.
pub(crate) fn beyond_budget(scores: &Tensor<2>) -> Option<BeyondBudget> {
    let unlisted = unlisted(&scores.clone().into_dispatch())?;
    let [batch, documents] = scores.dims();
    let needed = bytes_of_rows(batch, documents, documents, scores.dtype().size());
    let budget = Execution::current().memory_budget();
    (needed > budget).then_some(BeyondBudget { unlisted, needed, budget })
}
