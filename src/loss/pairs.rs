//! Sums and means of a pair loss over the pairs that the labels order.

use burn::tensor::Tensor;

use super::Lists;
use super::lists::{one_in_place_of_zero, sum_documents};
use crate::op::{PairLoss, PairWeight, pair_loss};

/// `sum_{y_i > y_j} l(x_i - x_j)` of each query, `[B]`, or the mean over these pairs.
pub(super) fn sum_over_pairs(lists: &Lists, x: Tensor<2>, loss: PairLoss, mean: bool) -> Tensor<1> {
    let sum = |x: Tensor<2>, loss: PairLoss| {
        sum_documents(pair_loss(x, lists.labels.clone(), lists.mask.clone(), &PairWeight::Unit, loss))
    };
    if !mean {
        return sum(x, loss);
    }
    // A hinge of margin 1 between equal scores counts the pairs.
    let pairs = sum(x.zeros_like(), PairLoss::Hinge { margin: 1.0 });
    sum(x, loss) / one_in_place_of_zero(pairs)
}
