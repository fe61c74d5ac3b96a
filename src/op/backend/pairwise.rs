//! `Pairwise`: the primitives as a backend extension. Default bodies are the tensor definitions and their analytic
//! gradients in chunks of rows, so that memory stays bounded on every backend; a backend overrides what it does faster.

// Supported for users of older models.
#![cfg_attr(any(feature = "ndarray", feature = "tch"), allow(deprecated))]
// Without any backend there is nothing to dispatch to.
#![cfg_attr(
    not(any(feature = "flex", feature = "ndarray", feature = "tch", feature = "remote", feature = "_cube", test)),
    allow(unused_variables)
)]

use burn::backend::{Backend, backend_extension, tensor::FloatTensor};

use super::pair_weight::Weight;
use crate::op::cpu::{AboveExpectation, AboveRecursion, Comparison, ExponentialTerm, NeuralSortMatrix, PairLoss, Step};
use crate::op::definition::{
    above_expectation, above_recursion, array::Array, at_rank, distance_sum, exp2, ideal_dcg, indicator_sum,
    log_softmax, log2_discount, neural_sort_sum, pair_loss, rank, rank_expectation, rank_recursion, step_sum,
};

/// The primitives on one backend. A backend that is not listed here was turned on by another crate: public functions do
/// not call the extension on it ([`is_listed`](super::is_listed)).
#[backend_extension(
    Autodiff,
    Flex: cfg(any(feature = "flex", test)),
    NdArray: cfg(feature = "ndarray"),
    LibTorch: cfg(feature = "tch"),
    Remote: cfg(feature = "remote"),
    Cube: cfg(feature = "_cube")
)]
pub trait Pairwise: Backend {
    /// See [`step_sum()`](crate::op::step_sum()).
    fn step_sum(x: FloatTensor<Self>, v: FloatTensor<Self>, alpha: f64, step: Step) -> FloatTensor<Self> {
        step_sum::value::<Self>(x, v, alpha, step)
    }

    /// See [`counted_step_sum()`](crate::op::counted_step_sum()). Its gradients are those of [`step_sum`](Self::step_sum)
    /// for a gradient of 0 at documents that do not count.
    fn counted_step_sum(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        counted: FloatTensor<Self>,
        alpha: f64,
        step: Step,
    ) -> FloatTensor<Self> {
        Array::<Self>(counted).select_or(Array(Self::step_sum(x, v, alpha, step)), 0.5).0
    }

    /// `values` where `counted` is other than 0, else 0, whatever stands there.
    fn where_counted(values: FloatTensor<Self>, counted: FloatTensor<Self>) -> FloatTensor<Self> {
        Array::<Self>(counted).select(Array(values)).0
    }

    /// Gradient of [`step_sum`](Self::step_sum) in `x`.
    fn step_sum_gradient(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        alpha: f64,
        step: Step,
    ) -> FloatTensor<Self> {
        step_sum::gradient::<Self>(x, v, gradient, alpha, step)
    }

    /// Gradient of [`step_sum`](Self::step_sum) in `v`: `sum_i g_i phi(alpha (x_j - x_i))`, the same sum over the
    /// reversed order.
    fn step_sum_gradient_in_values(
        x: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        alpha: f64,
        step: Step,
    ) -> FloatTensor<Self> {
        Self::step_sum(Self::float_neg(x), gradient, alpha, step)
    }

    /// See [`rank_expectation()`](crate::op::rank_expectation()); also the products of the terms,
    /// `[batch, documents, terms]`, without a gradient.
    fn rank_expectation(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sigma: f64,
        terms: Vec<ExponentialTerm>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        rank_expectation::value::<Self>(x, mask, sigma, &terms)
    }

    /// [`rank_expectation`](Self::rank_expectation) of the documents with `counted` other than 0; 0 in place of the
    /// others. Its gradient is that for a gradient of 0 at documents that do not count.
    fn counted_rank_expectation(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        counted: FloatTensor<Self>,
        sigma: f64,
        terms: Vec<ExponentialTerm>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        let (out, products) = Self::rank_expectation(x, mask, sigma, terms);
        (Self::where_counted(out, counted), products)
    }

    /// Gradient of [`rank_expectation`](Self::rank_expectation) in `x`.
    fn rank_expectation_gradient(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        products: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigma: f64,
        terms: Vec<ExponentialTerm>,
    ) -> FloatTensor<Self> {
        rank_expectation::gradient::<Self>(x, mask, products, gradient, sigma, &terms)
    }

    /// See [`rank_recursion()`](crate::op::rank_recursion()).
    fn rank_recursion(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        comparison: Comparison,
        discounts: Vec<f64>,
    ) -> FloatTensor<Self> {
        rank_recursion::value::<Self>(x, mask, comparison, &discounts)
    }

    /// [`rank_recursion`](Self::rank_recursion) of the documents with `counted` other than 0; 0 in place of the others.
    fn counted_rank_recursion(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        counted: FloatTensor<Self>,
        comparison: Comparison,
        discounts: Vec<f64>,
    ) -> FloatTensor<Self> {
        Self::where_counted(Self::rank_recursion(x, mask, comparison, discounts), counted)
    }

    /// Gradient of [`rank_recursion`](Self::rank_recursion) in `x`.
    fn rank_recursion_gradient(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        comparison: Comparison,
        discounts: Vec<f64>,
    ) -> FloatTensor<Self> {
        rank_recursion::gradient::<Self>(x, mask, gradient, comparison, &discounts)
    }

    /// See [`above_recursion()`](crate::op::above_recursion()).
    fn above_recursion(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        values: FloatTensor<Self>,
        recursion: AboveRecursion,
    ) -> FloatTensor<Self> {
        above_recursion::value::<Self>(x, a, b, mask, values, &recursion)
    }

    /// Gradient of [`above_recursion`](Self::above_recursion) in `x`.
    fn above_recursion_gradient(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        values: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        recursion: AboveRecursion,
    ) -> FloatTensor<Self> {
        above_recursion::gradient::<Self>(x, a, b, mask, values, gradient, &recursion)
    }

    /// See [`above_expectation()`](crate::op::above_expectation()).
    fn above_expectation(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        expectation: AboveExpectation,
    ) -> FloatTensor<Self> {
        above_expectation::value::<Self>(x, a, b, mask, &expectation)
    }

    /// Gradient of [`above_expectation`](Self::above_expectation) in `x`.
    fn above_expectation_gradient(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        b: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        expectation: AboveExpectation,
    ) -> FloatTensor<Self> {
        above_expectation::gradient::<Self>(x, a, b, mask, gradient, &expectation)
    }

    /// See [`indicator_sum()`](crate::op::indicator_sum()); also the denominator of each softmax, without a gradient.
    fn indicator_sum(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sigma: f64,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        indicator_sum::value::<Self>(x, a, mask, sigma)
    }

    /// Gradient of [`indicator_sum`](Self::indicator_sum) in `x`.
    fn indicator_sum_gradient(
        x: FloatTensor<Self>,
        a: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        out: FloatTensor<Self>,
        total: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigma: f64,
    ) -> FloatTensor<Self> {
        let forward = indicator_sum::Forward { out, total };
        indicator_sum::gradient::<Self>(x, a, mask, forward, gradient, sigma)
    }

    /// Gradient of [`indicator_sum`](Self::indicator_sum) in `a`: `sum_i q_i k_ij`, which is the same sum with `q` for
    /// `a`, since the kernel is symmetric.
    fn indicator_sum_gradient_in_values(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        total: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sigma: f64,
    ) -> FloatTensor<Self> {
        let q = Array::<Self>(gradient) * Array(mask.clone()) / Array(total.clone());
        let (out, _) = Self::indicator_sum(x, q.0, mask, sigma);
        (Array::<Self>(out) * Array(total)).0
    }

    /// See [`pair_loss()`](crate::op::pair_loss()).
    fn pair_loss(
        x: FloatTensor<Self>,
        labels: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        #[extension_type] weight: Weight<Self>,
        loss: PairLoss,
    ) -> FloatTensor<Self> {
        pair_loss::value::<Self>(x, labels, mask, weight, loss)
    }

    /// Gradient of [`pair_loss`](Self::pair_loss) in `x`.
    fn pair_loss_gradient(
        x: FloatTensor<Self>,
        labels: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        #[extension_type] weight: Weight<Self>,
        gradient: FloatTensor<Self>,
        loss: PairLoss,
    ) -> FloatTensor<Self> {
        pair_loss::gradient::<Self>(x, labels, mask, weight, gradient, loss)
    }

    /// Sums of the distances of each document's score to the others'.
    fn distance_sum(x: FloatTensor<Self>, mask: FloatTensor<Self>) -> FloatTensor<Self> {
        distance_sum::value::<Self>(x, mask)
    }

    /// Gradient of [`distance_sum`](Self::distance_sum) in `x`.
    fn distance_sum_gradient(
        x: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        distance_sum::gradient::<Self>(x, mask, gradient)
    }

    /// See [`neural_sort_sum()`](crate::op::neural_sort_sum()).
    fn neural_sort_sum(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        sort: NeuralSortMatrix,
    ) -> FloatTensor<Self> {
        neural_sort_sum::value::<Self>(x, v, mask, &sort)
    }

    /// Gradients of [`neural_sort_sum`](Self::neural_sort_sum) in `x` and in `v`.
    fn neural_sort_sum_gradient(
        x: FloatTensor<Self>,
        v: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        sort: NeuralSortMatrix,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        neural_sort_sum::gradient::<Self>(x, v, mask, gradient, &sort)
    }

    /// See [`rank()`](crate::op::rank()).
    fn rank(x: FloatTensor<Self>, mask: FloatTensor<Self>) -> FloatTensor<Self> {
        rank::value::<Self>(x, mask)
    }

    /// See [`at_rank()`](crate::op::at_rank()).
    fn at_rank(ranks: FloatTensor<Self>, table: Vec<f64>) -> FloatTensor<Self> {
        at_rank::value::<Self>(ranks, table)
    }

    /// See [`exp2()`](crate::op::exp2()).
    fn exp2(x: FloatTensor<Self>) -> FloatTensor<Self> {
        exp2::value::<Self>(x)
    }

    /// See [`log2_discount()`](crate::op::log2_discount()).
    fn log2_discount(positions: FloatTensor<Self>) -> FloatTensor<Self> {
        log2_discount::value::<Self>(positions)
    }

    /// See [`log_softmax()`](crate::op::log_softmax()).
    fn masked_log_softmax(x: FloatTensor<Self>, mask: FloatTensor<Self>) -> FloatTensor<Self> {
        log_softmax::value::<Self>(x, mask)
    }

    /// Gradient of [`masked_log_softmax`](Self::masked_log_softmax) in `x`; `out` is its value.
    fn masked_log_softmax_gradient(
        out: FloatTensor<Self>,
        mask: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        log_softmax::gradient::<Self>(out, mask, gradient)
    }

    /// See [`ideal_dcg()`](crate::op::ideal_dcg()).
    fn ideal_dcg(gains: FloatTensor<Self>, mask: FloatTensor<Self>, discounts: Vec<f64>) -> FloatTensor<Self> {
        let discounts = Self::at_rank(Self::rank(gains.clone(), mask.clone()), discounts);
        ideal_dcg::discounted::<Self>(gains, mask, discounts)
    }
}

#[cfg(feature = "ndarray")]
impl Pairwise for burn::backend::NdArray {}

#[cfg(feature = "tch")]
impl Pairwise for burn::backend::LibTorch {}

// With burn's `fusion` another type, of which the same is true: default bodies are burn's own operations.
#[cfg(feature = "remote")]
impl Pairwise for burn::backend::Remote {}
