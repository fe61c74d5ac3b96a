//! Relaxations that replace "document i is at rank r" with a number from 0 to 1.
//!
//! Rank indicators and SoftSort take a softmax over the differences between a document's score and that of the document
//! `d(r)` at rank `r`. Ties are broken by position.
//!
//! NeuralSort replaces "document i is at rank r" with row `r` of its matrix,
//! `softmax_i(((n + 1 - 2 r) s_i - sum_j |s_i - s_j|) / sigma)`. The matrix is from Grover et al., Stochastic
//! optimization of sorting networks via continuous relaxations, equation 4. If only the rows within the cut-off are
//! used, NDCG under NeuralSort is PiRank with one level of sorting. PiRank is from Swezey et al., PiRank: scalable
//! learning to rank via differentiable sorting.
//!
//! SmoothI computes smooth indicators rank by rank, from the top. It replaces "document i is at rank r" with `I_r =
//! softmax_i(alpha s_i prod_{q < r} (1 - I_q,i - delta))` (Thonet et al., SmoothI: smooth rank indicators for
//! differentiable IR measures). Once a document is found at a rank, its factor is near `-delta`, so the document falls
//! behind all remaining documents. The lowest score of a list is subtracted from its scores, because the formula needs
//! scores of 0 or above.
//!
//! Through `alpha`, each rank depends on all ranks above it, so a large `alpha` makes the gradient of a long list very
//! steep. Where `alpha s_i` is above 1000, the factor of document `i` is treated as constant, because the gradient
//! would overflow. Each rank multiplies the scores of the remaining documents by about `1 - delta`. A long list
//! therefore needs a cut-off or a large `alpha`. Each rank is computed after the rank above it, so the computation
//! graph is as deep as the number of ranks.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use super::relaxed::{Form, Indicators};
use crate::loss::lists::{Lists, order_of_ranks, places_like};
use crate::loss::listwise;
use crate::op::{NeuralSortMatrix, indicator_sum, neural_sort_sum};

/// Replaces ranks with soft indicators `h_ij = softmax_i(-(s_i - s_d(j))^2 / sigma)` (smoothrank, section 4). Soft
/// indicators have no derivative where scores tie.
pub(super) fn rank_indicators(lists: &Lists, sigma: f64) -> Form {
    let (scores, mask) = (lists.scores.clone(), lists.mask.clone());
    let at_ranks = move |values| indicator_sum(scores.clone(), values, mask.clone(), sigma);
    let all = lists.clone();
    let matrix = move || at_ranks_by_distance(&all, usize::MAX, |distance| distance.square() * (-1.0 / sigma));
    Form::Indicators(Indicators::new(lists, at_ranks).with_matrix(matrix))
}

/// Replaces ranks with SoftSort's matrix, `softmax_i(-|s_i - s_d(r)| / sigma)`. This form with the absolute difference
/// is from Prillo and Eisenschlos, SoftSort: a continuous relaxation for the argsort operator.
pub(super) fn soft_sort(lists: &Lists, sigma: f64, top: Option<usize>) -> Form {
    let top = top.unwrap_or(usize::MAX);
    let matrix = at_ranks_by_distance(lists, top, |distance| distance.abs() * (-1.0 / sigma));
    Form::Indicators(Indicators::of_matrix(lists, matrix))
}

/// Returns `softmax_i(logit(s_i - s_d(r)))` for the ranks `r` from 1 to `top`, `[batch, ranks, documents]`. The values
/// are 0 at padded documents.
fn at_ranks_by_distance(lists: &Lists, top: usize, logit: impl FnOnce(Tensor<3>) -> Tensor<3>) -> Tensor<3> {
    let [_, n] = lists.scores.dims();
    let scores = lists.centered();
    let sorted = scores.clone().gather(1, order_of_ranks(lists.ranks())).narrow(1, 0, top.min(n));
    let (columns, rows) = (scores.unsqueeze_dim::<3>(1), sorted.unsqueeze_dim::<3>(2));
    lists.softmax_of_ranks(logit(columns - rows))
}

/// Replaces ranks with the rows of NeuralSort's matrix that the measure needs, with the temperature `sigma`.
pub(super) fn neural_sort(lists: &Lists, sigma: f64, top: Option<usize>) -> Form {
    let top = top.unwrap_or(usize::MAX);
    let sort = NeuralSortMatrix { temperature: sigma, iterations: 0, transposed: false, ranks: top };
    let (scores, mask) = (lists.centered(), lists.mask.clone());
    let at_ranks = move |values| neural_sort_sum(scores.clone(), values, mask.clone(), sort);
    let all = lists.clone();
    let matrix = move || {
        let needed = places_like(&all.mask).lower_equal_elem(top as f64).float().cast(all.mask.dtype());
        listwise::neural_sort(&all, sigma) * needed.unsqueeze_dim::<3>(2)
    };
    Form::Indicators(Indicators::of_ranks(lists, at_ranks).with_matrix(matrix))
}

/// The largest `alpha s_i` at which a gradient still passes through the factor of document `i`.
const STEEPEST: f64 = 1e3;

/// Replaces ranks with smooth rank indicators of the top ranks. The surrogate tends to the measure as `alpha` grows.
/// `delta`, above 0 and below 1/2, moves documents already found behind all remaining documents.
pub(super) fn smooth_indicators(lists: &Lists, alpha: f64, delta: f64, top: Option<usize>) -> Form {
    let [_, n] = lists.scores.dims();
    let scores = lists.centered();
    let lowest = scores.clone().mask_fill(lists.padded.clone(), f32::MAX).min_dim(1).expand(scores.dims());
    let above = ((scores - lowest) * alpha).mask_fill(lists.padded.clone(), 0.0);
    let steep = above.clone().greater_elem(STEEPEST);
    let mut left = lists.mask.ones_like();
    let mut rows = Vec::new();
    for _ in 0..top.unwrap_or(n).min(n) {
        // The fill value is finite, so a list with only padding does not give 0 / 0.
        let factor = left.clone().mask_where(steep.clone(), left.clone().detach());
        let logits = (above.clone() * factor).mask_fill(lists.padded.clone(), -1e30);
        let row = softmax(logits, 1) * lists.mask.clone();
        left = left * (row.clone().neg() + (1.0 - delta));
        rows.push(row);
    }
    Form::Indicators(Indicators::of_matrix(lists, Tensor::stack::<3>(rows, 1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{DType, Device};

    #[test]
    fn two_documents_are_worked_by_hand() {
        // Scores 1 and 0 from the lowest: sigmoid(2) at first; then the factor is 1 - sigmoid(2) - delta.
        let device = Device::flex();
        let scores = Tensor::<2>::from_data([[0.5f64, -0.5]], (&device, DType::F64));
        let lists = Lists::padded(scores.clone(), scores.zeros_like(), scores.ones_like().greater_elem(0.0));
        let Form::Indicators(Indicators { at_ranks, .. }) = smooth_indicators(&lists, 2.0, 0.1, None) else {
            panic!("indicators")
        };
        let only_first = Tensor::<2>::from_data([[1.0f64, 0.0]], (&device, DType::F64));
        let found: Vec<f64> = at_ranks(only_first).into_data().iter().collect();
        let sigmoid = |t: f64| 1.0 / (1.0 + (-t).exp());
        let first = sigmoid(2.0);
        let second = sigmoid(2.0 * (0.9 - first));
        assert!((found[0] - first).abs() < 1e-12 && (found[1] - second).abs() < 1e-12, "{found:?}");
    }
}
