//! Sums of a pairwise loss over all pairs of documents with different labels.

use burn::tensor::Tensor;

use super::{
    call::{Call, Weight},
    cpu::{self, Distance, PairLoss},
    path::run,
    shape::assert_alike,
};

/// The weight of a pair in [`pair_loss`], with tensors of shape `[batch, documents]`. The result carries no gradient
/// with respect to the weight.
pub type PairWeight = cpu::PairWeight<Tensor<2>>;

/// Returns `out_i = sum_j w_ij l(x_i - x_j)` over the pairs with `y_i > y_j`.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `labels`, `mask`, the tensors of `weight` and the output have the shape `[batch, documents]`. The mask is 1
///   for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn pair_loss(x: Tensor<2>, labels: Tensor<2>, mask: Tensor<2>, weight: &PairWeight, loss: PairLoss) -> Tensor<2> {
    assert_alike("pair_loss", ("x", &x), &[("labels", &labels), ("mask", &mask)]);
    match weight {
        PairWeight::Unit => {}
        PairWeight::Document(u) => assert_alike("pair_loss", ("x", &x), &[("document weights", u)]),
        PairWeight::Lambda { gain, discount, rank, distance, .. } => {
            assert_alike("pair_loss", ("x", &x), &[("gain", gain), ("discount", discount), ("rank", rank)]);
            if let Some(Distance { scores, .. }) = distance {
                assert_alike("pair_loss", ("x", &x), &[("scores", scores)]);
            }
        }
    }
    let constant = |tensor: &Tensor<2>| tensor.clone().detach().into_dispatch();
    let weight = Weight::new(weight.as_ref().map(constant));
    let (x, labels, mask) = (x.into_dispatch(), constant(&labels), constant(&mask));
    run(Call::PairLoss { x, labels, mask, weight, loss })
}
