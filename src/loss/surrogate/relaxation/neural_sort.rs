//! NeuralSort replaces "document i is at rank r" with row `r` of its matrix,
//! `softmax_i(((n + 1 - 2 r) s_i - sum_j |s_i - s_j|) / sigma)`. The matrix is from Grover et al., Stochastic
//! optimization of sorting networks via continuous relaxations, equation 4. If only the rows within the cut-off are
//! used, NDCG under NeuralSort is PiRank with one level of sorting. PiRank is from Swezey et al., PiRank: scalable
//! learning to rank via differentiable sorting.

use burn::tensor::{Int, Tensor};

use super::relaxed::{Form, Indicators};
use super::soft_sort::softmax_over_documents;
use crate::loss::lists::Lists;
use crate::op::{NeuralSortMatrix, distances, neural_sort_sum};

/// Replaces ranks with the rows of NeuralSort's matrix that the measure needs, with the temperature `sigma`.
pub(super) fn relax(lists: &Lists, sigma: f64, top: Option<usize>) -> Form {
    let top = top.unwrap_or(usize::MAX);
    let sort = NeuralSortMatrix { temperature: sigma, iterations: 0, transposed: false, ranks: top };
    let (scores, mask) = (lists.centered(), lists.mask.clone());
    let at_ranks = move |values| neural_sort_sum(scores.clone(), values, mask.clone(), sort);
    let all = lists.clone();
    Form::Indicators(Indicators::of_ranks(lists, at_ranks).with_matrix(move || matrix(&all, sigma, top)))
}

/// Returns NeuralSort's matrix, `[batch, ranks, documents]`, which is 0 at padded documents and at ranks beyond those
/// needed.
fn matrix(lists: &Lists, sigma: f64, top: usize) -> Tensor<3> {
    let (scores, mask) = (lists.centered(), lists.mask.clone());
    let [batch, n] = mask.dims();
    let ranks = Tensor::<1, Int>::arange(1..n as i64 + 1, &mask.device()).float().cast(mask.dtype());
    let needed = ranks.clone().lower_equal_elem(top.min(n) as i64).float().cast(mask.dtype());
    let slopes = mask.clone().sum_dim(1).expand([batch, n]) + 1.0 - ranks.unsqueeze::<2>() * 2.0;
    let spread = distances(&scores, &mask);
    let logits = slopes.unsqueeze_dim::<3>(2) * scores.unsqueeze_dim::<3>(1) - spread.unsqueeze_dim::<3>(1);
    softmax_over_documents(lists, logits * (1.0 / sigma)) * needed.reshape([1, n, 1])
}
