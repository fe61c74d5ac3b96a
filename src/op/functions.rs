//! The functions of the primitives. Each compares the shapes and types of its inputs and runs a call.
//!
//! | primitive | value for document i |
//! |---|---|
//! | [`step_sum`] | `sum_j v_j phi(alpha (x_j - x_i))` |
//! | [`counted_step_sum`] | the same of some documents, 1/2 of the others |
//! | [`above_expectation`] | `a_i E[D(R_i) A_i]`, `A_i` a sum or a product over the documents above `i` in SoftRank, or 1 |
//! | [`above_recursion`] | the same for any function of the first ranks, another for each list |
//! | [`indicator_sum`] | `sum_j a_j softmax_j(-(x_j - x_i)^2 / sigma)` |
//! | [`neural_sort_sum`] | for rank r: `sum_j P_rj v_j`, `P` NeuralSort's matrix, scaled by Sinkhorn or not |
//! | [`pair_loss`] | `sum_j w_ij l(x_i - x_j)` |
//! | [`rank`] | `1 + #{j ahead of i}`, by comparison, no gradient |
//! | [`at_rank`] | `table[rank_i - 1]`, no gradient |
//! | [`log_softmax`] | `x_i - log sum_j exp(x_j)` |
//! | [`centered`], [`in_spreads`] | `x_i - c`, `(x_i - c) / spread`, with the score `c` that is nearest to 0 |
//! | [`with_unit_gradient`] | the losses, with a given gradient that is divided by its length |
//! | [`log2_discount`] | `1 / log2(1 + p_i)` |
//! | [`exp2`] | `2^x_i`, no gradient |
//! | [`ideal_dcg`] | one value per list: the largest sum of gains times discounts, no gradient |
//!
//! Inputs are two-dimensional, `[batch, documents]`, and finite even at padding. All inputs of a call must have the
//! same shape. If the shapes differ, the call panics before it computes anything, and its message names both shapes.

use burn::backend::Dispatch;
use burn::tensor::{Tensor, TensorData};

use super::{
    backend::{forward, is_listed},
    call::{
        AtRank, Call, Centered, Exp2, IdealDcg, IndicatorSum, Log2Discount, LogSoftmax, Operation, PairSum, Rank,
        Select, StepSum, UnitGradient,
    },
    cpu::{self, Above, AboveExpectation, AboveRecursion, Distance, NeuralSortMatrix, PairLoss, ScoreNoise, Step},
    primitive::centered::Divisor,
};
use crate::execution::{Execution, PrimitivePath, with_tensor_path};
use crate::shape::{assert_alike, assert_entry_per_rank, assert_type};

/// Runs a primitive and returns its first output. Uses the tensor definition if the calling thread requests it, or if
/// this build has neither kernels nor analytic gradients for the backend. If another crate turned the backend on, burn
/// differentiates the definition automatically.
fn run<const D: usize>(operation: impl Into<Operation>, inputs: impl IntoIterator<Item = Tensor<2>>) -> Tensor<D> {
    let call = Call::<Dispatch>::new(operation, inputs.into_iter().map(Tensor::into_dispatch));
    let execution = Execution::current();
    let by_definition = execution.path() == PrimitivePath::Tensor || !is_listed(call.x());
    let outputs = if by_definition { call.definition() } else { forward(call, execution) };
    Tensor::from_dispatch(outputs.into_vec().remove(0))
}

/// Returns `out_i = sum_j v_j phi(alpha (x_j - x_i))`. The sum includes the document itself, which adds `v_i / 2`.
///
/// The function is differentiable in `x` and `v`.
///
/// # Shapes
/// - `x`, `v` and the output have the shape `[batch, documents]`. Padded documents must have `v = 0`.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn step_sum(x: Tensor<2>, v: Tensor<2>, alpha: f64, step: Step) -> Tensor<2> {
    assert_alike("step_sum", ("x", &x), &[("v", &v)]);
    run(StepSum { alpha, step }, [x, v])
}

/// Computes [`step_sum`] only for documents where `counted` is nonzero. Documents where `counted` is 0 receive 1/2. On
/// the CPU, the time is proportional to the number of counted documents.
///
/// The function is differentiable in `x` and `v`.
///
/// # Shapes
/// - `x`, `v`, `counted` and the output have the shape `[batch, documents]`. Padded documents must have `v = 0`.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn counted_step_sum(x: Tensor<2>, v: Tensor<2>, counted: Tensor<2>, alpha: f64, step: Step) -> Tensor<2> {
    assert_alike("counted_step_sum", ("x", &x), &[("v", &v), ("counted", &counted)]);
    run(StepSum { alpha, step }, [x, v, counted])
}

/// Returns `out_i = a_i E[A_i D(R_i)]`, or 0 at padding. The rank `R_i`, counted from 0, is the number of documents
/// above `i`, and its discount is `D(r) = sum_m c_m z_m^r`. The factor `A_i` is 1, or `b_i` plus the sum of `b_j` over
/// the documents above `i`, or the product of `1 - b_j` over these documents.
///
/// Each document `j != i` ranks above `i` independently, with the probability `pi_ji` of a
/// [`Comparison`](super::Comparison). The expectation is averaged over the comparisons of `noise`. For exact noise in
/// `f32`, the CPU integrates over levels of the noisy score instead of a mixture of comparisons. For one comparison,
/// let `f_jm = 1 + pi_ji (z_m - 1)`. Then the expectations are:
///
/// - with a sum, `sum_m c_m (b_i + sum_j b_j pi_ji z_m / f_jm) prod_j f_jm`;
/// - with a product, `sum_m c_m prod_j (1 + pi_ji (z_m (1 - b_j) - 1))`, where `b = 0` leaves only the discount.
///
/// Only `x` is differentiable. Documents with `a_i = 0` are skipped. Each of the remaining documents takes O(Q M n)
/// time, for `M` terms and `Q` comparisons. Under exact noise, the CPU needs only O(M n) time per document in `f32`.
/// The CPU needs O(n) memory; other backends compute as many rows at once as the memory budget allows. If only the rank
/// matters, `M` numbers per document are stored for the gradient.
///
/// # Shapes
/// - `x`, `a`, `b`, `mask` and the output have the shape `[batch, documents]`. For a product, `b` must be in `[0, 1]`;
///   at padding, it must be 0. The mask is 1 for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn above_expectation(
    x: Tensor<2>,
    a: Tensor<2>,
    b: Tensor<2>,
    mask: Tensor<2>,
    expectation: &AboveExpectation,
) -> Tensor<2> {
    assert_alike("above_expectation", ("x", &x), &[("a", &a), ("b", &b), ("mask", &mask)]);
    if expectation.terms.is_empty() || expectation.noise == ScoreNoise::Mixture(Vec::new()) || x.dims()[1] == 0 {
        return x.zeros_like();
    }
    run(expectation.clone(), [x, a.detach(), b.detach(), mask])
}

/// Returns `out_i = a_i E[A_i f(R_i)]`, or 0 at padding. The rank `R_i`, counted from 0, is the number of documents
/// above `i`. Each list has its own function `f`. The argument `values` gives its values at the first ranks; at later
/// ranks, `f` is 0. The factor `A_i` is 1, or `b_i` plus the sum of `b_j` over the documents above `i`, or the product
/// of `1 - b_j` over these documents.
///
/// Each document `j != i` ranks above `i` independently, with the probability of a [`Comparison`](super::Comparison).
/// The expectation is averaged over the comparisons of the noise. If `f` is a sum of exponentials,
/// [`above_expectation`](super::above_expectation()) computes the same expectation in less time.
///
/// Only `x` is differentiable. Documents with `a_i = 0` are skipped. Each of the remaining documents takes O(Q k n)
/// time, for `k` ranks with a value and `Q` comparisons. Under exact noise, the CPU needs only O(k n) time per document
/// in `f32`. Each CPU thread needs O(n + k sqrt n) memory, which does not count toward the memory budget. For each row
/// that is computed at the same time, a GPU needs O(k sqrt n) memory, and other backends need O(n + k sqrt n). The
/// memory budget limits how many rows are computed at the same time.
///
/// # Shapes
/// - `x`, `a`, `b`, `mask` and the output have the shape `[batch, documents]`. For a product, `b` must be in `[0, 1]`;
///   at padding, it must be 0. The mask is 1 for documents and 0 for padding.
/// - `values` has the shape `[batch, ranks]`, and entries beyond the number of documents are ignored.
///
/// # Panics
/// Panics if inputs differ in shape or type, or if `values` has a different number of lists.
#[track_caller]
pub fn above_recursion(
    x: Tensor<2>,
    a: Tensor<2>,
    b: Tensor<2>,
    mask: Tensor<2>,
    values: Tensor<2>,
    recursion: &AboveRecursion,
) -> Tensor<2> {
    assert_alike("above_recursion", ("x", &x), &[("a", &a), ("b", &b), ("mask", &mask)]);
    let ([batch, documents], [lists, ranks]) = (x.dims(), values.dims());
    assert!(lists == batch, "above_recursion: values of {lists} lists for {batch}");
    assert_type("above_recursion", ("x", &x), ("values", &values));
    // No document has a rank of n or more.
    let ranks = ranks.min(documents);
    if ranks == 0 || recursion.noise == ScoreNoise::Mixture(Vec::new()) {
        return x.zeros_like();
    }
    let values = values.narrow(1, 0, ranks);
    run(recursion.clone(), [x, a.detach(), b.detach(), mask, values.detach()])
}

/// Returns the mask without the documents where `counted`, if given, is 0.
pub(crate) fn mask_of_counted(mask: &Tensor<2>, counted: Option<Tensor<2>>) -> Tensor<2> {
    match counted {
        Some(counted) => run(Select, [mask.clone(), counted]),
        None => mask.clone(),
    }
}

/// Returns `out_i = a_i sum_{r < k} D_r p_i(r)`. Here `D_r` are the `k` entries of `discounts`, and `p_i` is the
/// distribution of the rank of document `i`, counted from 0, averaged over the comparisons of `noise`. Documents
/// with `a_i = 0` are skipped.
#[track_caller]
pub(crate) fn noisy_rank_recursion(
    x: Tensor<2>,
    a: Tensor<2>,
    mask: Tensor<2>,
    noise: &ScoreNoise,
    discounts: &[f64],
) -> Tensor<2> {
    // No document has a rank of n or more.
    let [batch, documents] = x.dims();
    let ranks = discounts.len().min(documents);
    let values = TensorData::new(discounts[..ranks].to_vec(), [1, ranks]);
    let values = Tensor::<2>::from_data(values, (&x.device(), x.dtype())).repeat_dim(0, batch);
    let recursion = AboveRecursion { noise: noise.clone(), above: Above::Nothing };
    above_recursion(x, a, mask.clone(), mask, values, &recursion)
}

/// Returns `out_i = sum_j a_j softmax_j(-(x_j - x_i)^2 / sigma)`, or 0 at padding. The softmax covers the documents
/// with `mask = 1`.
///
/// The function is differentiable in `x` and `a`.
///
/// # Shapes
/// - `x`, `a`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for
///   padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn indicator_sum(x: Tensor<2>, a: Tensor<2>, mask: Tensor<2>, sigma: f64) -> Tensor<2> {
    assert_alike("indicator_sum", ("x", &x), &[("a", &a), ("mask", &mask)]);
    run(IndicatorSum { sigma }, [x, a, mask])
}

/// Returns `out_r = sum_j P_rj v_j` for each rank `r` of each list, where `P` is a [`NeuralSortMatrix`]. The output is
/// 0 after the last requested rank and after the last document of the list.
///
/// The function is differentiable in `x` and `v`; the distance between two equal scores has the gradient 0. The
/// computation needs O(iterations n^2) time. For each iteration of Sinkhorn's scaling, only the factors of the columns
/// are stored. The factors of the rows are recomputed. The CPU therefore needs O(iterations n) memory; other backends
/// compute as many rows at once as the memory budget allows.
///
/// # Shapes
/// - `x`, `v`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for
///   padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn neural_sort_sum(x: Tensor<2>, v: Tensor<2>, mask: Tensor<2>, sort: NeuralSortMatrix) -> Tensor<2> {
    assert_alike("neural_sort_sum", ("x", &x), &[("v", &v), ("mask", &mask)]);
    if x.dims().contains(&0) || sort.ranks == 0 {
        return x.zeros_like();
    }
    run(sort, [x, v, mask])
}

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
    let mut inputs = vec![x, labels.detach(), mask.detach()];
    let weight = weight.clone().map(|tensor| inputs.push(tensor.detach()));
    run(PairSum { loss, weight }, inputs)
}

/// Returns the differences `x_j - x_i` of a tensor `[B, N]` for all pairs, as a tensor `[B, N (i), N (j)]`.
pub(crate) fn differences(x: &Tensor<2>) -> Tensor<3> {
    let columns: Tensor<3> = x.clone().unsqueeze_dim(1);
    let rows: Tensor<3> = x.clone().unsqueeze_dim(2);
    columns - rows
}

/// Returns `sum_j |x_i - x_j|` over the documents with `mask = 1`, for losses that store tensors over pairs anyway.
pub(crate) fn distances(x: &Tensor<2>, mask: &Tensor<2>) -> Tensor<2> {
    (differences(x).abs() * mask.clone().unsqueeze_dim::<3>(1)).sum_dim(2).squeeze_dim(2)
}

/// Returns the 1-based rank of each document by descending `x`. Equal scores are ranked by index, and padding comes
/// last. The result carries no gradient.
///
/// # Shapes
/// - `x`, `mask` and the output have the shape `[batch, documents]` and the same float type. The mask is 1 for
///   documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn rank(x: Tensor<2>, mask: Tensor<2>) -> Tensor<2> {
    assert_alike("rank", ("x", &x), &[("mask", &mask)]);
    run(Rank, [x.detach(), mask.detach()])
}

/// Returns `table[rank - 1]` for each rank. The result carries no gradient.
///
/// # Shapes
/// - `ranks` and the output have the shape `[batch, documents]` and the same float type. The ranks are whole numbers
///   from 1 to `documents`.
/// - `table` has one value for each of the `documents` ranks.
///
/// # Panics
/// Panics if the table does not have one entry per rank.
#[track_caller]
pub fn at_rank(ranks: Tensor<2>, table: Vec<f64>) -> Tensor<2> {
    assert_entry_per_rank("at_rank", ("table", &table), ("ranks", &ranks));
    run(AtRank { table }, [ranks.detach()])
}

/// Returns `2^x` for each element `x`, without a gradient.
///
/// # Shapes
/// - `x` and the output have the shape `[batch, documents]`. Every result must be a normal floating-point number.
pub fn exp2(x: Tensor<2>) -> Tensor<2> {
    run(Exp2, [x.detach()])
}

/// Returns `1 / log2(1 + p)` at each position `p`.
///
/// Differentiable in the positions.
///
/// # Shapes
/// - `positions` and the output have the shape `[batch, documents]`; the positions must be above 0.
pub fn log2_discount(positions: Tensor<2>) -> Tensor<2> {
    run(Log2Discount, [positions])
}

/// Returns `x_i - log sum_j exp(x_j)` over the documents of each list, or 0 at padding.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn log_softmax(x: Tensor<2>, mask: Tensor<2>) -> Tensor<2> {
    assert_alike("log_softmax", ("x", &x), &[("mask", &mask)]);
    run(LogSoftmax, [x, mask.detach()])
}

/// For each list, subtracts the score nearest to 0 from all scores. Padded places become 0.
///
/// Differentiable in `x`.
///
/// # Shapes
/// - `x`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn centered(x: Tensor<2>, mask: Tensor<2>) -> Tensor<2> {
    assert_alike("centered", ("x", &x), &[("mask", &mask)]);
    run(Centered { divisor: Divisor::One }, [x, mask.detach()])
}

/// Divides [`centered`] scores by the spread of their list, and by `max(8 / n, 1)^power` if the list has `n` documents.
/// The spread is the standard deviation, but at least 0.3, or 1 if the scores are equal.
///
/// Differentiable in `x`. No gradient passes through the spread, unless `is_differentiated`.
///
/// # Shapes
/// - `x`, `mask` and the output have the shape `[batch, documents]`. The mask is 1 for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn in_spreads(x: Tensor<2>, mask: Tensor<2>, power: u32, is_differentiated: bool) -> Tensor<2> {
    assert_alike("in_spreads", ("x", &x), &[("mask", &mask)]);
    let operation = Centered { divisor: Divisor::Spread { power, is_differentiated } };
    let inputs = [x, mask.detach()];
    // The gradient of the primitive does not pass through the spread.
    if is_differentiated { with_tensor_path(|| run(operation, inputs)) } else { run(operation, inputs) }
}

/// Returns the losses, whose gradient with respect to `x` is `gradient` divided by its length, or by 1e-6 if it is
/// shorter.
///
/// # Shapes
/// - `losses` and the output have the shape `[batch]`.
/// - `x`, `gradient` and `mask` have the shape `[batch, documents]`. The mask is 1 for documents and 0 for padding.
///
/// # Panics
/// Panics if the inputs differ in shape or type.
#[track_caller]
pub fn with_unit_gradient(losses: Tensor<1>, x: Tensor<2>, gradient: Tensor<2>, mask: Tensor<2>) -> Tensor<1> {
    assert_alike("with_unit_gradient", ("x", &x), &[("gradient", &gradient), ("mask", &mask)]);
    let losses = losses.detach().unsqueeze_dim::<2>(1);
    run::<2>(UnitGradient, [x, gradient.detach(), mask.detach(), losses]).squeeze_dim(1)
}

/// Returns `max over orders of sum_i gains_i discounts[rank(i) - 1]` for each list. If the discounts never increase,
/// the order of descending gains has the largest sum. The result carries no gradient.
///
/// # Shapes
/// - `gains` and `mask` have the shape `[batch, documents]`. The mask is 1 for documents and 0 for padding.
/// - `discounts` has one value for each of the `documents` ranks.
/// - The output has the shape `[batch]`.
///
/// # Panics
/// Panics if inputs differ in shape or type, or if there is not one discount per rank.
#[track_caller]
pub fn ideal_dcg(gains: Tensor<2>, mask: Tensor<2>, discounts: Vec<f64>) -> Tensor<1> {
    assert_alike("ideal_dcg", ("gains", &gains), &[("mask", &mask)]);
    assert_entry_per_rank("ideal_dcg", ("discounts", &discounts), ("gains", &gains));
    run(IdealDcg { discounts }, [gains.detach(), mask.detach()])
}
