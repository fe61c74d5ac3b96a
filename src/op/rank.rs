//! `rank`: ranks by counting comparisons, since GPU backends have no fast sort.

use burn::tensor::Tensor;

use super::differences;

/// 1-based rank of each document by descending `x`, ties by index; padded documents come last. Carries no gradient.
///
/// # Shapes
/// - `x`, `mask` (1 for a document, 0 for padding), output (same float type): `[batch, documents]`
pub fn rank(x: Tensor<2>, mask: Tensor<2>) -> Tensor<2> {
    let x = x.detach();
    let mask = mask.detach();
    let [_, n] = x.dims();
    let d = differences(&x);
    let index: Tensor<2> =
        Tensor::<1, burn::tensor::Int>::arange(0..n as i64, &x.device()).float().cast(x.dtype()).unsqueeze_dim(0);
    let earlier = differences(&index).lower_elem(0.0).expand(d.shape());
    let ahead = d.clone().greater_elem(0.0).bool_or(d.equal_elem(0.0).bool_and(earlier));
    let ahead = ahead.float().cast(x.dtype()) * mask.unsqueeze_dim::<3>(1);
    ahead.sum_dim(2).squeeze_dim::<2>(2) + 1.0
}
