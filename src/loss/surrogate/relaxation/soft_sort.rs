//! Softmax over the differences between a document's score and that of the document `d(r)` at rank `r`, in place of
//! "document i is at rank r". Ties are broken by position.

use burn::tensor::Tensor;
use burn::tensor::activation::softmax;

use super::relaxed::{Form, Indicators};
use crate::loss::lists::{Lists, order_of_ranks};
use crate::op::indicator_sum;

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
    softmax_over_documents(lists, logit(columns - rows))
}

/// Computes a softmax over the documents of a list, `[batch, ranks, documents]`. The values are 0 at padded documents.
pub(super) fn softmax_over_documents(lists: &Lists, logits: Tensor<3>) -> Tensor<3> {
    let padded = lists.padded.clone().unsqueeze_dim::<3>(1).expand(logits.dims());
    // The fill value is finite, so a row with only padding does not give 0 / 0.
    softmax(logits.mask_fill(padded, -1e30), 2) * lists.mask.clone().unsqueeze_dim::<3>(1)
}
