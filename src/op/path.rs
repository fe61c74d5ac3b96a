//! Which path a primitive takes.

use burn::backend::DispatchTensor;
use burn::tensor::Tensor;

use super::backend::{Unlisted, is_listed, unlisted};
use super::definition::rows::bytes_of_rows;
use crate::execution::{Execution, PrimitivePath};

/// Whether a primitive of `input` called now uses its tensor definition: where this thread asks for it, and on a backend
/// that another crate turned on, for which the definition and its automatic differentiation are all there is.
pub(super) fn takes_definition(input: &DispatchTensor) -> bool {
    Execution::current().path() == PrimitivePath::Tensor || !is_listed(input)
}

/// What automatic differentiation of a definition would keep, where that is more than the memory budget allows.
#[derive(Debug)]
pub(crate) struct BeyondBudget {
    /// The backend, for which this build has no analytic gradients.
    pub unlisted: Unlisted,
    /// Bytes that are needed, about.
    pub needed: usize,
    /// Bytes of the budget.
    pub budget: usize,
}

/// Checks that the pairs of `scores` are within the memory budget on a backend where chunks of rows save no memory.
pub(crate) fn beyond_budget(scores: &Tensor<2>) -> Option<BeyondBudget> {
    let unlisted = unlisted(&scores.clone().into_dispatch())?;
    let [batch, documents] = scores.dims();
    let needed = bytes_of_rows(batch, documents, documents, scores.dtype().size());
    let budget = Execution::current().memory_budget();
    (needed > budget).then_some(BeyondBudget { unlisted, needed, budget })
}
