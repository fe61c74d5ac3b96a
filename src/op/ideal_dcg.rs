//! `ideal_dcg`: the largest discounted sum of gains that any order of a list reaches.

use burn::{
    backend::{Dispatch, tensor::FloatTensor},
    tensor::Tensor,
};

use super::{array::Array, backend::Pairwise, execution::uses_tensor_path};

/// `max over orders of sum_i gains_i discounts[rank(i) - 1]` of each list, which descending gains reach when discounts
/// do not rise. Carries no gradient.
///
/// # Shapes
/// - `gains`, `mask` (1 for a document, 0 for padding): `[batch, documents]`
/// - `discounts`: one a rank, as many as documents
/// - output: `[batch]`
pub fn ideal_dcg(gains: Tensor<2>, mask: Tensor<2>, discounts: Vec<f64>) -> Tensor<1> {
    let (gains, mask) = (gains.detach().into_dispatch(), mask.detach().into_dispatch());
    Tensor::from_dispatch(if uses_tensor_path() {
        definition::<Dispatch>(gains, mask, discounts)
    } else {
        Dispatch::ideal_dcg(gains, mask, discounts)
    })
}

/// The tensor definition: the discounts at the ranks by gain.
pub(super) fn definition<B: Pairwise>(
    gains: FloatTensor<B>,
    mask: FloatTensor<B>,
    discounts: Vec<f64>,
) -> FloatTensor<B> {
    let discounts = Array::<B>(B::at_rank(B::rank(gains.clone(), mask.clone()), discounts));
    (Array::<B>(gains) * discounts * Array::<B>(mask)).sum(1).0
}
