//! SmoothI, which computes smooth indicators rank by rank, from the top.
//!
//! SmoothI replaces "document i is at rank r" with `I_r = softmax_i(alpha s_i prod_{q < r} (1 - I_q,i - delta))`
//! (Thonet et al., SmoothI: smooth rank indicators for differentiable IR measures). Once a document is found at a rank,
//! its factor is near `-delta`, so the document falls behind all remaining documents. The lowest score of a list is
//! subtracted from its scores, because the formula needs scores of 0 or above.
//!
//! Through `alpha`, each rank depends on all ranks above it, so a large `alpha` makes the gradient of a long list very
//! steep. Where `alpha s_i` is above 1000, the factor of document `i` is treated as constant, because the gradient
//! would overflow. Each rank multiplies the scores of the remaining documents by about `1 - delta`. A long list
//! therefore needs a cut-off or a large `alpha`. Each rank is computed after the rank above it, so the computation
//! graph is as deep as the number of ranks.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use super::relaxed::{Form, Indicators};
use crate::loss::lists::Lists;

/// The largest `alpha s_i` at which a gradient still passes through the factor of document `i`.
const STEEPEST: f64 = 1e3;

/// Replaces ranks with smooth rank indicators of the top ranks. The surrogate tends to the measure as `alpha` grows.
/// `delta`, above 0 and below 1/2, moves documents already found behind all remaining documents.
pub(super) fn relax(lists: &Lists, alpha: f64, delta: f64, top: Option<usize>) -> Form {
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
    use burn::tensor::{DType, Device};

    use super::*;

    #[test]
    fn two_documents_are_worked_by_hand() {
        // Scores 1 and 0 from the lowest: sigmoid(2) at first; then the factor is 1 - sigmoid(2) - delta.
        let device = Device::flex();
        let scores = Tensor::<2>::from_data([[0.5f64, -0.5]], (&device, DType::F64));
        let lists = Lists::padded(scores.clone(), scores.zeros_like(), scores.ones_like().greater_elem(0.0));
        let Form::Indicators(Indicators { at_ranks, .. }) = relax(&lists, 2.0, 0.1, None) else { panic!("indicators") };
        let only_first = Tensor::<2>::from_data([[1.0f64, 0.0]], (&device, DType::F64));
        let found: Vec<f64> = at_ranks(only_first).into_data().iter().collect();
        let sigmoid = |t: f64| 1.0 / (1.0 + (-t).exp());
        let first = sigmoid(2.0);
        let second = sigmoid(2.0 * (0.9 - first));
        assert!((found[0] - first).abs() < 1e-12 && (found[1] - second).abs() < 1e-12, "{found:?}");
    }
}
